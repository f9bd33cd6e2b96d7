// Command bench measures Mortise beside a real Kafka 4.4 on one machine, in one
// run, in alternating order, and prints a table of ratios (RESULTS.md).
//
// It owns a raw client that is cheaper than any broker: batches are built and
// checksummed once and written over and over on a pipelined connection; fetched
// bytes are only walked from batch header to batch header. So the broker is
// what is measured. Beside throughput it reports the broker's CPU seconds per
// GiB (from /proc/PID/stat) and its anonymous memory (smaps_rollup).
//
// Absolute figures of a virtual machine say little; the ratios within one run
// are the result. Every run warms both brokers first and keeps a large file in
// the page cache so that neither pays for cold memory.
package main
