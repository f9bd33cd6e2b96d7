// Package transcript reads, plays and writes conversations with a Kafka broker as text.
//
// A transcript is one text file. It is the source of a recording and its result: the recorder plays the requests of
// the file against a real Kafka and writes the answers into the same file; the replay test plays them against
// Mortise and compares. Adding a case is adding lines.
//
// # Lines
//
// A line that starts in column one is a comment, a directive, a step or the head of an answer. Lines indented by
// two spaces belong to the step or answer above them.
//
//	# ...                          comment
//	differs REASON                 Mortise differs on purpose: the recorder leaves this file alone (first line)
//	keep FIELD GLOB...             drop array elements of answers whose FIELD matches no GLOB
//	drop FIELD GLOB...             drop those whose FIELD matches a GLOB
//	sort FIELD...                  print the elements of these arrays of answers sorted: their order means nothing
//	mask FIELD [AS]                print the value of FIELD as $AS (default $any) wherever it is not the default
//	topic NAME [partitions=N] [K=V...]   create a topic and wait until it is led
//	topic NAME replicas=1,2/2,3 [K=V...] the same of partitions on these brokers, in sync everywhere
//	stop N                         stop broker N in order
//	start N                        start it again
//	insync TOPIC[=N]...            wait until all replicas of the topics are in sync, or N of each partition
//	settle                         let the broker apply what was changed (waits while recording only)
//	login USER [CONN]              from now on a connection is this user's, who logs in by SASL PLAIN (Password)
//	close [CONN]                   close a connection
//	> NAME vN..M [OPTION...]       a request of every version from N to M; its body is YAML
//	> frame [OPTION...]            a hand-made frame: the length prefix is added
//	> bytes [OPTION...]            hand-made bytes, sent as they are
//	> await [OPTION...]            read the answer of a step sent with the send option
//	< [vN..M]                      the answer of these versions, or closed, or none
//
// Options: conn=NAME uses a connection of its own, broker=N one to that broker (1 without it), send does not wait for the answer, client=TEXT or client=null
// sets the client id, answer=NAME/VERSION says how a hand-made frame is answered, as=VERSION how a request is,
// retry=TEXT sends again while the answer contains TEXT, anyerror prints every error code as $error (where Kafka's
// own is an accident, such as UNKNOWN_SERVER_ERROR after an exception).
//
// # Bodies
//
// A body is YAML with kmsg's field names; absent fields have the protocol's defaults. Record batches are written as a
// list of batch descriptions (BatchSpec) or as hex text. $v in a body is the version of the request; in the answers
// "-vN" is printed back as "-v$v". Hand-made frames are words: hex digits, i8:N i16:N i32:N i64:N, uv:N (unsigned
// varint), "text", str16:"text", zero*N.
//
// # Answers
//
// Fields that have the protocol's default are left out, except error codes, so that the answers of versions with and
// without a field can be shown once. What must differ between brokers is printed as a placeholder by its first sight:
// $topicid1, $pid1, $member1, $session1 are consistent within one transcript (the same id is the same name) and can be used in
// later requests; $host, $port, $cluster, $dir, $size and $now (a recent time in milliseconds) stand for any value of
// their kind.
//
// The package knows the protocol only through kmsg and its own batch reader. It must not import any room of the
// broker: it is the second opinion.
package transcript
