package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// MakeDir makes a folder and what is missing above it, and makes their names
// durable: what is synced inside afterwards is found after a power loss. For a
// folder that exists it costs one Stat.
func MakeDir(fsys FS, name string) error {
	name = filepath.Clean(name)
	_, err := fsys.Stat(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(name)
	if above != name {
		if err := MakeDir(fsys, above); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(above)
}
