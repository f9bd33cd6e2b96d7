package transcript

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Mismatch is a place where a broker answered otherwise than recorded, in the same way for a run of versions.
type Mismatch struct {
	Path      string
	Line      int    // Of the step.
	Step      string // Its head.
	From, To  int16  // Versions.
	Want, Got string // Of the first of them.
}

// String shows the first lines that differ.
func (m Mismatch) String() string {
	return fmt.Sprintf("%s:%d: %s (v%d..%d)\n%s", m.Path, m.Line, m.Step, m.From, m.To, diff(m.Want, m.Got))
}

// add appends a mismatch, or widens the last one when it is the same of the next version.
func add(all []Mismatch, m Mismatch) []Mismatch {
	if n := len(all); n > 0 {
		last := &all[n-1]
		if last.Line == m.Line && last.To+1 == m.From && diff(last.Want, last.Got) == diff(m.Want, m.Got) {
			last.To = m.To
			return all
		}
	}
	return append(all, m)
}

// player plays one transcript.
type player struct {
	file    *File
	cluster Cluster
	stopped map[int]bool // brokers
	conns   map[string]*conn
	users   map[string]string // by connection, see login
	masks   *masks
	// settles makes settle wait, since only the real broker has the right to apply changes late.
	settles  bool
	warnings []string
}

// settleTime is how long a recording waits for a change to be applied.
const settleTime = 400 * time.Millisecond

// Record plays f against a broker and puts its answers into f. It returns what a reader of the recording should
// look at, such as answers that do not encode to the same bytes again.
func Record(f *File, dial Dialer) (warnings []string, err error) {
	return RecordCluster(f, single(dial))
}

// RecordCluster is Record for several brokers.
func RecordCluster(f *File, c Cluster) (warnings []string, err error) {
	p := newPlayer(f, c)
	p.settles = true
	defer p.close()
	for i := range f.blocks {
		if err := p.block(&f.blocks[i], func(s *step, texts [][]string) {
			s.answers = group(s.versions, texts)
		}); err != nil {
			return p.warnings, fmt.Errorf("%s:%d: %w", f.Path, f.blocks[i].line, err)
		}
	}
	return p.warnings, nil
}

// Replay plays f against a broker and returns where the answers differ from the recorded ones.
func Replay(f *File, dial Dialer) ([]Mismatch, error) {
	return ReplayCluster(f, single(dial))
}

// ReplayCluster is Replay for several brokers.
func ReplayCluster(f *File, c Cluster) ([]Mismatch, error) { return newPlayer(f, c).compare() }

// Check is Replay for the broker that was recorded: it waits where a recording waits.
func Check(f *File, dial Dialer) ([]Mismatch, error) { return CheckCluster(f, single(dial)) }

// CheckCluster is Check for several brokers.
func CheckCluster(f *File, c Cluster) ([]Mismatch, error) {
	p := newPlayer(f, c)
	p.settles = true
	return p.compare()
}

func (p *player) compare() ([]Mismatch, error) {
	defer p.close()
	f := p.file
	var out []Mismatch
	for i := range f.blocks {
		b := &f.blocks[i]
		err := p.block(b, func(s *step, texts [][]string) {
			for j, v := range s.versions {
				got := strings.Join(texts[j], "\n")
				want, ok := s.want(v)
				if !ok {
					want = "(nothing recorded)"
				}
				if got != want {
					out = add(out, Mismatch{Path: f.Path, Line: b.line, Step: b.text, From: v, To: v, Want: want, Got: got})
				}
			}
		})
		if err != nil {
			return out, fmt.Errorf("%s:%d: %w", f.Path, b.line, err)
		}
	}
	for _, w := range p.warnings {
		out = append(out, Mismatch{Path: f.Path, Want: "answers that encode to the same bytes", Got: w})
	}
	return out, nil
}

func newPlayer(f *File, c Cluster) *player {
	return &player{file: f, cluster: c, stopped: map[int]bool{}, conns: map[string]*conn{}, users: map[string]string{}, masks: newMasks()}
}

