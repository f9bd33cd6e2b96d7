package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mortisemq/mortise/conformance/transcript"
)

func main() {
	addr := flag.String("addr", "localhost:9092", "address of the real Kafka")
	three := flag.String("three", "", "folder of three brokers that oracle/kafka.sh runs; the address is the first one's, the ports of the others follow by twos")
	oracle := flag.String("oracle", "conformance/oracle/kafka.sh", "the script that stops and starts them")
	check := flag.Bool("check", false, "compare with what is recorded instead of rewriting it")
	flag.Parse()
	files := flag.Args()
	if len(files) == 0 {
		var err error
		if files, err = filepath.Glob("conformance/testdata/*.txt"); err != nil {
			fatal(err)
		}
	}
	cluster, err := brokers(*addr, *three, *oracle)
	if err != nil {
		fatal(err)
	}
	failed := 0
	for _, path := range files {
		start := time.Now()
		state, err := run(path, cluster, *check)
		if err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
			failed++
			continue
		}
		fmt.Printf("%s %s (%.1fs)\n", state, path, time.Since(start).Seconds())
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(path string, cluster transcript.Cluster, check bool) (string, error) {
	f, err := transcript.Load(path)
	if err != nil {
		return "", err
	}
	if f.Differs != "" {
		return "kept", nil
	}
	if check {
		bad, err := transcript.CheckCluster(f, cluster)
		for _, m := range bad {
			fmt.Println(m)
		}
		if err == nil && len(bad) > 0 {
			err = fmt.Errorf("%s: %d answers differ", path, len(bad))
		}
		return "equal", err
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	warnings, err := transcript.RecordCluster(f, cluster)
	for _, w := range warnings {
		fmt.Fprintf(os.Stderr, "%s: warning: %s\n", path, w)
	}
	after := f.Format()
	if bytes.Equal(before, after) {
		return "same", err
	}
	if werr := os.WriteFile(path, after, 0o644); werr != nil {
		return "", werr
	}
	return "written", err
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "record:", err)
	os.Exit(1)
}
