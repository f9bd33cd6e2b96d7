package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// entryFlags are the fields of an entry of the catalogue.
type entryFlags struct {
	kind, builtin, plugin, version, config, timeout, runAs string
	args, env, sha256                                      []string
	concurrency, queue                                     int
	memoryMax                                              uint64
	required, disabled, allowRemap                         bool
}

func (e *entryFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&e.plugin, "plugin", "", "which of the program's plugins; without it the one of the entry's name")
	f.StringVar(&e.version, "version", "", "what the plugin must say it is; without it any")
	f.StringVar(&e.config, "config", "", "the plugin's own config: JSON, or the path of a file with JSON")
	f.StringArrayVar(&e.args, "arg", nil, "an argument of the program; may be given again")
	f.StringArrayVar(&e.env, "env", nil, "a variable of the program's environment, NAME=VALUE; may be given again")
	f.StringArrayVar(&e.sha256, "sha256", nil, "digest of the program, [OS/ARCH=]HEX, in place of that of the file here; may be given again")
	f.StringVar(&e.timeout, "timeout", "", "how long a call may take, such as 50ms; without it as its kind has it")
	f.IntVar(&e.concurrency, "concurrency", 0, "calls at once; 0: 64")
	f.IntVar(&e.queue, "queue", 0, "calls that wait; 0: 256")
	f.Uint64Var(&e.memoryMax, "memory-max", 0, "bytes of memory that the program may have; 0: no limit")
	f.StringVar(&e.runAs, "run-as", "", "the user of the program, UID:GID; without it the broker's")
	f.BoolVar(&e.required, "required", false, "mark it as needed")
}

// fields are those of the flags that were given, by the names of the catalogue.
func (e *entryFlags) fields(c *cobra.Command) (map[string]any, error) {
	all := map[string]any{}
	given := func(flag, field string, value any) {
		if c.Flags().Changed(flag) {
			all[field] = value
		}
	}
	given("kind", "kind", e.kind)
	given("plugin", "plugin", e.plugin)
	given("version", "version", e.version)
	given("arg", "args", e.args)
	given("timeout", "timeout", e.timeout)
	given("concurrency", "concurrency", e.concurrency)
	given("queue", "queue", e.queue)
	given("memory-max", "memory_max", e.memoryMax)
	given("required", "required", e.required)
	given("disabled", "enabled", !e.disabled)
	given("allow-remap", "allow_remap", e.allowRemap)
	if c.Flags().Changed("config") {
		config, err := jsonOrFile(e.config)
		if err != nil {
			return nil, output.Usagef("--config: %w", err)
		}
		all["config"] = config
	}
	if c.Flags().Changed("env") {
		env, err := keyValues(e.env)
		if err != nil {
			return nil, err
		}
		all["env"] = env
	}
	if c.Flags().Changed("run-as") {
		user, err := runAs(e.runAs)
		if err != nil {
			return nil, output.Usagef("--run-as %q: %w", e.runAs, err)
		}
		all["run_as"] = user
	}
	return all, nil
}

// jsonOrFile is a JSON object, or what is in the file of that name.
func jsonOrFile(text string) (json.RawMessage, error) {
	what := "it"
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		content, err := os.ReadFile(text)
		if err != nil {
			return nil, err
		}
		what, text = text, string(content)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, fmt.Errorf("%s is no JSON object: %v", what, err)
	}
	return json.RawMessage(text), nil
}

// runAs is a user and a group by number.
func runAs(text string) (map[string]uint32, error) {
	uid, gid, ok := strings.Cut(text, ":")
	u, errU := strconv.ParseUint(uid, 10, 32)
	g, errG := strconv.ParseUint(gid, 10, 32)
	if !ok || errU != nil || errG != nil {
		return nil, errors.New("want UID:GID, for example 998:998")
	}
	return map[string]uint32{"uid": uint32(u), "gid": uint32(g)}, nil
}

// absolutePath is the path of a program, which brokers have at the same place.
func absolutePath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("path of the program: %w", err)
	}
	return absolute, nil
}

// fileDigest is the SHA-256 of a file.
func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// givenDigests are those of --sha256, by platform.
func givenDigests(given []string, platform string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range given {
		at, sum, named := strings.Cut(text, "=")
		if !named {
			at, sum = platform, text
		}
		if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
			return nil, output.Usagef("--sha256 %q: want 64 hexadecimal digits, or OS/ARCH=DIGITS", text)
		}
		all[at] = sum
	}
	return all, nil
}
