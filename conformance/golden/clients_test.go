package golden

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the tables anew from the clients' answers")

// command is how a client is asked; cache is the folder where conformance keeps clients.
type command func(cache string, counts []string) *exec.Cmd

func clients() map[string]command {
	script := func(name string) string { return filepath.Join("clients", name) }
	inGo := func(client string) command {
		return func(_ string, counts []string) *exec.Cmd {
			c := exec.Command("go", append([]string{"run", ".", "golden", client}, counts...)...)
			c.Dir = "../clients/go"
			return c
		}
	}
	return map[string]command{
		"java": func(cache string, counts []string) *exec.Cmd {
			jars := filepath.Join(cache, "kafka-4.4.0", "lib", "*")
			return exec.Command("java", append([]string{"-cp", jars, script("Golden.java")}, counts...)...)
		},
		"librdkafka": func(cache string, counts []string) *exec.Cmd {
			return exec.Command(filepath.Join(cache, "python", "bin", "python"), append([]string{script("librdkafka.py")}, counts...)...)
		},
		"kafkajs": func(cache string, counts []string) *exec.Cmd {
			c := exec.Command("node", append([]string{script("kafkajs.js")}, counts...)...)
			c.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(cache, "node", "node_modules"))
			return c
		},
		"sarama":   inGo("sarama"),
		"kgo":      inGo("kgo"),
		"kafka-go": inGo("kafka-go"),
	}
}

// TestClientsPutKeysThere asks every client again.
func TestClientsPutKeysThere(t *testing.T) {
	cache := os.Getenv("MORTISE_GOLDEN_CLIENTS")
	if cache == "" {
		t.Skip("MORTISE_GOLDEN_CLIENTS is not set: conformance/run.sh does it")
	}
	for client, command := range clients() {
		t.Run(client, func(t *testing.T) {
			now := format(ask(t, command, cache))
			file := filepath.Join("testdata", client+".txt")
			if *rewrite {
				if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if now != string(was) {
				t.Errorf("the client's answers are no longer those of %s:\n%s", file, now)
			}
		})
	}
}

// ask runs a client's script and makes its tables.
func ask(t *testing.T, command command, cache string) []*Table {
	var counts []string
	for _, n := range Counts() {
		counts = append(counts, strconv.Itoa(int(n)))
	}
	var keys, out, errs bytes.Buffer
	for _, key := range Keys() {
		line := hex.EncodeToString(key)
		if key == nil {
			line = "-"
		}
		keys.WriteString(line + "\n")
	}
	c := command(cache, counts)
	c.Stdin, c.Stdout, c.Stderr = &keys, &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	all, err := readAnswers(out.String())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readAnswers reads what a script printed.
func readAnswers(text string) ([]*Table, error) {
	var all []*Table
	var name, version, partitioner string
	var answers [][]int32
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "client":
			name, version = words[1], words[2]
			continue
		case "partitioner":
			partitioner, answers = words[1], nil
			continue
		}
		places := make([]int32, 0, len(words)-1)
		for _, w := range words[1:] {
			p, err := strconv.Atoi(w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", partitioner, err)
			}
			places = append(places, int32(p))
		}
		if answers = append(answers, places); len(answers) < len(Counts()) {
			continue
		}
		table, err := NewTable(name, version, partitioner, answers)
		if err != nil {
			return nil, err
		}
		all = append(all, table)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no table in %q", text[:min(len(text), 200)])
	}
	return all, nil
}
