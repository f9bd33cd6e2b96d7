package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionView says what this binary is.
type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kafka   string `json:"kafka_protocol"`
}

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func buildVersion() versionView {
	v := versionView{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kafka: "4.4"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: "  mortise version\n  mortise version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return a.printer().Value(v, func(w writer) error {
				_, err := fmt.Fprintf(w, "mortise %s (commit %s, Kafka protocol %s, %s, %s/%s)\n",
					v.Version, cmp.Or(v.Commit, "unknown"), v.Kafka, v.Go, v.OS, v.Arch)
				return err
			})
		},
	}
}
