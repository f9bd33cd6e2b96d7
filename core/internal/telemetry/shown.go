package telemetry

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/metrics"
)

// Bounds of what is shown. A page of SeriesMax series has about 5 MB, and keeping them
// takes about 10 MB.
const (
	ShownMax    = 1000     // client instances
	SeriesOfOne = 2000     // of one of them
	SeriesMax   = 20000    // of all
	BytesMax    = 32 << 20 // that all take, about
)

// InfoName is the metric that has what is known of each client as its labels.
const InfoName = Prefix + "info"

// instanceLabel is the label that every series of a client has.
const instanceLabel = "client_instance_id"

// Shown are the numbers that clients pushed last. It is safe for concurrent use.
type Shown struct {
	clock clock.Clock

	pushes, numbers, skipped, dropped *metrics.Counter

	mu      sync.Mutex
	clients map[InstanceID]*shownClient // guarded by mu
	order   list.List                   // of *shownClient, who pushed last first; guarded by mu
	series  int                         // of all; guarded by mu
	bytes   int                         // that all series take; guarded by mu
}

// shownClient is what is kept of one instance.
type shownClient struct {
	id     InstanceID
	info   []metrics.Label // sorted
	series map[string]*series
	order  list.List // of *series, what was pushed last first
	until  time.Time
	place  *list.Element
}

// series is one number.
type series struct {
	key     string
	name    string
	labels  []metrics.Label // sorted
	counter bool
	value   float64
	place   *list.Element
}

// size is about what it takes in bytes: the texts twice, in the key and in the labels,
// and what holds them.
func (n *series) size() int { return 2*len(n.key) + 250 }

func newShown(c clock.Clock, r *metrics.Registry) *Shown {
	s := &Shown{clock: c, clients: map[InstanceID]*shownClient{}}
	s.pushes = r.Counter("mortise_telemetry_pushes_total", "Pushes of clients' metrics that were taken.")
	s.numbers = r.Counter("mortise_telemetry_points_total", "Numbers in pushes of clients' metrics.")
	s.skipped = r.Counter("mortise_telemetry_skipped_total", "Metrics of clients that are no gauges or sums, and numbers of a push over its bound: they are not shown.")
	s.dropped = r.Counter("mortise_telemetry_dropped_series_total", "Series of clients that made room for newer ones.")
	r.GaugeFunc("mortise_telemetry_series", "Series of clients that are shown.", s.count)
	return s
}

// count is the number of series.
func (s *Shown) count() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	return float64(s.series)
}

// take shows what a client pushed, for as long as it lives without another push.
func (s *Shown) take(c Client, id InstanceID, p *points, life time.Duration) {
	s.pushes.Add(1)
	s.numbers.Add(uint64(len(p.list)))
	s.skipped.Add(uint64(p.skipped))
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.client(id)
	x.info = infoLabels(c, id, p.resource)
	x.until = s.clock.Now().Add(life)
	for i := range p.list {
		s.put(x, &p.list[i])
	}
	for s.series > SeriesMax || s.bytes > BytesMax || len(s.clients) > ShownMax {
		oldest := s.order.Back().Value.(*shownClient)
		s.dropped.Add(uint64(len(oldest.series)))
		s.forget(oldest)
	}
}

// client finds or makes a client, and puts it first. Caller holds mu.
func (s *Shown) client(id InstanceID) *shownClient {
	x := s.clients[id]
	if x == nil {
		x = &shownClient{id: id, series: map[string]*series{}}
		x.place = s.order.PushFront(x)
		s.clients[id] = x
	}
	s.order.MoveToFront(x.place)
	return x
}

// put shows a number of a client. Caller holds mu.
func (s *Shown) put(x *shownClient, p *point) {
	name := metricName(p.name)
	if name == InfoName {
		return
	}
	labels := numberLabels(x.id, p.attributes)
	key := seriesKey(name, labels)
	n := x.series[key]
	if n == nil {
		if len(x.series) >= SeriesOfOne {
			s.drop(x, x.order.Back().Value.(*series))
			s.dropped.Add(1)
		}
		n = &series{key: key, name: name, labels: labels}
		n.place = x.order.PushFront(n)
		x.series[key] = n
		s.series++
		s.bytes += n.size()
	}
	x.order.MoveToFront(n.place)
	n.counter = p.counter
	if p.delta {
		n.value += p.value
	} else {
		n.value = p.value
	}
}

