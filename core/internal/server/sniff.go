package server

import "fmt"

// httpStarts are the first four bytes of what HTTP clients say.
var httpStarts = [...]string{"GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "PATC", "CONN", "PRI "}

// sniff looks at the first four bytes of a connection, where Kafka's frame size
// should be, for clients that came to the wrong door. Each of these is a frame
// of more than 360 MB to a Kafka broker.
func sniff(first []byte) error {
	if first[0] == 0x16 && first[1] == 0x03 { // TLS record: handshake
		return errTLS
	}
	for _, start := range httpStarts {
		if string(first[:4]) == start {
			return fmt.Errorf("%w (%q)", errHTTP, start)
		}
	}
	return nil
}

// advice says what somebody who came to the wrong door should do.
func (s *Server) advice(err reason, listener string) string {
	switch {
	case err == reasonTLS:
		return "listener " + listener + " speaks plain text: set security.protocol=PLAINTEXT in the client, or point it at a TLS listener"
	case err == reasonHTTP && s.opt.HTTPHint != "":
		return "listener " + listener + " speaks Kafka's protocol; HTTP is served on " + s.opt.HTTPHint
	case err == reasonHTTP:
		return "listener " + listener + " speaks Kafka's protocol, not HTTP"
	}
	return ""
}
