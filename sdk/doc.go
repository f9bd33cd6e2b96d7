// Package sdk makes a program of plugins: Serve is the whole of its main.
//
//	func main() {
//		sdk.Serve(partitioner.Plugin(plugin.Plugin{Name: "by-length", Version: "1.0.0"},
//			func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
//				return partitioner.Func(func(_ string, key []byte, n int32) int32 {
//					return int32(len(key)) % n
//				}), nil
//			}))
//	}
//
// The contracts are in packages partitioner, auth and storage, and what they share in
// package plugin; those import the standard library only, and a broker can compile the
// same plugins in. A broker starts the program, which then serves any number of
// instances of its plugins to that broker and to nobody else, and ends when the broker
// says so or is gone.
//
// Obligations of a program:
//
//  1. Serve is called soon after the start, and nothing is printed before. Serve points
//     os.Stdout at standard error, so that printing later is harmless.
//  2. What is logged goes to standard error: with log/slog, which Serve sets up, each
//     line keeps its level and attributes in the broker's log.
//  3. It does not fork children that outlive it; the broker kills its process group.
//
// Package host is the other end.
package sdk
