package metadata

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// snapshotMagic and snapshotVersion start every snapshot.
const (
	snapshotMagic   = "MRTSNAP"
	snapshotVersion = 1
)

// snapshotHeader is the first item.
type snapshotHeader struct {
	Index          uint64           `cbor:"1,keyasint"`
	ClusterID      string           `cbor:"2,keyasint"`
	NextProducerID kafka.ProducerID `cbor:"3,keyasint"`
	Brokers        int              `cbor:"4,keyasint"`
	Features       int              `cbor:"5,keyasint"`
	Configs        int              `cbor:"6,keyasint"`
	Topics         int              `cbor:"7,keyasint"`
	ACLs           int              `cbor:"8,keyasint,omitempty"`
	ACLEpoch       uint64           `cbor:"9,keyasint,omitempty"`
	Plugins        int              `cbor:"10,keyasint,omitempty"`
	PluginEpoch    uint64           `cbor:"11,keyasint,omitempty"`
	Founding       string           `cbor:"12,keyasint,omitempty"`
}

// Items of a snapshot: the nouns of meta with numbered fields.
type (
	snapshotBroker struct {
		ID        kafka.BrokerID    `cbor:"1,keyasint"`
		Epoch     kafka.BrokerEpoch `cbor:"2,keyasint"`
		Rack      string            `cbor:"3,keyasint,omitempty"`
		Endpoints []Endpoint        `cbor:"4,keyasint,omitempty"`
		Fenced    bool              `cbor:"5,keyasint,omitempty"`
		LogDirs   []kafka.TopicID   `cbor:"6,keyasint,omitempty"`

		ShuttingDown bool   `cbor:"7,keyasint,omitempty"`
		Peer         string `cbor:"8,keyasint,omitempty"`
		MinISR       int    `cbor:"9,keyasint,omitempty"`
		Unclean      bool   `cbor:"10,keyasint,omitempty"`
		Attempt      uint64 `cbor:"11,keyasint,omitempty"`
		Full         bool   `cbor:"12,keyasint,omitempty"`
	}
	snapshotFeature struct {
		Name  string `cbor:"1,keyasint"`
		Level int16  `cbor:"2,keyasint"`
	}
	snapshotConfig struct {
		Type   meta.ResourceType `cbor:"1,keyasint"`
		Name   string            `cbor:"2,keyasint"`
		Values map[string]string `cbor:"3,keyasint"`
	}
	snapshotTopic struct {
		Name       string              `cbor:"1,keyasint"`
		ID         kafka.TopicID       `cbor:"2,keyasint"`
		Partitions []snapshotPartition `cbor:"3,keyasint"`
	}
	snapshotPlugin struct {
		Name    string `cbor:"1,keyasint"`
		Spec    string `cbor:"2,keyasint"`
		Changed uint64 `cbor:"3,keyasint"`
	}
	snapshotPartition struct {
		Replicas        []kafka.BrokerID     `cbor:"1,keyasint"`
		ISR             []kafka.BrokerID     `cbor:"2,keyasint,omitempty"`
		Leader          kafka.BrokerID       `cbor:"3,keyasint"`
		LeaderEpoch     kafka.LeaderEpoch    `cbor:"4,keyasint,omitempty"`
		PartitionEpoch  kafka.PartitionEpoch `cbor:"5,keyasint,omitempty"`
		ELR             []kafka.BrokerID     `cbor:"6,keyasint,omitempty"`
		LastKnownLeader kafka.BrokerID       `cbor:"7,keyasint"`
		Adding          []kafka.BrokerID     `cbor:"8,keyasint,omitempty"`
		Removing        []kafka.BrokerID     `cbor:"9,keyasint,omitempty"`
		Recovering      bool                 `cbor:"10,keyasint,omitempty"`
	}
)

