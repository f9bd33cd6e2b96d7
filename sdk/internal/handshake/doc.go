// Package handshake is what a broker and a plugin's process tell each other before
// they can talk: who started whom, the one line on standard output, and the
// certificates of both ends.
//
// It keeps the protocol of go-plugin 1.8 (core version 1, gRPC, AutoMTLS), so that a
// plugin in any language that keeps it can be started. It differs in what no other
// end can see: keys are P-256, which starts four times as fast as go-plugin's P-521
// and which every TLS library takes; and a line without a certificate, or with an
// address that is not a socket in the process's own directory, is refused here,
// before go-plugin sees it.
//
// It must not know what is said later (package rpc).
package handshake