// drop takes a series away. Caller holds mu.
func (s *Shown) drop(x *shownClient, n *series) {
	x.order.Remove(n.place)
	delete(x.series, n.key)
	s.series--
	s.bytes -= n.size()
}

// forget takes a client away. Caller holds mu.
func (s *Shown) forget(x *shownClient) {
	s.series -= len(x.series)
	for _, n := range x.series {
		s.bytes -= n.size()
	}
	s.order.Remove(x.place)
	delete(s.clients, x.id)
}

// sweep forgets the clients that were silent for too long. Caller holds mu.
func (s *Shown) sweep() {
	now := s.clock.Now()
	for _, x := range s.clients {
		if !now.Before(x.until) {
			s.forget(x)
		}
	}
}

// Families are the numbers in the form of metrics: for each client InfoName with what
// is known of it, and its numbers, with its id and their attributes as labels.
func (s *Shown) Families() []metrics.Family {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	byName := map[string]*metrics.Family{}
	info := &metrics.Family{Name: InfoName, Help: "A client that pushes its metrics; what is known of it is in the labels.", Kind: metrics.KindGauge}
	for _, x := range s.clients {
		info.Series = append(info.Series, metrics.Series{Labels: x.info, Value: 1})
		for _, n := range x.series {
			f := byName[n.name]
			if f == nil {
				f = &metrics.Family{Name: n.name, Help: "As clients push it (KIP-714).", Kind: metrics.KindCounter}
				byName[n.name] = f
			}
			if !n.counter { // what only grows for all clients is a counter
				f.Kind = metrics.KindGauge
			}
			f.Series = append(f.Series, metrics.Series{Labels: n.labels, Value: n.value})
		}
	}
	if len(info.Series) == 0 {
		return nil
	}
	all := []metrics.Family{*info}
	for _, f := range byName {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b metrics.Family) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// seriesKey is one text for a name and its labels, which no other has: zero bytes stand
// between names, which have none, and before each value stands its length.
func seriesKey(name string, labels []metrics.Label) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range labels[1:] {
		b.WriteByte(0)
		b.WriteString(l.Name)
		b.WriteByte(0)
		b.WriteByte(byte(len(l.Value)))
		b.WriteString(l.Value)
	}
	return b.String()
}

// numberLabels are those of a number: the client's id first, then its attributes in
// the order of their names.
func numberLabels(id InstanceID, attributes []attribute) []metrics.Label {
	labels := make([]metrics.Label, 1, 1+len(attributes))
	labels[0] = metrics.Label{Name: instanceLabel, Value: id.String()}
	return addLabels(labels, attributes)
}

// infoLabels are those of a client.
func infoLabels(c Client, id InstanceID, resource []attribute) []metrics.Label {
	labels := []metrics.Label{
		{Name: instanceLabel, Value: id.String()},
		{Name: "client_id", Value: text([]byte(c.ID))},
		{Name: "client_software_name", Value: text([]byte(orUnknown(c.SoftwareName)))},
		{Name: "client_software_version", Value: text([]byte(orUnknown(c.SoftwareVersion)))},
		{Name: "client_source_address", Value: javaAddress(c.Address.Addr())},
	}
	return addLabels(labels, resource)
}

// addLabels adds attributes behind the labels that are there; of several with one
// name the first counts. Those behind are in the order of their names.
func addLabels(labels []metrics.Label, attributes []attribute) []metrics.Label {
	own := len(labels)
	for _, a := range attributes {
		name := labelName(a.name)
		if name == "" || slices.ContainsFunc(labels, func(l metrics.Label) bool { return l.Name == name }) {
			continue
		}
		labels = append(labels, metrics.Label{Name: name, Value: a.value})
	}
	slices.SortFunc(labels[own:], func(a, b metrics.Label) int { return cmp.Compare(a.Name, b.Name) })
	return labels
}
