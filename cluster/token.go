package cluster

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tokenName is the file in the data directory with the token of the admin listener.
const tokenName = "admin.token"

// tokenBytes is how many random bytes a token has; the file has them in hex.
const tokenBytes = 32

// adminToken is the token that changes through the admin listener need, and the
// absolute path of its file. A file that is there is kept, so that scripts may be told
// the token; one that is no token is an error, not replaced. Only this user can read a
// file that is made here.
func adminToken(dir string) (token, path string, err error) {
	if path, err = filepath.Abs(filepath.Join(dir, tokenName)); err != nil {
		return "", "", fmt.Errorf("admin token: %w", err)
	}
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		text = bytes.TrimSpace(text)
		if random, err := hex.DecodeString(string(text)); err != nil || len(random) != tokenBytes {
			return "", "", fmt.Errorf("admin token: %s is not %d hexadecimal digits; remove it, and a new one is made", path, 2*tokenBytes)
		}
		return string(text), path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("admin token: %w", err)
	}
	random := make([]byte, tokenBytes)
	rand.Read(random) //nolint:errcheck // it never fails (crypto/rand)
	token = hex.EncodeToString(random)
	if err := writePrivate(path, token+"\n"); err != nil {
		return "", "", fmt.Errorf("admin token: %w", err)
	}
	return token, path, nil
}

// writePrivate makes a file that is whole or not there, and that only this user reads.
func writePrivate(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
