package pluginhost

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRunDirIsSwept holds that what a killed broker left is removed by the next one,
// and nothing else.
func TestRunDirIsSwept(t *testing.T) {
	under := t.TempDir()
	dead := filepath.Join(under, runPrefix+"1")
	others := []string{filepath.Join(under, "precious"), filepath.Join(under, "mortise-data"), filepath.Join(under, runPrefix+"precious")}
	for _, dir := range append(others, dead) {
		if err := os.MkdirAll(filepath.Join(dir, "p1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{dead, others[1]} { // that of data has a lock, too
		if err := os.WriteFile(filepath.Join(dir, runLock), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := &runDir{under: under}
	living, err := first.open()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := first.open(); again != living || err != nil {
		t.Errorf("%s, then %s, %v", living, again, err)
	}
	second := &runDir{under: under}
	if _, err := second.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead one's: %v, want that it is gone", err)
	}
	for _, dir := range append(others, living) {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, d := range []*runDir{first, second} {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(under); len(left) != len(others) {
		t.Errorf("left: %v, want only what is not ours", left)
	}
}
