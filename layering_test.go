package mortise

import (
	"bufio"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mortisemq/mortise"

// room is one line of house.txt: a package and what it may import.
type room struct {
	name   string
	ours   []string
	theirs []string
}

// TestHouse holds the code to house.txt: every package has a line, every import
// is allowed by it, and every line only names rooms on earlier lines.
func TestHouse(t *testing.T) {
	rooms := readHouse(t)
	packages := readPackages(t)
	seen := map[string]room{}
	for _, r := range rooms {
		for _, below := range r.ours {
			if _, ok := seen[below]; !ok {
				t.Errorf("house.txt: %s may not name %s: only rooms on earlier lines", r.name, below)
			}
		}
		if _, twice := seen[r.name]; twice {
			t.Errorf("house.txt: %s has two lines", r.name)
		}
		seen[r.name] = r
		if _, ok := packages[r.name]; !ok {
			t.Errorf("house.txt: %s has a line but no code", r.name)
		}
	}
	for name, p := range packages {
		r, ok := seen[name]
		if !ok {
			t.Errorf("%s has code but no line in house.txt", name)
			continue
		}
		for _, imported := range p.imports {
			if !r.allows(imported) {
				t.Errorf("%s imports %s, which its line in house.txt does not name", name, imported)
			}
		}
		for _, ours := range r.ours {
			if !slices.Contains(p.imports, module+"/"+ours) {
				t.Errorf("house.txt: %s names %s but does not import it", name, ours)
			}
		}
	}
}

// TestWalls checks what no line of house.txt may allow, tests included.
func TestWalls(t *testing.T) {
	banned := []string{"util", "utils", "common", "helpers", "base", "shared", "misc", "lib"}
	for name, p := range readPackages(t) {
		if slices.Contains(banned, filepath.Base(name)) {
			t.Errorf("%s: a room is named for what it holds, not %q", name, filepath.Base(name))
		}
		if !p.hasDoc && name != "." {
			t.Errorf("%s has no doc.go", name)
		}
		for _, imported := range append(p.imports, p.testImports...) {
			inside := strings.TrimPrefix(imported, module+"/")
			switch {
			case strings.HasPrefix(name, "core") && (under(inside, "cluster") || under(inside, "plugins") || under(inside, "cmd")):
				t.Errorf("%s imports %s: core knows neither who decides nor whose plugins run", name, imported)
			case under(name, "plugins") && under(inside, "core"):
				t.Errorf("%s imports %s: a plugin knows the sdk, not the broker", name, imported)
			case under(name, "cluster") && under(inside, "core/internal"):
				t.Errorf("%s imports %s: cluster sees core's public rooms only", name, imported)
			}
		}
		for _, imported := range p.imports {
			if isContract(name) && !isStandard(imported) && !isContract(strings.TrimPrefix(imported, module+"/")) {
				t.Errorf("%s imports %s: contracts use the standard library only", name, imported)
			}
		}
	}
}

// isContract says whether a room is the contract of a kind of plugin, or what those
// share: a plugin that is compiled in needs nothing else.
func isContract(name string) bool {
	return slices.Contains([]string{"sdk/plugin", "sdk/partitioner", "sdk/auth", "sdk/storage", "sdk/transport"}, name)
}

// TestMap holds the README's map to house.txt: the same rooms, in any order.
func TestMap(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- map -->\n```\n")
	if !ok {
		t.Fatal("README.md: no map (a fenced block after <!-- map -->)")
	}
	block, _, _ := strings.Cut(rest, "```")
	var mapped []string
	for line := range strings.Lines(block) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" {
			mapped = append(mapped, name)
		}
	}
	for _, r := range readHouse(t) {
		if r.name != "." && !slices.Contains(mapped, r.name) {
			t.Errorf("README.md: the map lacks %s", r.name)
		}
	}
	packages := readPackages(t)
	for _, name := range mapped {
		if _, ok := packages[name]; !ok {
			t.Errorf("README.md: the map has %s, which is no room", name)
		}
	}
}

// allows reports whether the room may import a path.
func (r room) allows(imported string) bool {
	if isStandard(imported) {
		return true
	}
	if inside, ok := strings.CutPrefix(imported, module+"/"); ok {
		return slices.Contains(r.ours, inside)
	}
	for _, theirs := range r.theirs {
		if imported == theirs || strings.HasPrefix(imported, theirs+"/") {
			return true
		}
	}
	return false
}

// readHouse reads house.txt: "room: ours… | theirs…", comments with #.
func readHouse(t *testing.T) []room {
	t.Helper()
	f, err := os.Open("house.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rooms []room
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, imports, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("house.txt: %q: want room: ours… | theirs…", line)
		}
		ours, theirs, _ := strings.Cut(imports, "|")
		rooms = append(rooms, room{strings.TrimSpace(name), strings.Fields(ours), strings.Fields(theirs)})
	}
	return rooms
}

// pkg is what the source of one package imports.
type pkg struct {
	imports     []string
	testImports []string
	hasDoc      bool
}

// readPackages parses the imports of every package of the module.
func readPackages(t *testing.T) map[string]*pkg {
	t.Helper()
	packages := map[string]*pkg{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			return readFile(packages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range packages {
		if len(p.imports) == 0 && !p.hasDoc && name == "." {
			delete(packages, name) // only tests
		}
	}
	return packages
}

func readFile(packages map[string]*pkg, path string) error {
	dir := filepath.ToSlash(filepath.Dir(path))
	p := packages[dir]
	if p == nil {
		p = &pkg{}
		packages[dir] = p
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if filepath.Base(path) == "doc.go" && file.Doc != nil {
		p.hasDoc = true
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			p.testImports = append(p.testImports, imported)
		} else if !slices.Contains(p.imports, imported) {
			p.imports = append(p.imports, imported)
		}
	}
	return nil
}

// isModule reports whether a folder is a module of its own.
func isModule(path string) bool {
	if path == "." {
		return false
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
