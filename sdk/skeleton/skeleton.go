package skeleton

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// The languages.
const (
	Go     = "go"
	Python = "python"
)

// module is where a Go plugin gets its contracts from.
const module = "github.com/mortisemq/mortise"

// Errors of Write besides those of the file system.
var (
	ErrKind     = errors.New("no such kind of plugin")
	ErrLanguage = errors.New("no such language: use " + Go + " or " + Python)
	ErrName     = errors.New("a plugin's name has lower-case letters, digits and dashes")
	ErrNotEmpty = errors.New("the directory is not empty")
	ErrCheckout = errors.New("no checkout of " + module)
)

//go:embed templates
var templates embed.FS

// Options say what is written.
type Options struct {
	Kind     plugin.Kind
	Language string // Go or Python
	Dir      string // made if it is not there; must be empty
	Name     string // of the plugin; empty: the directory's
	Module   string // path of a Go module; empty: example.com/NAME
	// Checkout is a directory with the source of Mortise, which a Go module then uses
	// instead of a released version; empty: none.
	Checkout string
}

// file is one that is written.
type file struct {
	name, template string
	mode           fs.FileMode
}

// data is what templates know.
type data struct {
	Kind, Name, Symbol, Module, Checkout string
}

// Write writes a plugin's beginning and returns the names of its files, in the order
// in which to read them.
func Write(o Options) ([]string, error) {
	files, d, err := o.plan()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("skeleton: %w", err)
	}
	there, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("skeleton: %w", err)
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("%s: %w", o.Dir, ErrNotEmpty)
	}
	var names []string
	for _, f := range files {
		if err := f.write(o.Dir, d); err != nil {
			return nil, fmt.Errorf("skeleton: %w", err)
		}
		names = append(names, f.name)
	}
	if o.Language == Python {
		return names, nil
	}
	more, err := writeModule(o.Dir, d)
	return append(names, more...), err
}

// plan checks the options and says what to write.
func (o Options) plan() ([]file, data, error) {
	if o.Name == "" {
		path, err := filepath.Abs(o.Dir)
		if err != nil {
			return nil, data{}, fmt.Errorf("skeleton: %w", err)
		}
		o.Name = filepath.Base(path)
	}
	if o.Module == "" {
		o.Module = "example.com/" + o.Name
	}
	d := data{Kind: string(o.Kind), Name: o.Name, Symbol: strings.ReplaceAll(o.Name, "-", "_"), Module: o.Module, Checkout: o.Checkout}
	switch {
	case !o.Kind.Valid():
		return nil, d, fmt.Errorf("%q: %w: use one of %v", o.Kind, ErrKind, plugin.Kinds())
	case !plugin.ValidName(o.Name):
		return nil, d, fmt.Errorf("%q: %w", o.Name, ErrName)
	case o.Language == Go:
		return []file{
			{"main.go", "go/" + d.Kind + ".go.tmpl", 0o644},
			{"main_test.go", "go/main_test.go.tmpl", 0o644},
			{"README.md", "go/README.md.tmpl", 0o644},
		}, d, nil
	case o.Language == Python:
		return []file{
			{"plugin.py", "python/" + d.Kind + ".py.tmpl", 0o755},
			{"test_plugin.py", "python/test_plugin.py.tmpl", 0o644},
			{"README.md", "python/README.md.tmpl", 0o644},
		}, d, nil
	}
	return nil, d, fmt.Errorf("%q: %w", o.Language, ErrLanguage)
}

// write writes one file.
func (f file) write(dir string, d data) error {
	t, err := template.ParseFS(templates, "templates/"+f.template)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, f.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode)
	if err != nil {
		return err
	}
	return errors.Join(t.Execute(out, d), out.Close())
}
