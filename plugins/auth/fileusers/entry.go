package fileusers

import (
	"cmp"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Entry is what NewEntry puts under a user's name.
type Entry struct {
	Groups []string
	// NoPassword leaves out the hash for SASL PLAIN, NoScram the credentials for SCRAM.
	NoPassword, NoScram bool

	iterations int // of the password's hash; 0: newIterations
}

// NewEntry is the text of a user for a file: what stands under users, with the password
// as hashes that have salts of their own. The text has no password in it.
func NewEntry(name, password string, e Entry) (string, error) {
	if password == "" {
		return "", errors.New("an empty password")
	}
	if err := checkNames(name, e.Groups); err != nil {
		return "", err
	}
	if e.NoPassword && e.NoScram {
		return "", errors.New("neither a password nor a SCRAM credential is asked for")
	}
	f := fileUser{Groups: e.Groups}
	if !e.NoPassword {
		h, err := newHash(password, cmp.Or(e.iterations, newIterations))
		if err != nil {
			return "", fmt.Errorf("hash of the password: %w", err)
		}
		f.Password = h.String()
	}
	if !e.NoScram {
		for mechanism, to := range map[string]*string{"SCRAM-SHA-256": &f.ScramSHA256, "SCRAM-SHA-512": &f.ScramSHA512} {
			var err error
			if *to, err = newScram(mechanism, password, newScramIterations); err != nil {
				return "", fmt.Errorf("%s: %w", mechanism, err)
			}
		}
	}
	text, err := yaml.Marshal(map[string]fileUser{name: f})
	return string(text), err
}
