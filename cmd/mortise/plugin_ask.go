package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// pluginBefore is the entry that an upgrade begins with.
type pluginBefore struct {
	desk *pluginDesk
	now  *broker.PluginReport
}

// ask finds the broker and makes the fields of the entry and its name, and says what
// will run. before is nil for a new entry.
func (e *entryFlags) ask(a *app, c *cobra.Command, args []string, before *pluginBefore) (name string, d *pluginDesk, fields map[string]any, err error) {
	fail := func(err error) (string, *pluginDesk, map[string]any, error) { return "", nil, nil, err }
	if fields, err = e.fields(c); err != nil {
		return fail(err)
	}
	name, path := args[0], ""
	if len(args) > 1 {
		path = args[1]
	}
	if before != nil {
		d = before.desk
	} else if name, err = e.found(c, name, path, fields); err != nil {
		return fail(err)
	} else if d, err = a.pluginDesk(c.Context()); err != nil {
		return fail(err)
	}
	if before == nil && e.builtin != "" {
		b, ok := d.builtin(e.builtin)
		if !ok {
			return fail(fmt.Errorf("broker %d has no built-in %s; `mortise plugin list --builtin` shows them", d.list.Broker, e.builtin))
		}
		fields["kind"], fields["builtin"] = b.Kind, b.Name
	}
	if err := e.program(fields, path, d.list.Platform, before); err != nil {
		return fail(err)
	}
	if len(fields) == 0 {
		return fail(output.Usagef("nothing to change: give a PATH or a flag, or change the program first"))
	}
	if a.format != output.JSON {
		fmt.Fprintln(a.out, willRun(name, fields))
	}
	return name, d, fields, nil
}

// found looks at the flags of a new entry as a set, and asks the program for what they
// leave open: the name, the kind, which of its plugins.
func (e *entryFlags) found(c *cobra.Command, name, path string, fields map[string]any) (string, error) {
	switch {
	case path == "" && e.builtin == "":
		return "", output.Usagef("write the PATH of a program, with a slash in it, such as ./%s, or --builtin NAME", name)
	case path != "" && e.builtin != "":
		return "", output.Usagef("write the PATH of a program or --builtin NAME, not both")
	case e.kind != "" && !plugin.Kind(e.kind).Valid():
		return "", output.Usagef("--kind %q; write one of %s", e.kind, strings.Join(kindNames(), ", "))
	case path == "", name != "" && e.kind != "" && e.plugin != "":
		return name, nil
	}
	absolute, err := absolutePath(path)
	if err != nil {
		return "", err
	}
	all, err := describeProgram(c.Context(), host.Command{Path: absolute, Args: e.args})
	if err != nil {
		return "", fmt.Errorf("%w; where it can't run on this machine, NAME, --kind and --plugin say what it has", err)
	}
	which := e.plugin
	if which == "" && slices.ContainsFunc(all, func(d plugin.Description) bool { return d.Name == name }) {
		which = name
	}
	d, err := chosen(all, e.kind, which)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = d.Name
	}
	fields["kind"] = d.Kind
	if d.Name != name {
		fields["plugin"] = d.Name
	}
	return name, nil
}

// program adds the program at path and its digest; without a path, on an upgrade, the
// digest of the entry's own program if that is another one now.
func (e *entryFlags) program(fields map[string]any, path, platform string, before *pluginBefore) error {
	var old *pluginhost.Spec
	if before != nil && before.now.Entry != nil {
		old = before.now.Entry
	}
	switch {
	case path != "":
		if old != nil && old.Builtin != "" {
			return fmt.Errorf("%s is the built-in %s and can't become a program; remove it and install the program", old.Name, old.Builtin)
		}
		absolute, err := absolutePath(path)
		if err != nil {
			return err
		}
		fields["path"] = absolute
		if _, given := fields["version"]; !given && old != nil && old.Version != "" {
			fields["version"] = nil // that of the program before
		}
		path = absolute
	case old != nil && old.Path != "" && len(old.SHA256) > 0:
		path = old.Path
	default:
		return nil
	}
	if len(e.sha256) > 0 {
		digests, err := givenDigests(e.sha256, platform)
		fields["sha256"] = digests
		return err
	}
	sum, err := fileDigest(path)
	if err != nil {
		return fmt.Errorf("digest of the program: %w; where it is not on this machine, --sha256 says it", err)
	}
	if _, moved := fields["path"]; moved || old.SHA256[platform] != sum {
		fields["sha256"] = map[string]string{platform: sum}
	}
	return nil
}

// willRun says what is asked for.
func willRun(name string, fields map[string]any) string {
	text := name + ":"
	for _, field := range []string{"kind", "builtin", "path", "plugin", "args", "version", "sha256", "config", "env", "timeout", "concurrency", "queue", "memory_max", "run_as", "enabled"} {
		v, ok := fields[field]
		if !ok {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?")
		}
		text += " " + field + "=" + strings.Trim(string(b), `"`)
	}
	return text
}
