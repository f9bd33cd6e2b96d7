package sdktest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/internal/rpc"
)

// asOrphan starts the program and waits for its input to end. $0 and what follows is
// the program, PIDFILE where its number goes.
const asOrphan = `"$0" "$@" & echo $! >"$PIDFILE"; read -r nothing`

// bareTail bounds what is read of a program's output.
const bareTail = 1 << 20

// bareOptions say how a program is started.
type bareOptions struct {
	byHand bool // without a broker's environment
	orphan bool // by a shell, which can be killed
}

// bare is the program in a process of ours, without a broker's runner, which would read
// its output and end it in our place.
type bare struct {
	command  *exec.Cmd
	dir      string
	out      *os.File
	reader   *bufio.Reader
	input    io.Closer
	identity *handshake.Identity
	line     handshake.Line
}

func newIdentity() (*handshake.Identity, error) { return handshake.NewIdentity(time.Now()) }

// startBare starts the program and reads its handshake, unless by hand.
func startBare(ctx context.Context, b *bench, o bareOptions) (*bare, error) {
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		return nil, err
	}
	p := &bare{dir: dir}
	if err := p.start(b, o); err != nil {
		p.close()
		return nil, err
	}
	if o.byHand {
		return p, nil
	}
	text, err := p.readLine()
	if err == nil {
		p.line, err = p.parse(text)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return p, nil
}

// start starts the process with the smallest environment that a broker may give.
func (p *bare) start(b *bench, o bareOptions) (err error) {
	if p.identity, err = newIdentity(); err != nil {
		return err
	}
	out, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer write.Close()
	p.out, p.reader = out, bufio.NewReader(io.LimitReader(out, bareTail))
	c := b.subject.Source.command
	words := append([]string{c.Path}, c.Args...)
	if o.orphan {
		words = append([]string{"/bin/sh", "-c", asOrphan}, words...)
	}
	p.command = exec.Command(words[0], words[1:]...)
	p.command.Dir, p.command.Stdout, p.command.Stderr = p.dir, write, b.logs
	p.command.WaitDelay = b.waits.end
	p.command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...)
	p.command.Env = append(p.command.Env, "TMPDIR="+p.dir, "HOME="+p.dir, "PIDFILE="+p.pidFile())
	if !o.byHand {
		p.command.Env = append(p.command.Env,
			handshake.CookieKey+"="+handshake.CookieValue, handshake.CertificateKey+"="+p.identity.PEM(),
			"PLUGIN_PROTOCOL_VERSIONS="+strconv.Itoa(handshake.ProtocolVersion), "PLUGIN_UNIX_SOCKET_DIR="+p.dir)
	}
	if o.orphan {
		if p.input, err = p.command.StdinPipe(); err != nil {
			return err
		}
	}
	return p.command.Start()
}

func (p *bare) pidFile() string { return filepath.Join(p.dir, "pid") }

func (p *bare) parse(text string) (handshake.Line, error) { return handshake.Parse(text, p.dir) }

// readLine reads the first line.
func (p *bare) readLine() (string, error) {
	if err := p.out.SetReadDeadline(time.Now().Add(host.DefaultStartTimeout)); err != nil {
		return "", err
	}
	return p.reader.ReadString('\n')
}

// readAll reads until everybody who holds its output has ended.
func (p *bare) readAll(limit time.Duration) (string, error) {
	if err := p.out.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(p.reader)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it runs on for %s", limit)
	}
	return string(text), err
}

// terminate asks the process to end.
func (p *bare) terminate() error { return p.command.Process.Signal(syscall.SIGTERM) }

// ask asks the program to describe itself, with a certificate.
func (p *bare) ask(ctx context.Context, as *handshake.Identity) error {
	certificate, err := x509.ParseCertificate(p.line.Certificate)
	if err != nil {
		return err
	}
	config := as.Asker()
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(certificate)
	return p.describe(ctx, credentials.NewTLS(config))
}

// askOpenly asks without TLS, and with TLS but without a certificate.
func (p *bare) askOpenly(ctx context.Context) error {
	if err := p.describe(ctx, insecure.NewCredentials()); err == nil {
		return nil
	}
	// The peer is not verified on purpose: whether it talks is the question.
	return p.describe(ctx, credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}))
}

func (p *bare) describe(ctx context.Context, c credentials.TransportCredentials) error {
	conn, err := grpc.NewClient("unix:"+p.line.Socket, append(rpc.DialOptions(), grpc.WithTransportCredentials(c))...)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err = rpc.NewClient(conn).Describe(ctx)
	return err
}

// close ends the process, and the one that a shell started for it.
func (p *bare) close() {
	if p.command != nil && p.command.Process != nil {
		_ = p.command.Process.Kill() // it may have ended
		_ = p.command.Wait()
	}
	if text, err := os.ReadFile(p.pidFile()); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			p.killOrphan(pid)
		}
	}
	if p.out != nil {
		p.out.Close()
	}
	if p.input != nil {
		p.input.Close()
	}
	os.RemoveAll(p.dir)
}

// killOrphan kills what the shell started, if it still holds its output: a number may
// be another process's by now.
func (p *bare) killOrphan(pid int) {
	if err := p.out.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, p.reader); !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill()
	}
}
