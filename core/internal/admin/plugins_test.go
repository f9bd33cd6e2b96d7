package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// desk is Plugins with one entry. It notes what it was asked to change.
type desk struct {
	mu    sync.Mutex
	asked []string
	err   error
	enter chan struct{} // told when a change begins; nil: nobody is
	leave chan struct{} // a change ends when it is closed; nil: at once
}

func (d *desk) List() PluginList {
	return PluginList{ClusterID: "c", Platform: pluginhost.Platform(), Builtins: []plugin.Description{}, Plugins: []Plugin{{
		Status: pluginhost.Status{Name: "users", Kind: plugin.Authenticator, State: pluginhost.Serving, Generation: 3},
		From:   FromCluster, Changed: 7, UsedBy: []string{"listener SASL"},
		Entry: &pluginhost.Spec{Name: "users", Kind: plugin.Authenticator, Path: "/p", Enabled: true,
			Config: json.RawMessage(`{"secret":"s3cret"}`), Args: []string{"s3cret"}, Env: map[string]string{"KEY": "s3cret"}},
	}}}
}

func (d *desk) Logs(name string) ([]pluginhost.Line, error) {
	if name != "users" {
		return nil, pluginhost.ErrNotFound
	}
	return []pluginhost.Line{{Generation: 3, Text: "hello"}}, nil
}

func (d *desk) Metrics(_ context.Context, name string) ([]byte, error) {
	switch name {
	case "users":
		return []byte("logins_total 7\n"), nil
	case "bare":
		return nil, plugin.ErrUnsupported
	case "down":
		return nil, pluginhost.ErrUnavailable
	}
	return nil, pluginhost.ErrNotFound
}

func (d *desk) Change(_ context.Context, name string, action PluginAction, ask PluginAsk) (PluginOutcome, error) {
	if d.enter != nil {
		d.enter <- struct{}{}
		<-d.leave
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, fmt.Sprintf("%s %s %s", name, action, ask.Entry))
	if d.err != nil {
		return PluginOutcome{}, d.err
	}
	return PluginOutcome{Plugin: &d.List().Plugins[0]}, nil
}

const token = "t0ken"

// withDesk are options with plugins.
func withDesk(d *desk) Options {
	return Options{Plugins: func() Plugins { return d }, Token: token, TokenFile: "/data/admin.token", Address: "broker1.example.com:9644"}
}

// post asks for a change with what is in order, after edit made it another request.
func post(t *testing.T, url, body string, edit func(*http.Request)) (status int, answer string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	if edit != nil {
		edit(q)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestPluginPages(t *testing.T) {
	url := serve(t, withDesk(&desk{}))
	for path, want := range map[string]string{
		"/v1/plugins": `"token_file": "/data/admin.token"`, "/v1/plugins/users": `"used_by": [`, "/v1/plugins/users/logs": `"text": "hello"`,
		"/v1/plugins/users/metrics": "logins_total 7\n",
	} {
		status, body := get(t, url+path)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q in\n%s", path, status, want, body)
		}
		if strings.Contains(body, "s3cret") || strings.Contains(body, token) {
			t.Errorf("%s shows a secret:\n%s", path, body)
		}
	}
	_, body := get(t, url+"/v1/plugins/users")
	var one Plugin
	if err := json.Unmarshal([]byte(body), &one); err != nil || one.Name != "users" || one.Changed != 7 || !one.Serves() || one.Entry.Env["KEY"] != masked {
		t.Errorf("%v in %s", err, body)
	}
	for _, path := range []string{"/v1/plugins/nosuch", "/v1/plugins/nosuch/logs", "/v1/plugins/nosuch/metrics", "/v1/plugins/bare/metrics", "/v1/plugins/users/nosuch", "/v1/plugins/" + strings.Repeat("x", 4000)} {
		if status, body := get(t, url+path); status != http.StatusNotFound && status != http.StatusMethodNotAllowed || len(body) > 1000 {
			t.Errorf("%.40s: %d, %d bytes", path, status, len(body))
		}
	}
	if status, body := get(t, url+"/v1/plugins/down/metrics"); status != http.StatusServiceUnavailable || !strings.Contains(body, pluginhost.ErrUnavailable.Error()) {
		t.Errorf("metrics of one that is down: %d %s", status, body)
	}
	early := serve(t, Options{Plugins: func() Plugins { return nil }, Token: token})
	if status, body := get(t, early+"/v1/plugins"); status != http.StatusServiceUnavailable || !strings.Contains(body, "/readyz") {
		t.Errorf("before the start: %d %s", status, body)
	}
}

// Whoever changes plugins runs code as the broker: nothing that a browser, another
// site's page or a user without the token can send is taken, and nothing of it reaches
// the broker.
func TestStrangersChangeNothing(t *testing.T) {
	d := &desk{}
	url := serve(t, withDesk(d))
	header := func(name, value string) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(q *http.Request) { q.Host = name } }
	for says, c := range map[string]struct {
		edit   func(*http.Request)
		status int
		want   string
	}{
		"no token":            {header("Authorization", ""), 401, "/data/admin.token"},
		"another token":       {header("Authorization", "Bearer t0keN"), 401, "admin.token"},
		"a longer token":      {header("Authorization", "Bearer t0kent"), 401, "admin.token"},
		"another scheme":      {header("Authorization", "Basic t0ken"), 401, "admin.token"},
		"a form":              {header("Content-Type", "application/x-www-form-urlencoded"), 415, "application/json"},
		"text":                {header("Content-Type", "text/plain"), 415, "application/json"},
		"no type":             {header("Content-Type", ""), 415, "application/json"},
		"json in disguise":    {header("Content-Type", "text/plain; a=application/json"), 415, "application/json"},
		"a page":              {header("Origin", "http://127.0.0.1:9644"), 403, "browsers"},
		"a sandboxed page":    {header("Origin", "null"), 403, "browsers"},
		"a browser":           {header("Sec-Fetch-Site", "same-origin"), 403, "browsers"},
		"a rebound name":      {host("evil.example.com:9644"), 403, "no address of this listener"},
		"a name that is near": {host("localhost.evil.example.com"), 403, "no address of this listener"},
		"no name":             {host(":9644"), 403, "no address of this listener"},
	} {
		status, body := post(t, url+"/v1/plugins/users/remove", `{}`, c.edit)
		if status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, token) {
			t.Errorf("%s: %d %s; want %d with %q", says, status, body, c.status, c.want)
		}
	}
	for _, body := range []string{`{`, `[]`, `{} {}`, `{"entrie": {}}`, `{"changed": -1}`, `{"changed": "7"}`, `{"entry": "` + strings.Repeat("x", bodyBytesMax) + `"}`} {
		if status, answer := post(t, url+"/v1/plugins/users/upgrade", body, nil); status != http.StatusBadRequest {
			t.Errorf("%.40s: %d %s, want 400", body, status, answer)
		}
	}
	if status, body := post(t, url+"/v1/plugins/users/explode", `{}`, nil); status != http.StatusNotFound {
		t.Errorf("an action that there is not: %d %s", status, body)
	}
	closed := serve(t, Options{Plugins: func() Plugins { return d }})
	if status, body := post(t, closed+"/v1/plugins/users/remove", `{}`, func(q *http.Request) { q.Header.Set("Authorization", "Bearer ") }); status != http.StatusForbidden {
		t.Errorf("a broker without a token: %d %s, want 403", status, body)
	}
	if len(d.asked) > 0 {
		t.Errorf("the broker was asked for %q", d.asked)
	}
}

