// Package lag adds up how far groups are behind, for /metrics.
//
// It owns the adding up, the bound on how many pairs of group and topic are shown, the
// choice of them, and how often all of it is done anew. It must not know where offsets
// are kept nor how numbers are shown: it gets functions.
//
// The lag of a group in a partition is the high watermark less the committed offset.
// It is the number that clients and Kafka's tools show. Partitions whose end this broker
// does not know, because another one has them, are counted and not guessed.
//
// # Which pairs are shown
//
// At most SeriesMax, those that are farthest behind. A choice by the exact lag would
// change from one look to the next among pairs that are close to each other, and a
// monitoring system would see series come and go. So pairs are compared by the power of
// two of their lag first; of equals, those stay that were shown before.
//
// # Cost
//
// Nothing runs by itself: a look at the lags adds them up, and looks within Refresh of
// each other share one result. Measured on two cores, 5,000 groups with 3 topics of 4
// partitions: 9 ms and 0.3 MB for a result. Memory between looks is the result.
//
// Lock order: Lags.mu, then whatever Options.Groups and Options.End take, which must be
// memory only.
package lag
