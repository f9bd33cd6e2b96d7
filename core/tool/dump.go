package tool

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// DumpOptions say what Dump prints. The zero value prints batches and entries.
type DumpOptions struct {
	Records bool // records too, which decompresses batches
	Data    bool // with keys, values and headers; implies Records
	JSON    bool // one JSON object a line instead of text
	Limits  record.DecompressLimits
}

// Dump prints a file of a partition, or all files of a partition directory in the
// order of their names. A file that is damaged is printed as far as it can be
// read, with a last line that says what is wrong; that is no error, so that the
// other files are printed too. An error is one of the file system or of w; one of
// w is also the way to stop it.
func Dump(w io.Writer, fsys vfs.FS, path string, o DumpOptions) error {
	o.Records = o.Records || o.Data
	info, err := fsys.Stat(path)
	if err != nil {
		return fmt.Errorf("dump %s: %w", path, err)
	}
	if !info.IsDir() {
		if k, _ := fileKind(path); k == otherFile {
			return fmt.Errorf("dump %s: %w", path, ErrUnknownFile)
		}
		return dumpFile(w, fsys, path, o)
	}
	list, err := fsys.ReadDir(path)
	if err != nil {
		return fmt.Errorf("dump %s: %w", path, err)
	}
	for _, e := range list {
		if k, _ := fileKind(e.Name()); e.IsDir() || k == otherFile {
			continue
		}
		if err := dumpFile(w, fsys, filepath.Join(path, e.Name()), o); err != nil {
			return err
		}
	}
	return nil
}

// dumper prints one file.
type dumper struct {
	printer
	fsys vfs.FS
	o    DumpOptions
}

func dumpFile(w io.Writer, fsys vfs.FS, name string, o DumpOptions) error {
	d := &dumper{printer: printer{w: w, json: o.JSON, file: name}, fsys: fsys, o: o}
	k, base := fileKind(name)
	if !o.JSON {
		if _, err := fmt.Fprintf(w, "Dumping %s\n", name); err != nil {
			return fmt.Errorf("dump %s: %w", name, err)
		}
	}
	var err error
	switch k {
	case logFile:
		err = d.log(base)
	case indexFile:
		err = d.entries(indexEntrySize, true, func(b []byte) *row {
			e := parseIndexEntry(base, b)
			return new(row{what: "index"}).add("offset", e.offset).add("position", e.position)
		})
	case timeIndexFile:
		err = d.entries(timeIndexEntrySize, true, func(b []byte) *row {
			e := parseTimeEntry(base, b)
			return new(row{what: "timeindex"}).add("timestamp", e.timestamp).add("offset", e.offset)
		})
	case txnIndexFile:
		err = d.entries(txnIndexEntrySize, false, func(b []byte) *row { return txnRow(parseTxnEntry(b)) })
	case snapshotFile:
		err = d.snapshot()
	case epochFile:
		err = d.epochs()
	case metadataFile:
		err = d.metadata()
	case checkpointFile:
		err = d.checkpoint()
	}
	if err != nil {
		return fmt.Errorf("dump %s: %w", name, err)
	}
	return nil
}

// damage prints what is wrong with the rest of the file.
func (d *dumper) damage(position int64, problem string) error {
	return d.row(new(row{what: "problem"}).add("position", position).add("problem", problem))
}