func TestChangesAreMade(t *testing.T) {
	d := &desk{}
	url := serve(t, withDesk(d))
	var want []string
	for _, name := range []string{"127.0.0.1:9644", "localhost:1", "LOCALHOST", "[::1]:9644", "192.0.2.7", "broker1.example.com:9644"} {
		status, body := post(t, url+"/v1/plugins/users/upgrade", `{"changed":7,"entry":{"path":"/q"}}`, func(q *http.Request) { q.Host = name })
		var o PluginOutcome
		if err := json.Unmarshal([]byte(body), &o); err != nil || status != http.StatusOK || o.Plugin == nil || strings.Contains(body, "s3cret") {
			t.Errorf("Host %s: %d %s", name, status, body)
		}
		want = append(want, `users upgrade {"path":"/q"}`)
	}
	if status, _ := post(t, url+"/v1/plugins/users/disable", ``, nil); status != http.StatusOK {
		t.Errorf("an empty body: %d", status)
	}
	if want = append(want, "users disable "); !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
	for err, want := range map[error]int{ErrNotFound: 404, ErrConflict: 409, ErrInvalid: 400, ErrUndecided: 503} {
		d.err = fmt.Errorf("%w: why", err)
		if status, body := post(t, url+"/v1/plugins/users/enable", `{}`, nil); status != want || !strings.Contains(body, "why") {
			t.Errorf("%v: %d %s, want %d", err, status, body, want)
		}
	}
}

// Each change may start a process, so that only a few run at once.
func TestFewChangesAtOnce(t *testing.T) {
	d := &desk{enter: make(chan struct{}), leave: make(chan struct{}), err: ErrConflict}
	url := serve(t, withDesk(d))
	statuses := make(chan int, changesMax)
	for range changesMax {
		go func() {
			status, _ := post(t, url+"/v1/plugins/users/enable", `{}`, nil)
			statuses <- status
		}()
		<-d.enter
	}
	if status, body := post(t, url+"/v1/plugins/users/enable", `{}`, nil); status != http.StatusServiceUnavailable || !strings.Contains(body, "try again") {
		t.Errorf("one more: %d %s, want 503", status, body)
	}
	close(d.leave)
	for range changesMax {
		if status := <-statuses; status != http.StatusConflict {
			t.Errorf("%d, want 409", status)
		}
	}
}

// What is masked must be a copy: the supervisor starts plugins by the original.
func TestMaskingLeavesTheEntry(t *testing.T) {
	list := (&desk{}).List()
	entry := list.Plugins[0].Entry
	if safe := masking(entry); reflect.DeepEqual(safe, entry) || string(entry.Config) != `{"secret":"s3cret"}` || entry.Args[0] != "s3cret" || entry.Env["KEY"] != "s3cret" {
		t.Errorf("masked %+v of %+v", safe, entry)
	}
	if masking(nil) != nil {
		t.Error("an entry came out of nothing")
	}
}