func (p *player) close() {
	for name := range p.conns {
		p.drop(name)
	}
}

func (p *player) drop(name string) {
	if c := p.conns[name]; c != nil {
		// The broker may have closed it already, which is all that Close could report.
		_ = c.Close()
		delete(p.conns, name)
	}
}

func (p *player) block(b *block, done func(*step, [][]string)) error {
	if b.step == nil {
		return p.directive(b.text)
	}
	s := b.step
	texts := make([][]string, 0, len(s.versions))
	for _, v := range s.versions {
		lines, err := p.version(s, v)
		if err != nil {
			return err
		}
		texts = append(texts, lines)
	}
	done(s, texts)
	return nil
}

// retryMax bounds the attempts of a step with the retry option; they are retryPause apart.
// That is a minute: a replay may run on a machine that is very busy.
const (
	retryMax   = 1200
	retryPause = 50 * time.Millisecond
)

func (p *player) version(s *step, v int16) ([]string, error) {
	word, retry := s.options["retry"]
	for try := 1; ; try++ {
		lines, err := p.exchange(s, v)
		if err != nil || !retry || try == retryMax || !strings.Contains(strings.Join(lines, "\n"), word) {
			return lines, err
		}
		time.Sleep(retryPause)
	}
}

// conn returns the step's connection, opening it when it is not open.
func (p *player) conn(name string) (*conn, error) {
	if c := p.conns[name]; c != nil {
		return c, nil
	}
	nc, err := p.cluster.Dial(brokerOf(name))
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc}
	p.conns[name] = c
	if user := p.users[name]; user != "" {
		return c, c.authenticate(user)
	}
	return c, nil
}

// exchange sends one request and prints its answer.
func (p *player) exchange(s *step, v int16) ([]string, error) {
	name := s.options["conn"]
	if broker := s.options["broker"]; broker != "" {
		name += "@" + broker
	}
	c, err := p.conn(name)
	if err != nil {
		return nil, err
	}
	if s.name != "await" {
		b, what, err := p.encode(c, s, v)
		if err != nil && !p.settles {
			// An id that an earlier answer lacked: the rest of the transcript can still be compared.
			return []string{"unsendable: " + err.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := c.write(b); err != nil {
			p.drop(name)
			return []string{"closed"}, nil
		}
		if what != nil {
			c.pending = append(c.pending, *what)
		}
		if _, later := s.options["send"]; later {
			return []string{"sent"}, nil
		}
		if what == nil {
			return p.silence(name, c)
		}
	}
	if len(c.pending) == 0 {
		return nil, fmt.Errorf("nothing to await on connection %q", name)
	}
	next := c.pending[0]
	c.pending = c.pending[1:]
	frame, err := c.readFrame()
	if errors.Is(err, errClosed) {
		p.drop(name)
		return []string{"closed"}, nil
	}
	if err != nil {
		return nil, err
	}
	if !strings.Contains(strings.Join(s.body, "\n"), "$v") {
		v = -1
	}
	_, p.masks.anyError = s.options["anyerror"]
	return p.print(next, v, frame)
}

// silence tells an unanswered request from a closed connection: the next answer must be that of a request behind it.
func (p *player) silence(name string, c *conn) ([]string, error) {
	barrier := &step{name: "ApiVersions", options: map[string]string{}}
	b, what, err := p.encode(c, barrier, 0)
	if err != nil {
		return nil, err
	}
	if err := c.write(b); err != nil {
		p.drop(name)
		return []string{"closed"}, nil
	}
	frame, err := c.readFrame()
	if errors.Is(err, errClosed) {
		p.drop(name)
		return []string{"closed"}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(frame) < 4 || int32(be32(frame)) != what.corr {
		return []string{fmt.Sprintf("unexpected: 0x%x", frame)}, nil
	}
	return []string{"none"}, nil
}
