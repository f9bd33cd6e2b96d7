// Package telemetry takes the metrics that clients push (KIP-714).
//
// It owns which client should push what and how often (Manager: subscriptions are
// config resources of the cluster), what a client may do at a moment, the reading of
// OpenTelemetry's MetricsData, and the numbers that are shown (Shown). It must not
// know the protocol's messages or how metrics are shown.
//
// Clients are strangers, so everything that they name or send has a bound:
// InstancesMax clients are known, of ShownMax of them numbers are kept, SeriesMax in
// all and SeriesOfOne of one client; what was pushed longest ago goes first. A push is
// at most telemetry.max.bytes, before and after decompression. Names become
// Prometheus' (names.go), texts at most TextMax bytes.
//
// MetricsData is read with protowire, a part of the protobuf module that is here
// anyway: a push is seen field by field, so that nothing is built of what is not
// shown. Messages that are generated of OTLP's definition would bring a module and a
// gRPC gateway, and make a tree of objects of a stranger's bytes first.
//
// Invariants:
//   - The id of a subscription follows from what it says and from the client, so that
//     a client that changes brokers keeps it.
//   - A push that can't be read changes no number.
//
// Lock order: Manager.mu and Shown.mu are leaves; neither is held while a push is
// read.
package telemetry
