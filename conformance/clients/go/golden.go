package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// placer says where a partitioner puts a key, and false if it does so by chance.
type placer func(key []byte, partitions int) (int, bool, error)

// golden prints where a client's partitioners put the keys on standard input; see
// package golden, beside this folder.
func golden(client string, counts []string) error {
	keys, err := goldenKeys()
	if err != nil {
		return err
	}
	tables, err := partitioners(client)
	if err != nil {
		return err
	}
	fmt.Println("client", client, moduleVersion(client))
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Println("partitioner", name)
		for _, count := range counts {
			n, err := strconv.Atoi(count)
			if err != nil {
				return err
			}
			line := []byte(count)
			place := tables[name]()
			for _, key := range keys {
				p, certain, err := place(key, n)
				if err != nil {
					return err
				}
				if !certain {
					p = -1
				}
				line = strconv.AppendInt(append(line, ' '), int64(p), 10)
			}
			fmt.Println(string(line))
		}
	}
	return nil
}

// moduleVersion is the version of a client that is built in.
func moduleVersion(client string) string {
	module := map[string]string{
		"sarama":   "github.com/IBM/sarama",
		"kgo":      "github.com/twmb/franz-go",
		"kafka-go": "github.com/segmentio/kafka-go",
	}[client]
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

func goldenKeys() ([][]byte, error) {
	var keys [][]byte
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "-" {
			keys = append(keys, nil)
			continue
		}
		key, err := hex.DecodeString(lines.Text())
		if err != nil {
			return nil, err
		}
		keys = append(keys, append([]byte{}, key...)) // an empty key is not nil
	}
	return keys, lines.Err()
}

func partitioners(client string) (map[string]func() placer, error) {
	switch client {
	case "sarama":
		return map[string]func() placer{
			"hash":      saramaPlacer(sarama.NewHashPartitioner),
			"reference": saramaPlacer(sarama.NewReferenceHashPartitioner),
			"unsigned":  saramaPlacer(sarama.NewCustomPartitioner(sarama.WithHashUnsigned())),
		}, nil
	case "kgo":
		return map[string]func() placer{
			"uniform-bytes": kgoPlacer(kgo.UniformBytesPartitioner(64<<10, true, true, nil)),
			"sticky-key":    kgoPlacer(kgo.StickyKeyPartitioner(nil)),
			"sarama":        kgoPlacer(kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(fnv32a))),
		}, nil
	case "kafka-go":
		return map[string]func() placer{
			"hash":             balancerPlacer(func() kafka.Balancer { return &kafka.Hash{} }),
			"reference":        balancerPlacer(func() kafka.Balancer { return &kafka.ReferenceHash{} }),
			"crc32":            balancerPlacer(func() kafka.Balancer { return kafka.CRC32Balancer{} }),
			"crc32-consistent": balancerPlacer(func() kafka.Balancer { return kafka.CRC32Balancer{Consistent: true} }),
			"murmur2":          balancerPlacer(func() kafka.Balancer { return kafka.Murmur2Balancer{} }),
		}, nil
	}
	return nil, fmt.Errorf("no partitioners of client %q", client)
}

func fnv32a(key []byte) uint32 {
	h := fnv.New32a()
	h.Write(key)
	return h.Sum32()
}

func saramaPlacer(make sarama.PartitionerConstructor) func() placer {
	return func() placer {
		p := make("t").(sarama.DynamicConsistencyPartitioner)
		return func(key []byte, n int) (int, bool, error) {
			m := &sarama.ProducerMessage{Topic: "t"}
			if key != nil {
				m.Key = sarama.ByteEncoder(key)
			}
			at, err := p.Partition(m, int32(n))
			return int(at), p.MessageRequiresConsistency(m), err
		}
	}
}

func kgoPlacer(p kgo.Partitioner) func() placer {
	return func() placer {
		topic := p.ForTopic("t")
		return func(key []byte, n int) (int, bool, error) {
			r := &kgo.Record{Topic: "t", Key: key}
			if !topic.RequiresConsistency(r) {
				return 0, false, nil
			}
			if byBackup, ok := topic.(kgo.TopicBackupPartitioner); ok {
				return byBackup.PartitionByBackup(r, n, nil), true, nil
			}
			return topic.Partition(r, n), true, nil
		}
	}
}

// balancerPlacer asks several times: a balancer does not say what it does by chance.
func balancerPlacer(make func() kafka.Balancer) func() placer {
	return func() placer {
		b := make()
		return func(key []byte, n int) (int, bool, error) {
			partitions := numbers(n)
			first := b.Balance(kafka.Message{Key: key}, partitions...)
			for range 60 {
				if len(key) == 0 && b.Balance(kafka.Message{Key: key}, partitions...) != first {
					return first, false, nil
				}
			}
			return first, true, nil
		}
	}
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
