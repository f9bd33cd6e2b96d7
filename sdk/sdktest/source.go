package sdktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// The ways to ask a plugin.
const (
	WayValues    = "compiled in"
	WayInProcess = "in process"
	WayProgram   = "program"
)

// Source opens targets that have the plugin, as often as the cases need one.
type Source struct {
	way     string
	plugins []plugin.Plugin
	command host.Command
}

// Values is plugins that are compiled in, called without anything between.
func Values(plugins ...plugin.Plugin) Source { return Source{way: WayValues, plugins: plugins} }

// InProcess is the same plugins behind the conversation that a process would have.
func InProcess(plugins ...plugin.Plugin) Source { return Source{way: WayInProcess, plugins: plugins} }

// Program is a program that is started as a broker starts it. Its Stderr, if any, gets
// what the program logs; its RunDir may be empty.
func Program(c host.Command) Source {
	if path, err := filepath.Abs(c.Path); err == nil {
		c.Path = path
	}
	return Source{way: WayProgram, command: c}
}

// open makes a target; what it logs goes to log.
func (s Source) open(ctx context.Context, log func(line []byte)) (host.Target, error) {
	switch s.way {
	case WayValues:
		return host.Direct(s.plugins...)
	case WayInProcess:
		return host.InProcess(s.plugins...)
	case WayProgram:
		c := s.command
		c.Stderr = log
		p, err := host.Launch(ctx, c)
		if err != nil {
			return nil, err // not a nil *host.Process
		}
		return p, nil
	}
	return nil, errors.New("no source: use Values, InProcess or Program")
}

// digest is the SHA-256 of the program's file, empty without one.
func (s Source) digest() string {
	if s.way != WayProgram {
		return ""
	}
	content, err := os.ReadFile(s.command.Path)
	if err != nil {
		return "" // the first case says why it can't be started
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
