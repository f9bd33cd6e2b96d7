package skeleton

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// goVersion is what a new module says; that of Mortise itself.
const goVersion = "1.26.0"

// writeModule writes go.mod. With a checkout it takes the versions and sums of what
// that needs, so that the plugin builds without asking anybody; without one the README
// says which command finds them.
func writeModule(dir string, d data) ([]string, error) {
	text := fmt.Sprintf("module %s\n\ngo %s\n", d.Module, goVersion)
	names := []string{"go.mod"}
	if d.Checkout != "" {
		requires, sums, err := readCheckout(d.Checkout)
		if err != nil {
			return nil, err
		}
		checkout, err := filepath.Abs(d.Checkout)
		if err != nil {
			return nil, fmt.Errorf("skeleton: %w", err)
		}
		text += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n%s", module, checkout, requires)
		if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
			return nil, fmt.Errorf("skeleton: %w", err)
		}
		names = append(names, "go.sum")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("skeleton: %w", err)
	}
	return names, nil
}

// readCheckout is what a checkout requires, as in its go.mod, and the sums of that.
func readCheckout(dir string) (requires string, sums []byte, err error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrCheckout, err)
	}
	own, rest, _ := strings.Cut(string(mod), "\n")
	at := strings.Index(rest, "\nrequire ")
	if own != "module "+module || at < 0 {
		return "", nil, fmt.Errorf("%s: %w", dir, ErrCheckout)
	}
	if sums, err = os.ReadFile(filepath.Join(dir, "go.sum")); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrCheckout, err)
	}
	return rest[at:], sums, nil
}
