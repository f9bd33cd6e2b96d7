// Package pluginload runs real plugin processes under a broker and its clients, swaps
// and breaks them, and watches what the clients see.
//
// It owns five promises: an upgrade costs no request (swap_test.go), an upgrade that
// goes wrong goes back and says why (badupgrade_test.go), the brokers of a cluster do the
// same, and tell who can't (three_test.go, rollout_test.go), a plugin that misbehaves
// costs nobody else anything (blast_test.go), and no fault lets anybody in
// (closed_test.go). Package faulty is the plugin, which does wrong while a file says
// so. It must not know how the supervisor does it: what it sees is the Kafka protocol
// and the admin listener.
//
// The tests are short; flags make the long runs of `make conformance`:
//
//	-swaps N      upgrades of each plugin (default 3)
//	-faults N     faults of the random run (default 5), with -seed
//	-broken       break each plugin in each way once
//	-strict       hold throughput and latency of uninvolved traffic to their bounds
//	-mortise F    the program, for a roll-out on three real processes
package pluginload
