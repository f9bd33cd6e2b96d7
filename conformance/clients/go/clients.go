package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// valueMax is the largest record that the clients may send or receive, in bytes.
const valueMax = 16 << 20

// creationAttempts bounds how often kafka-go is asked to write to a topic that is being made.
const creationAttempts = 20

// patience bounds a whole load or check.
const patience = 5 * time.Minute

func clientNamed(name, addr, topic string) (writer, reader, error) {
	switch name {
	case "kgo":
		return kgoWriter(addr, topic), kgoReader(addr, topic), nil
	case "sarama":
		return saramaWriter(addr, topic), saramaReader(addr, topic), nil
	case "kafka-go":
		return segmentWriter(addr, topic), segmentReader(addr, topic), nil
	}
	return nil, nil, fmt.Errorf("no client is called %q", name)
}

func kgoWriter(addr, topic string) writer {
	return func(next func() (record, bool), acked func(record)) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ProducerBatchMaxBytes(valueMax), kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.MaxBufferedRecords(500), kgo.RecordRetries(1_000_000))
		if err != nil {
			return err
		}
		defer cl.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		failed := make(chan error, 1)
		for r, ok := next(); ok; r, ok = next() {
			kr := &kgo.Record{Topic: topic, Key: []byte(r.key), Value: r.value, Headers: []kgo.RecordHeader{{Key: "sha256", Value: []byte(r.hash)}}}
			cl.Produce(ctx, kr, func(got *kgo.Record, err error) {
				if err != nil {
					select {
					case failed <- fmt.Errorf("%s: %w", got.Key, err):
					default:
					}
					return
				}
				acked(record{partition: got.Partition, offset: got.Offset, key: string(got.Key)})
			})
		}
		if err := cl.Flush(ctx); err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

// ends returns the end offset of each partition.
func ends(ctx context.Context, cl *kgo.Client, topic string) (map[int32]int64, error) {
	listed, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := listed.Error(); err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out, nil
}

func kgoReader(addr, topic string) reader {
	return func(add func(record)) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.FetchMaxBytes(2*valueMax), kgo.FetchMaxPartitionBytes(valueMax),
			kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return err
		}
		defer cl.Close()
		end, err := ends(ctx, cl, topic)
		if err != nil {
			return err
		}
		left := 0
		for _, n := range end {
			if n > 0 {
				left++
			}
		}
		for left > 0 {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				return err
			}
			fetches.EachRecord(func(r *kgo.Record) {
				got := record{partition: r.Partition, offset: r.Offset, key: string(r.Key), value: r.Value}
				for _, h := range r.Headers {
					got.hash = string(h.Value)
				}
				add(got)
				if r.Offset == end[r.Partition]-1 {
					left--
				}
			})
		}
		return nil
	}
}

func saramaConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.MaxMessageBytes = valueMax
	c.Producer.Compression = sarama.CompressionLZ4
	c.Producer.Retry.Max = 20
	c.Consumer.Fetch.Default = 4 << 20
	sarama.MaxResponseSize = 8 * valueMax
	return c
}

func saramaWriter(addr, topic string) writer {
	return func(next func() (record, bool), acked func(record)) error {
		p, err := sarama.NewAsyncProducer([]string{addr}, saramaConfig())
		if err != nil {
			return err
		}
		go func() {
			for r, ok := next(); ok; r, ok = next() {
				p.Input() <- &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(r.key), Value: sarama.ByteEncoder(r.value),
					Headers: []sarama.RecordHeader{{Key: []byte("sha256"), Value: []byte(r.hash)}}}
			}
			p.AsyncClose()
		}()
		var failed error
		successes, faults := p.Successes(), p.Errors()
		for successes != nil || faults != nil {
			select {
			case m, ok := <-successes:
				if !ok {
					successes = nil
					continue
				}
				key, _ := m.Key.Encode()
				acked(record{partition: m.Partition, offset: m.Offset, key: string(key)})
			case e, ok := <-faults:
				if !ok {
					faults = nil
					continue
				}
				failed = e
			}
		}
		return failed
	}
}

func saramaReader(addr, topic string) reader {
	return func(add func(record)) error {
		cl, err := sarama.NewClient([]string{addr}, saramaConfig())
		if err != nil {
			return err
		}
		defer cl.Close()
		cons, err := sarama.NewConsumerFromClient(cl)
		if err != nil {
			return err
		}
		defer cons.Close()
		partitions, err := cons.Partitions(topic)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			end, err := cl.GetOffset(topic, p, sarama.OffsetNewest)
			if err != nil {
				return err
			}
			if end == 0 {
				continue
			}
			pc, err := cons.ConsumePartition(topic, p, sarama.OffsetOldest)
			if err != nil {
				return err
			}
			for m := range pc.Messages() {
				got := record{partition: p, offset: m.Offset, key: string(m.Key), value: m.Value}
				for _, h := range m.Headers {
					got.hash = string(h.Value)
				}
				add(got)
				if m.Offset == end-1 {
					break
				}
			}
			if err := pc.Close(); err != nil {
				return err
			}
		}
		return nil
	}
}

func segmentWriter(addr, topic string) writer {
	return func(next func() (record, bool), acked func(record)) error {
		w := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, RequiredAcks: kafka.RequireAll, BatchBytes: valueMax,
			Compression: kafka.Snappy, AllowAutoTopicCreation: true, BatchTimeout: 5 * time.Millisecond,
			Completion: func(ms []kafka.Message, err error) {
				if err != nil {
					return // WriteMessages returns it too.
				}
				for _, m := range ms {
					acked(record{partition: int32(m.Partition), offset: m.Offset, key: string(m.Key)})
				}
			}}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var batch []kafka.Message
		flush := func() error {
			var err error
			// A topic that is made on demand is unknown to the first attempts.
			for range creationAttempts {
				err = w.WriteMessages(ctx, batch...)
				if !errors.Is(err, kafka.UnknownTopicOrPartition) {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			batch = batch[:0]
			return err
		}
		for r, ok := next(); ok; r, ok = next() {
			batch = append(batch, kafka.Message{Key: []byte(r.key), Value: r.value, Headers: []kafka.Header{{Key: "sha256", Value: []byte(r.hash)}}})
			if len(batch) == 500 {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return errors.Join(flush(), w.Close())
	}
}

func segmentReader(addr, topic string) reader {
	return func(add func(record)) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := kafka.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		partitions, err := conn.ReadPartitions(topic)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			if err := segmentPartition(ctx, addr, topic, p.ID, add); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		return conn.Close()
	}
}

func segmentPartition(ctx context.Context, addr, topic string, partition int, add func(record)) error {
	leader, err := kafka.DialLeader(ctx, "tcp", addr, topic, partition)
	if err != nil {
		return err
	}
	end, err := leader.ReadLastOffset()
	if err != nil {
		return err
	}
	if err := leader.Close(); err != nil {
		return err
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: partition, MinBytes: 1, MaxBytes: valueMax, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	for next := int64(0); next < end; {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return err
		}
		got := record{partition: int32(m.Partition), offset: m.Offset, key: string(m.Key), value: m.Value}
		for _, h := range m.Headers {
			got.hash = string(h.Value)
		}
		add(got)
		next = m.Offset + 1
	}
	return nil
}
