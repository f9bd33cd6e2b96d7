// Command goclients loads a source tree into a topic through a Go client and reads it back through another.
//
//	goclients load  -client kgo|sarama|kafka-go -addr A -topic T -dir D [-max N] [-acked FILE [-hold N]]
//	goclients check -client kgo|sarama|kafka-go -addr A -topic T -dir D [-max N] [-acked FILE] [-once]
//	goclients checkstream -dir D [-max N]     what kcat printed comes on standard input
//	goclients golden kgo|sarama|kafka-go N... where it puts the keys on standard input, of N partitions
//	goclients secured kgo|sarama|kafka-go ADDRESS USER PASSWORD TOPIC COUNT
//	                                          logs in and writes; exits with 3 if it may not write, with 4 if it
//	                                          can't log in
//
// A file is one record: its path is the key, its content the value, the hash of its content a header. load writes one
// line "partition offset path" for each acknowledged record into the acked file; with -hold it sends so many and waits
// for a file of that name and ".on" before it sends the rest. check wants every file once or more,
// byte for byte, and what the acked file says at its place; with -once it wants every file once and no more, but for
// keys that begin with ~, which are no files.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "goclients:", err)
		var r *refusal
		if errors.As(err, &r) {
			os.Exit(r.code)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want load, check, checkstream, golden or secured")
	}
	if args[0] == "golden" && len(args) > 1 {
		return golden(args[1], args[2:])
	}
	if args[0] == "secured" && len(args) > 1 {
		return secured(args[1], args[2:])
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	client := flags.String("client", "kgo", "kgo, sarama or kafka-go")
	addr := flags.String("addr", "", "bootstrap address")
	topic := flags.String("topic", "tree", "topic")
	dir := flags.String("dir", "", "root of the source tree")
	limit := flags.Int("max", 0, "take the first so many files; 0: all")
	acked := flags.String("acked", "", "file of acknowledged records")
	hold := flags.Int("hold", 0, "send so many files before there is a file of acked's name and .on; 0: all")
	once := flags.Bool("once", false, "no file may be there twice")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	files, err := list(*dir, *limit)
	if err != nil {
		return err
	}
	if args[0] == "checkstream" {
		c := newChecker(files)
		if err := c.stream(os.Stdin); err != nil {
			return err
		}
		return c.result()
	}
	if *addr == "" {
		return fmt.Errorf("-addr is missing")
	}
	w, r, err := clientNamed(*client, *addr, *topic)
	if err != nil {
		return err
	}
	switch args[0] {
	case "load":
		return load(files, w, *acked, *hold)
	case "check":
		c := newChecker(files)
		c.once = *once
		if err := r(c.add); err != nil {
			return err
		}
		if *acked != "" {
			if err := c.acked(*acked); err != nil {
				return err
			}
		}
		return c.result()
	}
	return fmt.Errorf("unknown command %q", args[0])
}
