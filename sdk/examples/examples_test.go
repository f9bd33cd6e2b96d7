package examples

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// pythonKey names an interpreter that has the package mortise-plugin. The conformance
// step makes one; without it the Python examples are not started.
const pythonKey = "MORTISE_TEST_PYTHON"

// TestMain builds the examples in Go once.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "examples")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if out, err := exec.Command("go", "build", "-o", dir, "./...").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv(builtKey, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// builtKey says where TestMain put the examples.
const builtKey = "MORTISE_TEST_EXAMPLES"

// inBoth runs a test against an example in each language.
func inBoth(t *testing.T, command, script string, test func(t *testing.T, p *host.Process)) {
	t.Run("go", func(t *testing.T) {
		test(t, launch(t, host.Command{Path: filepath.Join(os.Getenv(builtKey), command)}))
	})
	t.Run("python", func(t *testing.T) {
		python := os.Getenv(pythonKey)
		if python == "" {
			t.Skip(pythonKey + " is not set")
		}
		path, err := filepath.Abs(filepath.Join("python", script))
		if err != nil {
			t.Fatal(err)
		}
		test(t, launch(t, host.Command{Path: python, Args: []string{path}}))
	})
}

// launch starts a plugin, and stops it with the test.
func launch(t *testing.T, c host.Command) *host.Process {
	t.Helper()
	dir, err := os.MkdirTemp("", "e") // short enough for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	c.RunDir = dir
	c.Stderr = func(line []byte) { t.Logf("%s", line) }
	p, err := host.Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := os.Remove(dir); err != nil { // empty
			t.Error(err)
		}
	})
	return p
}

