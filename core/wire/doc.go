// Package wire is the language that clients speak: request and response headers
// of every version, the request as a handler sees it, and the response as it is
// built. Produce and Fetch, the two that carry data, are decoded and encoded
// here by hand; every other message goes through kmsg.
//
// It owns bytes and their meaning. It must not know sockets (core/internal/server
// reads and writes them), what a request does (core/internal/api), or where
// record bytes lie: a response holds them as a Body, which is bytes or a range
// of a file.
//
// A response is heads with bodies between them:
//
//	int32 length | header | head … | body | head … | body | head …
//	               └── bytes that we make ──┘ └ sent from a file
//
// All lengths, the frame's too, are known before a body is read, which is what
// lets record bytes leave by sendfile.
//
// Invariants:
//   - No length that came from a client sizes an allocation before it was
//     compared with the bytes that are there.
//   - What a decoder hands out (names, records) is a part of the request's body
//     and lives as long as that: until the request is answered or ReleaseBody.
//   - A request is answered exactly once: Reply, ReplyMessage, ReplyNone or Drop.
//
// There are no locks in this package.
package wire
