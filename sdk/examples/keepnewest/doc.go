// Command keepnewest deletes by the topic's retention.ms, but keeps at least some of the
// newest segments, so that a topic that is rarely written to is never empty.
package main
