package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/cmd/internal/secret"
	"github.com/mortisemq/mortise/plugins/auth/fileusers"
)

func userCommand(a *app) *cobra.Command {
	return group("user", "Write the file of users of the authenticator file-users", userAddCommand(a))
}

// userView is what became of a file of users.
type userView struct {
	User string `json:"user"`
	File string `json:"file"`
}

func userAddCommand(a *app) *cobra.Command {
	var (
		e       fileusers.Entry
		replace bool
	)
	c := &cobra.Command{
		Use:   "add NAME FILE",
		Short: "Put a user into a file of users, with a hash of the password",
		Long: `Put a user into a file of users, with hashes of the password: for SASL PLAIN, and for
SCRAM as Kafka writes them. The password is asked for without being shown, or is the
one line that is piped in. A broker that has the file takes the user within a second.

FILE is made if it is not there, readable only by you. - for FILE prints the user as a
file. The rest of the file stays, with its comments.`,
		Example: `  echo s3cret | mortise user add alice users.yaml --group staff
  echo n3wer | mortise user add alice users.yaml --replace`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: fileAfter(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name, path := args[0], args[1]
			var content []byte
			if path != "-" {
				var err error
				if content, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			password, err := secret.Ask(a.in, a.err, "password of "+name, true)
			if err != nil {
				return output.Usagef("password: %w", err)
			}
			next, err := fileusers.Put(content, name, password, e, replace)
			switch {
			case errors.Is(err, fileusers.ErrExists):
				return fmt.Errorf("%s: %w; --replace gives it another password", path, err)
			case err != nil:
				return fmt.Errorf("%s: %w", path, err)
			case path == "-":
				_, err = a.out.Write(next)
				return err
			}
			if err := replaceFile(path, next); err != nil {
				return err
			}
			return a.printer().Value(userView{name, path}, func(w writer) error {
				_, err := fmt.Fprintf(w, "%s is in %s\n", name, path)
				return err
			})
		},
	}
	c.Flags().StringSliceVarP(&e.Groups, "group", "g", nil, "a group that the user is in; may be given again")
	c.Flags().BoolVar(&replace, "replace", false, "take the place of a user with this name, groups and all")
	c.Flags().BoolVar(&e.NoScram, "no-scram", false, "leave out the credentials for SCRAM")
	return c
}

// replaceFile puts content into the place of a file as a whole, so that a broker never
// reads half of it. The mode stays; a new file is readable only by its owner.
func replaceFile(path string, content []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
