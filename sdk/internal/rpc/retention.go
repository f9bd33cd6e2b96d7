package rpc

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// retentionClient is a storage.Retention behind a connection.
type retentionClient struct {
	c             *Client
	id            string
	tellCommitted bool
	tellTopics    bool
	services      pluginpb.RetentionClient
}

func newRetention(c *Client, id string, d plugin.Description) *retentionClient {
	return &retentionClient{
		c: c, id: id, tellCommitted: d.Has(storage.FeatureCommitted), tellTopics: d.Has(storage.FeatureTopics),
		services: pluginpb.NewRetentionClient(c.conn),
	}
}

// Decide implements storage.Retention.
func (r *retentionClient) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	q, err := r.request(logs)
	if err != nil {
		return nil, err
	}
	a, err := ask(ctx, callTimeout, r.services.Decide, q, grpc.MaxCallRecvMsgSize(maxVerdictsBytes))
	if err != nil {
		return nil, err
	}
	return verdicts(logs, a.Verdicts)
}

// request is a question as a message.
func (r *retentionClient) request(logs []storage.LogFacts) (*pluginpb.DecideRequest, error) {
	segments := 0
	for i := range logs {
		segments += len(logs[i].Segments)
	}
	if len(logs) > storage.MaxLogs || segments > storage.MaxSegments {
		return nil, tooLarge("%d logs with %d segments: at most %d with %d", len(logs), segments, storage.MaxLogs, storage.MaxSegments)
	}
	if len(logs) > 0 && len(logs[0].Topics) > storage.MaxTopics {
		return nil, tooLarge("%d topics: at most %d", len(logs[0].Topics), storage.MaxTopics)
	}
	q := &pluginpb.DecideRequest{Meta: r.c.meta(r.id), Logs: make([]*pluginpb.LogFacts, len(logs))}
	for i := range logs {
		q.Logs[i] = factsMessage(&logs[i], r.tellCommitted)
	}
	if r.tellTopics && len(logs) > 0 { // the same in every log
		q.Topics = make([]*pluginpb.TopicBytes, len(logs[0].Topics))
		for i, t := range logs[0].Topics {
			q.Topics[i] = &pluginpb.TopicBytes{Topic: sendable(t.Topic), Bytes: t.Bytes}
		}
	}
	return q, nil
}

func factsMessage(l *storage.LogFacts, tellCommitted bool) *pluginpb.LogFacts {
	m := &pluginpb.LogFacts{
		Topic: sendable(l.Topic), Partition: l.Partition, LeaderEpoch: l.LeaderEpoch, NowMs: l.NowMS,
		LogStart: l.LogStart, HighWatermark: l.HighWatermark, LastStable: l.LastStable,
		RetentionMs: l.RetentionMS, RetentionBytes: l.RetentionBytes,
		DiskFree: l.DiskFree, DiskTotal: l.DiskTotal, Segments: make([]*pluginpb.SegmentFacts, len(l.Segments)),
	}
	for i, s := range l.Segments {
		m.Segments[i] = &pluginpb.SegmentFacts{
			BaseOffset: s.BaseOffset, NextOffset: s.NextOffset, Bytes: s.Bytes,
			MaxTimestampMs: s.MaxTimestampMS, ModifiedMs: s.ModifiedMS, Active: s.Active,
		}
	}
	if len(l.Config) > 0 {
		m.Config = make(map[string]string, len(l.Config))
		for key, value := range l.Config {
			m.Config[sendable(key)] = sendable(value)
		}
	}
	if tellCommitted {
		for _, c := range l.Committed {
			if utf8.ValidString(c.Group) { // no plugin can name another
				m.Committed = append(m.Committed, &pluginpb.GroupOffset{Group: c.Group, Offset: c.Offset})
			}
		}
	}
	return m
}

// logID names a log of a question.
type logID struct {
	topic     string
	partition int32
}

