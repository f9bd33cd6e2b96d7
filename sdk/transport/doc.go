// Package transport drafts the contracts of plugins that bring clients to a broker in
// other ways: a Gateway speaks another protocol (HTTP, MQTT) to clients of its own, a
// Listener hands over connections of the Kafka protocol. It imports only the standard
// library.
//
// These are drafts. No broker asks for these kinds yet, and their form may change until
// one does. They are here so that those who want them can say what is missing.
//
// The core keeps identity, authorization, quotas and the log. A gateway gets a session
// for each client from the core, with the client's own credentials, and can do nothing
// without one: there is no call that writes or reads as the gateway itself.
//
// Obligations of a Gateway:
//
//  1. Every call to the Host carries the token of the client's session. Tokens are not
//     stored, and not used after CloseSession.
//  2. Calls of one session come one after the other, so that the order of a client is
//     the order in the log. Sessions are independent.
//  3. What is acknowledged to a client (an MQTT PUBACK, an HTTP 200) was acknowledged by
//     Produce before.
//  4. Flow is the client's: when it does not read, the gateway stops asking for more.
//  5. Sockets are the broker's: a gateway serves the listeners that it is given and
//     opens none. After StopAccepting it accepts no more, and the next generation of
//     the plugin goes on with the same sockets.
//  6. Serve returns soon after ctx is done, when clients were told.
//
// Obligations of a Listener, which is compiled in:
//
//  1. A connection that Accept returns carries the Kafka protocol from its first byte.
//  2. Accept and Close keep net.Listener's contract; Close ends a waiting Accept.
//  3. If its connections give their system connection (syscall.Conn), fetches leave by
//     sendfile; otherwise they are copied.
package transport
