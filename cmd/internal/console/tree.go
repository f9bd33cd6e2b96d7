package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HeaderSHA256 is the header that carries the digest of a file's content.
const HeaderSHA256 = "sha256"

// Files makes a record of each regular file below root, in the order of their
// paths: the key is the path below root with slashes, the value is the content,
// and a header carries its SHA-256 in hexadecimal. What is neither a file nor a
// folder, such as a link, is handed to skipped (nil: to nobody).
func Files(root string, headers []kgo.RecordHeader, skipped func(name string)) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if !d.Type().IsRegular() {
				if skipped != nil {
					skipped(name)
				}
				return nil
			}
			record, err := fileRecord(root, name, headers)
			if err != nil {
				return err
			}
			if !yield(record, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

func fileRecord(root, name string, headers []kgo.RecordHeader) (*kgo.Record, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	return &kgo.Record{
		Key:   []byte(filepath.ToSlash(below)),
		Value: content,
		Headers: append([]kgo.RecordHeader{
			{Key: HeaderSHA256, Value: []byte(hex.EncodeToString(digest[:]))},
		}, headers...),
	}, nil
}

// FileWriter writes each record's value to a file named by its key, below one
// folder. A key can't leave the folder, and a value whose digest differs from
// its header is refused.
type FileWriter struct{ root *os.Root }

// NewFileWriter opens the folder, making it if need be.
func NewFileWriter(dir string) (*FileWriter, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	return &FileWriter{root}, err
}

// Write writes one record; a null value removes the file.
func (w *FileWriter) Write(r *kgo.Record) error {
	name := filepath.FromSlash(path.Clean(string(r.Key)))
	if len(r.Key) == 0 || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("offset %d: the key %q is no path below the folder", r.Offset, r.Key)
	}
	if r.Value == nil {
		return w.root.RemoveAll(name)
	}
	for _, h := range r.Headers {
		if digest := sha256.Sum256(r.Value); h.Key == HeaderSHA256 && hex.EncodeToString(digest[:]) != string(h.Value) {
			return fmt.Errorf("offset %d: %s: content and SHA-256 header differ", r.Offset, name)
		}
	}
	if err := w.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return w.root.WriteFile(name, r.Value, 0o644)
}

// Close closes the folder.
func (w *FileWriter) Close() error { return w.root.Close() }
