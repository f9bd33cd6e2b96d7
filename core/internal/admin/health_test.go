package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A broken disk with any number of partitions must not make the answer endless, and its
// size must still be told.
func TestHealthTellsProblemsUpToABound(t *testing.T) {
	healthy := true
	url := serve(t, Options{Health: func() Health {
		h := Health{State: "running", Ready: true, LogDirs: []LogDir{{Path: "/d", TotalBytes: 10, AvailableBytes: 5}}}
		if !healthy {
			for i := range ProblemsMax + 20 {
				h.Add("offline-partition", fmt.Sprint("t-", i), "look")
			}
		}
		return h
	}})
	status, body := get(t, url+"/v1/health")
	if status != http.StatusOK || !strings.Contains(body, `"problems": []`) {
		t.Errorf("healthy: %d %s", status, body)
	}
	healthy = false
	status, body = get(t, url+"/v1/health")
	var h Health
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusServiceUnavailable || len(h.Problems) != ProblemsMax || h.ProblemsTotal != ProblemsMax+20 {
		t.Errorf("%d, %d problems of %d", status, len(h.Problems), h.ProblemsTotal)
	}
}

func TestTopicIsToldByName(t *testing.T) {
	url := serve(t, Options{Topic: func(name string) (Topic, bool) {
		return Topic{Topic: name, Partitions: []TopicPartition{{Partition: 3, Segments: 7, Cleaner: &Cleaner{CleanedTo: -1, Failed: "bad"}}}}, name == "a.b"
	}})
	status, body := get(t, url+"/v1/topics/a.b")
	if status != http.StatusOK || !strings.Contains(body, `"segments": 7`) || !strings.Contains(body, `"failed": "bad"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, url+"/v1/topics/nosuch"); status != http.StatusNotFound || !strings.Contains(body, `"error"`) {
		t.Errorf("no such topic: %d %s", status, body)
	}
}

func TestLagsAreOnMetrics(t *testing.T) {
	url := serve(t, Options{Lags: func() Lags {
		return Lags{Pairs: []GroupLag{{Group: "a \"b\"\n", Topic: "t", Records: 40}}, Hidden: 3, Unknown: 2}
	}})
	_, body := get(t, url+"/metrics")
	for _, want := range []string{`mortise_group_lag_records{group="a \"b\"\n",topic="t"} 40`, "mortise_group_lag_hidden_pairs 3", "mortise_group_lag_unknown_partitions 2"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
}
