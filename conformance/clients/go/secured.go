package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	segmentplain "github.com/segmentio/kafka-go/sasl/plain"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Exit codes of a client that is refused.
const (
	denied  = 3
	noLogin = 4
)

// refusal is why a client that logs in is refused.
type refusal struct {
	code int
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }

// recordPause is between two records.
const recordPause = 50 * time.Millisecond

// secured logs in and writes records one by one: ADDRESS USER PASSWORD TOPIC COUNT.
func secured(client string, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want ADDRESS USER PASSWORD TOPIC COUNT")
	}
	count, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	makers := map[string]func(addr, user, password, topic string) (write func(string) error, done func(), err error){
		"kgo": kgoSecured, "sarama": saramaSecured, "kafka-go": segmentSecured}
	if makers[client] == nil {
		return fmt.Errorf("no client is called %q", client)
	}
	write, done, err := makers[client](args[0], args[1], args[2], args[3])
	if err != nil {
		return refused(err)
	}
	defer done()
	for n := range count {
		if err := write(fmt.Sprintf("record %d", n)); err != nil {
			return refused(err)
		}
		fmt.Println("record", n)
		time.Sleep(recordPause)
	}
	return nil
}

// refused sorts what each client calls a refusal.
func refused(err error) error {
	for _, e := range []error{kerr.SaslAuthenticationFailed, sarama.ErrSASLAuthenticationFailed, kafka.SASLAuthenticationFailed} {
		if errors.Is(err, e) {
			return &refusal{noLogin, err}
		}
	}
	for _, e := range []error{kerr.TopicAuthorizationFailed, sarama.ErrTopicAuthorizationFailed, kafka.TopicAuthorizationFailed} {
		if errors.Is(err, e) {
			return &refusal{denied, err}
		}
	}
	return err
}

func kgoSecured(addr, user, password, topic string) (func(string) error, func(), error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()), kgo.RecordDeliveryTimeout(patience/10))
	if err != nil {
		return nil, nil, err
	}
	if err := c.Ping(context.Background()); err != nil {
		c.Close()
		return nil, nil, err
	}
	return func(value string) error {
		return c.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	}, c.Close, nil
}

func saramaSecured(addr, user, password, topic string) (func(string) error, func(), error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	config.Producer.Return.Successes = true
	config.Net.SASL.Enable, config.Net.SASL.User, config.Net.SASL.Password = true, user, password
	p, err := sarama.NewSyncProducer([]string{addr}, config)
	if err != nil {
		return nil, nil, err
	}
	return func(value string) error {
		_, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
		return err
	}, func() { _ = p.Close() }, nil
}

func segmentSecured(addr, user, password, topic string) (func(string) error, func(), error) {
	w := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, BatchSize: 1, RequiredAcks: kafka.RequireAll, MaxAttempts: 3,
		Transport: &kafka.Transport{SASL: segmentplain.Mechanism{Username: user, Password: password}}}
	return func(value string) error {
		return w.WriteMessages(context.Background(), kafka.Message{Value: []byte(value)})
	}, func() { _ = w.Close() }, nil
}
