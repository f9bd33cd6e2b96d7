// Package peer is the port between the nodes of a cluster: one listener for the
// streams of the control log and for calls from node to node, and the connections
// to the ports of the others.
//
// It owns connections, frames, deadlines and the check that both ends are of the same
// cluster and are who they are taken for. It must not know raft, metadata or what is
// in a call.
//
// # On the wire
//
// Who dials says who it is and whom it wants; the other end says who it is and
// whether it agrees. Numbers are big endian, a text is its length in one byte and its
// bytes:
//
//	hello:  "MRT" | version 2 | purpose (1 stream, 2 calls) | format uint16 | from int32 | to int32 | cluster text | address text | instance 16 | nonce 16
//	answer: status (0 welcome, 1 refused, 2 prove, 3 refused for the format) | node int32 | cluster text | instance 16 | nonce 16 | proof 32 | reason text
//	proof:  HMAC-SHA-256, 32 bytes, and then a second answer
//
// With keys both ends prove to have one of the cluster before anything else is said;
// without, the network has to keep strangers out.
//
// A stream is its user's from there on. Calls are frames in both directions:
//
//	request: length uint32 | call uint64 | kind uint8 | milliseconds uint32 | body
//	answer:  length uint32 | call uint64 | error int16 (Kafka's codes) | body, or the error's message
//
// A node that does not know its cluster yet (it joins) may call, and gives an empty
// name; a stream needs the same name at both ends, because a stray vote or entry of
// another cluster would do harm that nobody could undo.
//
// Nodes whose builds write decisions in different forms (Options.Format) refuse each other
// as well, before one of them has something in its log that it can't read. Who speaks
// another version is told so: a hello begins with magic and version in every version, and
// the answer's form does not change.
//
// # Bounds
//
// A frame has at most frameMax bytes, and memory for it grows as the bytes arrive. A
// port has at most connectionsMax connections that others opened, and callsMax running
// calls on each: one connection more is closed, one call more waits in the socket. One
// connection carries all calls to one node: a call costs two small writes and no
// dialling. Close ends every goroutine.
//
// Lock order: Port.mu before Stream.mu; link.mu alone. None is held over the network.
package peer
