package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestClusterIsTold(t *testing.T) {
	url := serve(t, Options{Cluster: func() Cluster {
		return Cluster{ClusterID: "c", Broker: 1, Raft: Raft{State: "leader", Leader: 1}, Nodes: []Node{{ID: 1, State: NodeActive, HeartbeatAgeMS: -1}}}
	}})
	status, body := get(t, url+"/v1/cluster")
	if status != http.StatusOK || !strings.Contains(body, `"state": "active"`) || strings.Contains(body, "gossip\": {") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := get(t, serve(t, Options{})+"/v1/cluster"); status != http.StatusNotFound {
		t.Errorf("a broker that knows nothing: %d", status)
	}
}

// Who takes a node out of service needs the token, as for every change.
func TestNodesAreDrained(t *testing.T) {
	var asked []string
	url := serve(t, Options{Token: token, Drain: func(_ context.Context, node int32, undo bool) (Drained, error) {
		asked = append(asked, fmt.Sprint(node, undo))
		switch node {
		case 8:
			return Drained{}, fmt.Errorf("%w: 8", ErrNoNode)
		case 9:
			return Drained{}, errors.New("no majority")
		}
		return Drained{Broker: node, Leaders: 3}, nil
	}})
	alone := serve(t, Options{Token: token})
	stranger := func(q *http.Request) { q.Header.Del("Authorization") }
	for _, c := range []struct {
		url, body string
		edit      func(*http.Request)
		status    int
		want      string
	}{
		{url + "/v1/cluster/drain", `{"broker": 2}`, nil, 200, `"leaders": 3`},
		{url + "/v1/cluster/undrain", `{"broker": 2}`, nil, 200, `"broker": 2`},
		{url + "/v1/cluster/drain", `{"broker": 8}`, nil, 404, "no such node"},
		{url + "/v1/cluster/drain", `{"broker": 9}`, nil, 503, "no majority"},
		{url + "/v1/cluster/drain", `{"broker": 2}`, stranger, 401, "token"},
		{url + "/v1/cluster/drain", ``, nil, 400, "broker"},
		{url + "/v1/cluster/drain", `{"node": 2}`, nil, 400, "broker"},
		{url + "/v1/cluster/drain", `{"broker": 99999999999}`, nil, 400, "broker"},
		{alone + "/v1/cluster/drain", `{"broker": 2}`, nil, 404, "alone"},
	} {
		if status, body := post(t, c.url, c.body, c.edit); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d with %q", c.url, c.body, status, body, c.status, c.want)
		}
	}
	if want := []string{"2 false", "2 true", "8 false", "9 false"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
