// Package topics keeps what a partitioner remembers of each topic.
//
// It owns the map and its bound: with more than Max topics everything is forgotten,
// and each topic begins anew. It must not know what is remembered. It imports only
// the standard library.
//
// Lock order: the map's lock is held for a look-up, never while a value is used.
package topics
