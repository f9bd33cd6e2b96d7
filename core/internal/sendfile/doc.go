// Package sendfile moves a range of a file into a socket without a copy through
// this process.
//
// It owns the system call and its traps. Go's own io.Copy uses the file's shared
// position: on a file that several answers are sent from at once, some carry
// wrong bytes. Send passes an explicit offset, which the kernel keeps for this
// call alone. It must not know what the bytes mean.
//
// A range that turns out shorter than promised is io.ErrUnexpectedEOF: the
// length has left for the client already, so the connection must be closed.
package sendfile
