// Package secret reads passwords: from a terminal without showing them, from a pipe,
// or from a file.
//
// It owns what counts as a password and how a person is asked. It must not know what
// it is for. A password never is an argument of a command: everybody on the machine
// could read it there.
package secret