// verdicts checks an answer. One verdict that breaks a rule spoils all: a plugin that
// is wrong about one log is not believed about others, and without a verdict
// everything stays.
func verdicts(logs []storage.LogFacts, messages []*pluginpb.LogVerdict) ([]storage.Verdict, error) {
	if len(messages) > len(logs) {
		return nil, badAnswer("%d verdicts for %d logs", len(messages), len(logs))
	}
	asked := make(map[logID]*storage.LogFacts, len(logs))
	for i := range logs {
		asked[logID{logs[i].Topic, logs[i].Partition}] = &logs[i]
	}
	all := make([]storage.Verdict, len(messages))
	for i, m := range messages {
		id := logID{m.GetTopic(), m.GetPartition()}
		l := asked[id]
		switch {
		case l == nil:
			return nil, badAnswer("a verdict for a log that was not asked for, or a second one: %s-%d", plainText(id.topic, 64), id.partition)
		case m.GetLeaderEpoch() != l.LeaderEpoch:
			return nil, badAnswer("a verdict for epoch %d of %s-%d, asked with %d", m.GetLeaderEpoch(), l.Topic, l.Partition, l.LeaderEpoch)
		case m.GetDeleteOldest() < 0 || int(m.GetDeleteOldest()) > len(l.Segments):
			return nil, badAnswer("delete %d of %d segments of %s-%d", m.GetDeleteOldest(), len(l.Segments), l.Topic, l.Partition)
		}
		delete(asked, id)
		all[i] = storage.Verdict{
			Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch,
			DeleteOldest: int(m.GetDeleteOldest()), Reason: plainText(m.GetReason(), storage.MaxReasonBytes),
		}
	}
	return all, nil
}

// retentionServer answers for instances of retention plugins.
type retentionServer struct {
	pluginpb.UnimplementedRetentionServer
	s *Server
}

// Decide implements pluginpb.RetentionServer.
func (r *retentionServer) Decide(ctx context.Context, q *pluginpb.DecideRequest) (*pluginpb.DecideResponse, error) {
	a := &pluginpb.DecideResponse{}
	err := with(r.s, q.GetMeta(), func(contract storage.Retention) error {
		logs, err := logsOf(q)
		if err != nil {
			return err
		}
		all, err := contract.Decide(ctx, logs)
		if err != nil {
			return err
		}
		a.Verdicts, err = verdictMessages(all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// logsOf checks a message and makes a question of it.
func logsOf(q *pluginpb.DecideRequest) ([]storage.LogFacts, error) {
	segments := 0
	for _, m := range q.GetLogs() {
		segments += len(m.GetSegments())
	}
	if len(q.GetLogs()) > storage.MaxLogs || segments > storage.MaxSegments {
		return nil, badQuestion("%d logs with %d segments", len(q.GetLogs()), segments)
	}
	var topics []storage.TopicBytes
	for _, t := range q.GetTopics() {
		topics = append(topics, storage.TopicBytes{Topic: t.GetTopic(), Bytes: t.GetBytes()})
	}
	logs := make([]storage.LogFacts, len(q.GetLogs()))
	for i, m := range q.GetLogs() {
		logs[i] = factsOf(m)
		logs[i].Topics = topics
	}
	return logs, nil
}

func factsOf(m *pluginpb.LogFacts) storage.LogFacts {
	l := storage.LogFacts{
		Topic: m.GetTopic(), Partition: m.GetPartition(), LeaderEpoch: m.GetLeaderEpoch(), NowMS: m.GetNowMs(),
		LogStart: m.GetLogStart(), HighWatermark: m.GetHighWatermark(), LastStable: m.GetLastStable(),
		RetentionMS: m.GetRetentionMs(), RetentionBytes: m.GetRetentionBytes(), Config: m.GetConfig(),
		DiskFree: m.GetDiskFree(), DiskTotal: m.GetDiskTotal(), Segments: make([]storage.SegmentFacts, len(m.GetSegments())),
	}
	for i, s := range m.GetSegments() {
		l.Segments[i] = storage.SegmentFacts{
			BaseOffset: s.GetBaseOffset(), NextOffset: s.GetNextOffset(), Bytes: s.GetBytes(),
			MaxTimestampMS: s.GetMaxTimestampMs(), ModifiedMS: s.GetModifiedMs(), Active: s.GetActive(),
		}
	}
	for _, c := range m.GetCommitted() {
		l.Committed = append(l.Committed, storage.GroupOffset{Group: c.GetGroup(), Offset: c.GetOffset()})
	}
	return l
}

func verdictMessages(all []storage.Verdict) ([]*pluginpb.LogVerdict, error) {
	messages := make([]*pluginpb.LogVerdict, len(all))
	for i, v := range all {
		if v.DeleteOldest < 0 || v.DeleteOldest > math.MaxInt32 || !utf8.ValidString(v.Topic) {
			return nil, fmt.Errorf("%w: delete %d segments of %q", plugin.ErrBadAnswer, v.DeleteOldest, plainText(v.Topic, 64))
		}
		messages[i] = &pluginpb.LogVerdict{
			Topic: v.Topic, Partition: v.Partition, LeaderEpoch: v.LeaderEpoch,
			DeleteOldest: int32(v.DeleteOldest), Reason: plainText(v.Reason, storage.MaxReasonBytes),
		}
	}
	return messages, nil
}

var _ storage.Retention = (*retentionClient)(nil)
