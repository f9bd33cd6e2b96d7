package telemetry

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestHashOrder: the order of Java's HashSet and ConcurrentHashMap, as Java 17 prints
// it, below and above the size at which the table grows.
func TestHashOrder(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"a", "a"},
		{"Aa BB", "Aa BB"}, // the same hash: as they came
		{"BB Aa", "BB Aa"},
		{"org.apache.kafka.producer. org.apache.kafka.consumer. org.apache.kafka.admin. org.apache.kafka.", "org.apache.kafka.producer. org.apache.kafka.consumer. org.apache.kafka. org.apache.kafka.admin."},
		{"a b c d e f g h i j k l m n o p q r s t u v w x y z", "a b c d e f g h i j k l m n o p q r s t u v w x y z"},
		{"metric-01 metric-02 metric-03 metric-04 metric-05 metric-06 metric-07 metric-08 metric-09 metric-10 metric-11 metric-12 metric-13", "metric-05 metric-06 metric-03 metric-04 metric-09 metric-07 metric-08 metric-01 metric-12 metric-02 metric-13 metric-10 metric-11"},
		{"ü 漢字 😀 a", "a 漢字 😀 ü"},
	} {
		if got := strings.Join(hashOrder(strings.Fields(c.names), itself), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.names, got, c.want)
		}
	}
}

// TestInstanceHash is Kafka's Uuid.hashCode.
func TestInstanceHash(t *testing.T) {
	if got := (InstanceID{1: 0xff, 15: 7}).hash(); got != 16711687 {
		t.Errorf("%d, want 16711687", got)
	}
}

// TestJavaAddress: the text that a match sees.
func TestJavaAddress(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "::1": "0:0:0:0:0:0:0:1", "2001:db8::a:0:1": "2001:db8:0:0:0:a:0:1",
	} {
		if got := javaAddress(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestProperties: what a match sees of a client.
func TestProperties(t *testing.T) {
	id := InstanceID{1: 0xff, 15: 7}
	told := Client{ID: "c", HasID: true, SoftwareName: "kgo", SoftwareVersion: "1.2", Address: netip.MustParseAddrPort("10.0.0.1:99")}
	for _, c := range []struct {
		client   Client
		property string
		want     string
		known    bool
	}{
		{told, "client_instance_id", "AP8AAAAAAAAAAAAAAAAABw", true},
		{told, "client_id", "c", true},
		{told, "client_software_name", "kgo", true},
		{told, "client_software_version", "1.2", true},
		{told, "client_source_address", "10.0.0.1", true},
		{told, "client_source_port", "99", true},
		{told, "no_such", "", false},
		{Client{}, "client_id", "", false},
		{Client{HasID: true}, "client_id", "", true},
		{Client{}, "client_software_name", "unknown", true},
		{Client{}, "client_software_version", "unknown", true},
	} {
		got, known := c.client.property(c.property, id)
		if got != c.want || known != c.known {
			t.Errorf("%s: %q %t, want %q %t", c.property, got, known, c.want, c.known)
		}
	}
	if _, known := (&Client{}).property("client_source_port", id); known {
		t.Error("a client without an address has a port")
	}
}

// TestWantedIsTheUnion of what matches, with the shortest interval; * is everything.
func TestWantedIsTheUnion(t *testing.T) {
	c := Client{ID: "c", HasID: true}
	img := image(map[string]map[string]string{
		"one":   {"metrics": "a.,b.", "interval.ms": "5000", "match": "client_id=c"},
		"two":   {"metrics": "b.,c.", "interval.ms": "9000"},
		"other": {"metrics": "d.", "interval.ms": "100", "match": "client_id=d"},
	})
	w := wantedOf(subscriptions(img), &c, InstanceID{1})
	slices.Sort(w.metrics)
	if !slices.Equal(w.metrics, []string{"a.", "b.", "c."}) || w.intervalMS != 5000 {
		t.Errorf("got %+v", w)
	}
	img = image(map[string]map[string]string{"one": {"metrics": "a.,b."}, "all": {"metrics": "*"}})
	if w = wantedOf(subscriptions(img), &c, InstanceID{1}); !slices.Equal(w.metrics, []string{"*"}) {
		t.Errorf("got %+v", w)
	}
	w = wantedOf(nil, &c, InstanceID{1})
	if len(w.metrics) != 0 || w.intervalMS != 300000 {
		t.Errorf("without subscriptions: %+v", w)
	}
}
