// Package scenario plays stories in text files with the state machines of other rooms'
// tests: each file is named for the rule that it shows, and holds commands with what
// came of them.
//
// It owns the form of the files and how they are compared and, with -rewrite, written
// anew. It must not know any command. Only tests import it.
//
// # Forms
//
// Blocks are commands, a line "----", what they printed, and an empty line. In Steps a
// command begins with "> ", and what it printed follows. In both, lines that begin with
// "#" are for people.
package scenario
