package broker

import (
	"net"
	"strings"
	"testing"
)

func TestUnspecifiedAddressIsNotAdvertised(t *testing.T) {
	for _, l := range []Listener{
		{Name: "PLAINTEXT", Address: "0.0.0.0:9092"},
		{Name: "PLAINTEXT", Address: ":9092"},
		{Name: "PLAINTEXT", Address: "[::]:9092"},
		{Name: "PLAINTEXT", Address: "127.0.0.1:9092", AdvertisedHost: "0.0.0.0", AdvertisedPort: 9092},
	} {
		err := checkListeners([]Listener{l})
		if err == nil || !strings.Contains(err.Error(), "for example broker1.example.com:9092") {
			t.Errorf("%+v: %v, want a refusal with an example", l, err)
		}
	}
	if err := checkListeners([]Listener{{Name: "PLAINTEXT", Address: "0.0.0.0:9092", AdvertisedHost: "broker1", AdvertisedPort: 9092}}); err != nil {
		t.Errorf("all interfaces with an advertised name: %v, want no error", err)
	}
}

func TestEndpointTakesTheBoundPort(t *testing.T) {
	bound := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40123}
	e, err := Listener{Name: "L", Address: "localhost:0"}.endpoint(bound)
	if err != nil || e.Host != "localhost" || e.Port != 40123 {
		t.Errorf("endpoint %+v (%v), want localhost:40123", e, err)
	}
	e, err = Listener{Name: "L", Address: "0.0.0.0:0", AdvertisedHost: "b1", AdvertisedPort: 19092}.endpoint(bound)
	if err != nil || e.Host != "b1" || e.Port != 19092 {
		t.Errorf("endpoint %+v (%v), want b1:19092", e, err)
	}
}
