// Package console moves records between files and a cluster for people: lines
// or whole files in, format strings, JSON or files out.
//
// It owns the text forms of records (format.go, json.go), where input comes
// from (input.go, tree.go), where to start reading (position.go) and when there
// is nothing left to read (empty.go). It speaks to brokers only through a kgo
// client that it is handed. It must not parse command lines.
//
// Nothing is dropped in silence: Produce returns an error when one record was
// not acknowledged, with the first reason.
package console
