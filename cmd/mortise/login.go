package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/cmd/internal/secret"
)

// login is who a command says that it is; the zero value: nobody.
type login struct{ user, passwordFile string }

// add gives a command the flags of a login. A password is no flag: everybody on the
// machine could read it.
func (l *login) add(c *cobra.Command) {
	c.Flags().StringVarP(&l.user, "user", "u", os.Getenv("MORTISE_USER"),
		"log in with SASL PLAIN as this user (environment MORTISE_USER); the password is in MORTISE_PASSWORD or --password-file, or is asked for")
	c.Flags().StringVar(&l.passwordFile, "password-file", os.Getenv("MORTISE_PASSWORD_FILE"),
		"a file with the password (environment MORTISE_PASSWORD_FILE)")
}

// options are the client's, which log it in.
func (l *login) options(a *app) ([]kgo.Opt, error) {
	if l.user == "" {
		if l.passwordFile != "" {
			return nil, output.Usagef("--password-file without --user or MORTISE_USER")
		}
		return nil, nil
	}
	password, err := l.password(a)
	if err != nil {
		return nil, output.Usagef("password of %s: %w", l.user, err)
	}
	return []kgo.Opt{kgo.SASL(plain.Auth{User: l.user, Pass: password}.AsMechanism())}, nil
}

// password is the one of the file, of the environment, or what a person types. What is
// piped in is records, not a password.
func (l *login) password(a *app) (string, error) {
	switch env := os.Getenv("MORTISE_PASSWORD"); {
	case l.passwordFile != "":
		return secret.File(l.passwordFile)
	case env != "":
		return env, nil
	case output.IsTerminal(a.in):
		return secret.Ask(a.in, a.err, "password of "+l.user, false)
	}
	return "", errors.New("put it into MORTISE_PASSWORD or a file, --password-file")
}

// hint adds to an error what to do about a login; other errors stay as they are.
func (l *login) hint(err error, brokers []string) error {
	at := strings.Join(brokers, ",")
	var closed *kgo.ErrFirstReadEOF
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Errorf("%s does not take the user %s with this password: %w", at, l.user, err)
	case errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState), l.user != "" && errors.Is(err, kerr.UnsupportedVersion):
		return fmt.Errorf("%s has no login by SASL PLAIN; leave out --user and MORTISE_USER, or name another listener: %w", at, err)
	case errors.As(err, &closed) && l.user == "":
		return fmt.Errorf("%s wants a login, it seems: --user or MORTISE_USER says who you are, and MORTISE_PASSWORD or --password-file has the password: %w", at, err)
	case l.user != "" && errors.Is(err, io.EOF):
		return fmt.Errorf("%s closed the connection at the login of %s: its authenticator gives no answer (`mortise health` and the broker's log tell), may not say that this is a super user (super_users of the listener), or there is no SASL PLAIN here: %w", at, l.user, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%s may not do this on %s: %w", who(l.user), at, err)
	}
	return err
}

// who names somebody for people.
func who(user string) string {
	if user == "" {
		return "a client without a login"
	}
	return "the user " + user
}