// WriteSnapshot writes the image. It holds one topic at a time in memory beside
// a buffer.
func WriteSnapshot(w io.Writer, i *meta.Image) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	if _, err := buffered.WriteString(snapshotMagic + string(rune(snapshotVersion))); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := writeItems(modes().enc.NewEncoder(buffered), i); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// writeItems writes everything after the magic.
func writeItems(enc *cbor.Encoder, i *meta.Image) error {
	brokers := slices.SortedFunc(i.Brokers(), func(a, b *meta.Broker) int { return cmp.Compare(a.ID, b.ID) })
	features := slices.Sorted(maps.Keys(i.Features()))
	configs := slices.SortedFunc(i.ConfigResources(), func(a, b meta.Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	errs := enc.Encode(snapshotHeader{Index: i.Index, ClusterID: i.ClusterID, NextProducerID: i.NextProducerID,
		Brokers: len(brokers), Features: len(features), Configs: len(configs), Topics: i.TopicCount(),
		ACLs: i.ACLCount(), ACLEpoch: i.ACLEpoch, Plugins: i.PluginCount(), PluginEpoch: i.PluginEpoch, Founding: i.Founding})
	write := func(item any) bool {
		if errs == nil {
			errs = enc.Encode(item)
		}
		return errs == nil
	}
	for _, b := range brokers {
		write(snapshotBroker{b.ID, b.Epoch, b.Rack, mapped(b.Endpoints, fromEndpoint), b.Fenced, b.LogDirs,
			b.ShuttingDown, b.Peer, b.MinISR, b.Unclean, b.Attempt, b.Full})
	}
	for _, name := range features {
		write(snapshotFeature{name, i.Features()[name]})
	}
	for _, r := range configs {
		write(snapshotConfig{r.Type, r.Name, i.Config(r)})
	}
	for t := range i.Topics() {
		if !write(fromTopic(t)) {
			break
		}
	}
	for r := range i.ACLs() {
		if !write(ACL(r)) {
			break
		}
	}
	for p := range i.Plugins() {
		if !write(snapshotPlugin(*p)) {
			break
		}
	}
	return errs
}

// ReadSnapshot reads what WriteSnapshot wrote, to its end. Errors wrap
// ErrCorrupt or ErrNewer, and their cause, which may be an error of r.
func ReadSnapshot(r io.Reader) (*meta.Image, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var head [len(snapshotMagic) + 1]byte
	if _, err := io.ReadFull(buffered, head[:]); err != nil {
		return nil, snapshotError("magic", err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: snapshot starts with %q, want %q", ErrCorrupt, head[:len(snapshotMagic)], snapshotMagic)
	}
	if v := head[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("%w: snapshot version %d, want %d", ErrNewer, v, snapshotVersion)
	}
	return readItems(modes().dec.NewDecoder(buffered))
}

// readItems reads everything after the magic.
func readItems(dec *cbor.Decoder) (*meta.Image, error) {
	var h snapshotHeader
	if err := dec.Decode(&h); err != nil {
		return nil, snapshotError("header", err)
	}
	image := meta.Empty(h.ClusterID)
	if h.Index == 0 {
		return image, readEnd(dec)
	}
	e := image.Edit(h.Index)
	e.SetClusterID(h.ClusterID, h.Founding)
	e.SetNextProducerID(h.NextProducerID)
	for n := range h.Brokers {
		var b snapshotBroker
		if err := dec.Decode(&b); err != nil {
			return nil, snapshotError(fmt.Sprintf("broker %d of %d", n, h.Brokers), err)
		}
		e.PutBroker(&meta.Broker{ID: b.ID, Epoch: b.Epoch, Rack: b.Rack, Endpoints: mapped(b.Endpoints, toEndpoint), Fenced: b.Fenced, LogDirs: b.LogDirs,
			ShuttingDown: b.ShuttingDown, Peer: b.Peer, MinISR: b.MinISR, Unclean: b.Unclean, Attempt: b.Attempt, Full: b.Full})
	}
	for n := range h.Features {
		var f snapshotFeature
		if err := dec.Decode(&f); err != nil {
			return nil, snapshotError(fmt.Sprintf("feature %d of %d", n, h.Features), err)
		}
		e.SetFeature(f.Name, f.Level)
	}
	for n := range h.Configs {
		var c snapshotConfig
		if err := dec.Decode(&c); err != nil {
			return nil, snapshotError(fmt.Sprintf("config %d of %d", n, h.Configs), err)
		}
		e.SetConfig(meta.Resource{Type: c.Type, Name: c.Name}, c.Values)
	}
	for n := range h.Topics {
		var t snapshotTopic
		if err := dec.Decode(&t); err != nil {
			return nil, snapshotError(fmt.Sprintf("topic %d of %d", n, h.Topics), err)
		}
		e.PutTopic(toTopic(&t))
	}
	for n := range h.ACLs {
		var a ACL
		if err := dec.Decode(&a); err != nil {
			return nil, snapshotError(fmt.Sprintf("access rule %d of %d", n, h.ACLs), err)
		}
		e.PutACL(auth.Rule(a))
	}
	e.SetACLEpoch(h.ACLEpoch)
	for n := range h.Plugins {
		var p snapshotPlugin
		if err := dec.Decode(&p); err != nil {
			return nil, snapshotError(fmt.Sprintf("plugin %d of %d", n, h.Plugins), err)
		}
		e.PutPlugin((*meta.PluginEntry)(&p))
	}
	e.SetPluginEpoch(h.PluginEpoch)
	return e.Image(), readEnd(dec)
}

// readEnd makes sure that nothing follows: a header with too small counts would
// lose topics without a word.
func readEnd(dec *cbor.Decoder) error {
	var extra cbor.RawMessage
	switch err := dec.Decode(&extra); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return snapshotError("end", err)
	}
	return fmt.Errorf("%w: snapshot goes on after its last item", ErrCorrupt)
}

// snapshotError says where reading stopped and why.
func snapshotError(where string, err error) error {
	return fmt.Errorf("%w: snapshot %s: %w", unreadable(err), where, err)
}
