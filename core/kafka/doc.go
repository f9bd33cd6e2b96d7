// Package kafka is the vocabulary that every room shares: offsets, epochs,
// broker ids, topic ids and error codes, each a type of its own so that the
// compiler keeps them apart.
//
// It owns names and their text forms. It must not know what anybody does with
// them: no I/O, no clocks, no protocol messages. It imports only the standard
// library.
package kafka
