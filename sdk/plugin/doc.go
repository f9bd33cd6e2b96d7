// Package plugin is what plugins of every kind share: a name, a version, a config,
// and a way to make one instance. It imports only the standard library.
//
// It owns the life of a plugin as its author sees it. It must not know kinds'
// contracts (packages partitioner, auth, storage, transport) nor how a plugin is
// reached: compiled in, it is a Go value that is called; in a process of its own,
// it is the same value behind gRPC (package sdk). One conformance kit proves both.
//
// A life: Describe says what the plugin is (the fields of Plugin); Validate looks at
// a config and has no side effect; New makes an instance with that config; the
// instance is called, by many goroutines at once; when it is replaced, it gets no
// new calls, those that run end, and Close is called if it has one. A new config
// makes a new instance. Several instances of one plugin may live at once, with
// different configs, and must not share state that can be seen from outside.
package plugin