// TestPythonWithDigest checks and runs the plugin's own file: it names its interpreter,
// so the interpreter is not what is hashed.
func TestPythonWithDigest(t *testing.T) {
	python := os.Getenv(pythonKey)
	if python == "" {
		t.Skip(pythonKey + " is not set")
	}
	text, err := os.ReadFile(filepath.Join("python", "prefix_partitioner.py"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	text = append([]byte("#!"+python+"\n"), rest...)
	script := filepath.Join(t.TempDir(), "plugin.py")
	if err := os.WriteFile(script, text, 0o755); err != nil {
		t.Fatal(err)
	}
	p := launch(t, host.Command{Path: script, Digest: sha256.Sum256(text)})
	if _, err := p.Describe(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := host.Launch(t.Context(), host.Command{Path: script, Digest: sha256.Sum256(rest)}); !errors.Is(err, host.ErrDigest) {
		t.Errorf("another digest: %v, want ErrDigest", err)
	}
}

func configure(t *testing.T, p *host.Process, kind plugin.Kind, name, config string) *host.Instance {
	t.Helper()
	in, err := p.Configure(t.Context(), kind, name, plugin.Config{JSON: json.RawMessage(config), Instance: "test", BrokerID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// drained ends an instance; nothing may ask it then.
func drained(t *testing.T, in *host.Instance, ask func() error) {
	t.Helper()
	if err := in.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ask(); !errors.Is(err, plugin.ErrDrained) {
		t.Errorf("after drain: %v, want ErrDrained", err)
	}
}

func TestPrefixPartitioner(t *testing.T) {
	inBoth(t, "prefixpartitioner", "prefix_partitioner.py", func(t *testing.T, p *host.Process) {
		for _, bad := range []string{`{"seperator":"-"}`, `{"separator":1}`, `[]`, `{`} {
			if err := p.Validate(t.Context(), plugin.Partitioner, "prefix", json.RawMessage(bad)); !errors.Is(err, plugin.ErrConfig) {
				t.Errorf("config %s: %v, want ErrConfig", bad, err)
			}
		}
		slash := configure(t, p, plugin.Partitioner, "prefix", "")
		dash := configure(t, p, plugin.Partitioner, "prefix", `{"separator":"-"}`)
		q := &partitioner.Request{Topic: "t", Partitions: 7, Keys: [][]byte{[]byte("ü/1"), []byte("ü/2"), nil, {}, []byte("a-b/c")}}
		ask := func(in *host.Instance) ([]int32, error) {
			c, err := in.Partitioner()
			if err != nil {
				t.Fatal(err)
			}
			out := make([]int32, len(q.Keys))
			return out, c.Assign(t.Context(), q, out)
		}
		at := func(prefix string) int32 { return int32(crc32.ChecksumIEEE([]byte(prefix)) % 7) }
		if got, err := ask(slash); err != nil || fmt.Sprint(got) != fmt.Sprint([]int32{at("ü"), at("ü"), -1, at(""), at("a-b")}) {
			t.Errorf("slash: %v, %v", got, err)
		}
		if got, err := ask(dash); err != nil || got[4] != at("a") {
			t.Errorf("dash: %v, %v", got, err)
		}
		drained(t, slash, func() error { _, err := ask(slash); return err })
		if _, err := ask(dash); err != nil {
			t.Errorf("the other instance: %v", err)
		}
	})
}

func TestSignedPasswords(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sign := func(user string, ends time.Time) string {
		seconds := strconv.FormatInt(ends.Unix(), 10)
		mac := hmac.New(sha256.New, []byte("s3cret"))
		fmt.Fprintf(mac, "%s %s", user, seconds)
		return fmt.Sprintf("%s.%x", seconds, mac.Sum(nil))
	}
	inBoth(t, "signedpasswords", "signed_passwords.py", func(t *testing.T, p *host.Process) {
		if err := p.Validate(t.Context(), plugin.Authenticator, "signed", json.RawMessage(`{"secret_file":"/nowhere"}`)); !errors.Is(err, plugin.ErrConfig) {
			t.Errorf("no file: %v, want ErrConfig", err)
		}
		a, err := configure(t, p, plugin.Authenticator, "signed", `{"secret_file":"`+secret+`"}`).Authenticator()
		if err != nil {
			t.Fatal(err)
		}
		soon := time.Now().Add(time.Hour)
		peer := &auth.Peer{Listener: "SASL", Mechanism: "PLAIN", Nonce: []byte("nonce")}
		for password, want := range map[string]auth.Outcome{
			sign("alice", soon):                         auth.Accept,
			sign("bob", soon):                           auth.Reject,
			sign("alice", time.Now().Add(-time.Second)): auth.Reject,
			"":          auth.Reject,
			"x.y":       auth.Reject,
			"\xff.\xff": auth.Reject,
		} {
			r, err := a.VerifyPassword(t.Context(), peer, "alice", []byte(password))
			if err != nil || r.Outcome != want {
				t.Errorf("%q: %+v, %v; want %d", password, r, err, want)
			}
			if want == auth.Accept && (r.PrincipalName != "alice" || r.Lifetime <= 50*time.Minute || r.Lifetime > time.Hour) {
				t.Errorf("accepted %+v", r)
			}
		}
		if _, err := a.ValidateToken(t.Context(), peer, nil); !errors.Is(err, plugin.ErrUnsupported) {
			t.Errorf("token: %v, want ErrUnsupported", err)
		}
	})
}

func TestTeamTopics(t *testing.T) {
	inBoth(t, "teamtopics", "team_topics.py", func(t *testing.T, p *host.Process) {
		in := configure(t, p, plugin.Authorizer, "teams", "")
		a, err := in.Authorizer()
		if err != nil {
			t.Fatal(err)
		}
		actions := []auth.Action{
			{Operation: auth.OpWrite, Resource: auth.Topic, Name: "billing.invoices"},
			{Operation: auth.OpRead, Resource: auth.Group, Name: "billing.readers"},
			{Operation: auth.OpRead, Resource: auth.Topic, Name: "billings"},
			{Operation: auth.OpAlter, Resource: auth.Cluster, Name: "billing.x"},
		}
		out := make([]auth.Decision, len(actions))
		ask := func() error {
			return a.Authorize(t.Context(), &auth.Client{PrincipalType: "User", PrincipalName: "billing"}, actions, out)
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []auth.Verdict{auth.Allow, auth.Allow, auth.Abstain, auth.Abstain} {
			if out[i].Verdict != want {
				t.Errorf("%s: %d, want %d", actions[i].Name, out[i].Verdict, want)
			}
		}
		if d, err := a.AuthorizeByResourceType(t.Context(), &auth.Client{}, auth.OpWrite, auth.Topic); err != nil || d.Verdict != auth.Deny {
			t.Errorf("by type: %+v, %v", d, err)
		}
		told, ended := make(chan auth.Event, 1), make(chan error)
		go func() {
			ended <- a.Watch(t.Context(), func(e auth.Event) error {
				told <- e
				return nil
			})
		}()
		if e := <-told; e.Epoch == 0 || e.Rules != nil {
			t.Errorf("watch told %+v", e)
		}
		drained(t, in, ask)
		if err := <-ended; !errors.Is(err, plugin.ErrDrained) {
			t.Errorf("watch ended with %v, want ErrDrained", err)
		}
	})
}

func TestKeepNewest(t *testing.T) {
	inBoth(t, "keepnewest", "keep_newest.py", func(t *testing.T, p *host.Process) {
		segments := make([]storage.SegmentFacts, 4)
		for i := range segments {
			segments[i] = storage.SegmentFacts{BaseOffset: int64(i) * 10, NextOffset: int64(i+1) * 10, Bytes: 100, MaxTimestampMS: int64(i), Active: i == 3}
		}
		l := storage.LogFacts{
			Topic: "t", LeaderEpoch: 3, NowMS: 1_000_000, HighWatermark: 40, LastStable: 40, RetentionMS: 1000, Segments: segments,
		}
		kept := l
		kept.Topic, kept.RetentionMS = "u", storage.Unlimited
		for config, want := range map[string]int{"": 3, `{"segments":2}`: 2, `{"segments":9}`: 0} {
			r, err := configure(t, p, plugin.Retention, "keep-newest", config).Retention()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Decide(t.Context(), []storage.LogFacts{l, kept})
			n := 0
			for _, v := range got {
				n += v.DeleteOldest
			}
			if err != nil || n != want {
				t.Errorf("%s: %+v, %v; want %d deleted", config, got, err, want)
			}
		}
	})
}
