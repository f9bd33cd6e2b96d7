// Package golden holds where real clients put keys: tables that partitioners are held
// to.
//
// It owns the keys (Keys, 10,000 of them from a seed), the numbers of partitions
// (Counts) and one table for each client in testdata. A table has a digest of all
// answers for each number of partitions and some answers to read. It must not know
// our partitioners, only the contract; their tests import this package.
//
// The tables are made by the clients themselves: with MORTISE_GOLDEN_CLIENTS set to the
// folder where conformance keeps them, the test asks each one again and compares, and
// with -rewrite it writes the tables. clients holds the scripts. A script reads a line
// of hex for each key (- for a null one) and prints "client NAME VERSION", then for each
// partitioner "partitioner NAME" and for each number of partitions that number and a
// partition for each key; -1 for one that the client chooses by chance.
package golden
