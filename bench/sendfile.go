package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/mortisemq/mortise/core/record"
)

// The bare sendfile loop: the least that a server can do for the raw reader. It
// answers fetches of one topic from one file, with blocking sockets, one thread a
// connection, and nothing but a small write and a sendfile(2) per partition. What
// the reader gets from it is the ceiling for a broker.

// bareRecords and bareValue make batches of 64 KiB, as the producers do.
const bareRecords, bareValue = 63, 1024

// bareFile is a file with a region of equal batches for each partition.
type bareFile struct {
	fd         int
	partitions int
	batch      int64 // bytes
	batches    int64 // in a region
}

// makeBareFile writes the file that bareServe serves, and reads it back so that
// it is in the page cache.
func makeBareFile(name string, partitions int, total int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b := record.Batch(batch(bareRecords, bareValue))
	for range partitions {
		for i := range total / int64(partitions) / int64(len(b)) {
			binary.BigEndian.PutUint64(b, uint64(i*bareRecords)) // base offset
			if _, err := f.Write(b); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

// bareBroker is this program as the bare loop.
func bareBroker(dir string, partitions int, total int64) (*broker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &broker{
		name: "bare sendfile loop", addr: fmt.Sprintf("127.0.0.1:%d", barePort), dir: filepath.Join(dir, "sendfile"),
		prep: func(dir string) error { return makeBareFile(filepath.Join(dir, "data"), partitions, total) },
		argv: func(dir string) []string {
			return []string{self, "-serve-bare", filepath.Join(dir, "data"), "-partitions", strconv.Itoa(partitions)}
		},
	}, nil
}

// bareServe serves the file on barePort until it is killed.
func bareServe(name string, partitions int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := int64(len(batch(bareRecords, bareValue)))
	file := bareFile{fd: int(f.Fd()), partitions: partitions, batch: size, batches: info.Size() / int64(partitions) / size}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(l, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(l, &unix.SockaddrInet4{Port: barePort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(l, 16); err != nil {
		return err
	}
	for {
		c, _, err := unix.Accept(l)
		if err != nil {
			return err
		}
		if err := unix.SetsockoptInt(c, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(c, unix.SOL_SOCKET, unix.SO_SNDBUF, bareSendBuffer); err != nil {
			return err
		}
		go func() {
			defer unix.Close(c)
			if err := file.serve(c); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "sendfile:", err)
			}
		}()
	}
}

const barePort = 29093

// bareSendBuffer is what was fastest for this loop: with the kernel's own choice
// it sends half as much.
const bareSendBuffer = 208 << 10

// serve answers the requests of one connection.
func (f bareFile) serve(c int) error {
	buf := make([]byte, 64<<10)
	for {
		if err := readFull(c, buf[:4]); err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint32(buf))
		if n < 10 || n > len(buf) {
			return fmt.Errorf("a request of %d bytes", n)
		}
		if err := readFull(c, buf[:n]); err != nil {
			return err
		}
		body := 10 + int(binary.BigEndian.Uint16(buf[8:])) // behind the client id
		if body > n {
			return fmt.Errorf("a request of %d bytes with a header of %d", n, body)
		}
		if key := binary.BigEndian.Uint16(buf); key != 1 {
			if err := f.metadata(c, buf[4:8]); err != nil {
				return err
			}
			continue
		}
		req := kmsg.NewPtrFetchRequest()
		req.Version = 11
		if err := req.ReadFrom(buf[body:n]); err != nil {
			return err
		}
		if err := f.answer(c, buf[4:8], &req.Topics[0]); err != nil {
			return err
		}
	}
}

// metadata is an empty answer, by which the start is noticed.
func (f bareFile) metadata(c int, correlation []byte) error {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = 9
	out := append(make([]byte, 4, 64), correlation...)
	out = resp.AppendTo(append(out, 0)) // no tagged fields in the header
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err := unix.Write(c, out)
	return err
}

// answer sends a range of each partition of a Fetch v11 request.
func (f bareFile) answer(c int, correlation []byte, t *kmsg.FetchRequestTopic) error {
	head := append(make([]byte, 4, 256), correlation...)
	head = append(head, make([]byte, 4+2+4)...) // throttle time, error, session
	head = binary.BigEndian.AppendUint32(head, 1)
	head = binary.BigEndian.AppendUint16(head, uint16(len(t.Topic)))
	head = append(head, t.Topic...)
	head = binary.BigEndian.AppendUint32(head, uint32(len(t.Partitions)))
	const partitionHead = 4 + 2 + 8 + 8 + 8 + 4 + 4 + 4
	total := len(head) - 4
	for i := range t.Partitions {
		_, n := f.span(&t.Partitions[i])
		total += partitionHead + int(n)
	}
	binary.BigEndian.PutUint32(head, uint32(total))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		off, n := f.span(p)
		head = binary.BigEndian.AppendUint32(head, uint32(p.Partition))
		head = append(head, make([]byte, 2+8+8+8)...)
		head = binary.BigEndian.AppendUint32(head, 0xffffffff) // no aborted transactions
		head = binary.BigEndian.AppendUint32(head, 0xffffffff)
		head = binary.BigEndian.AppendUint32(head, uint32(n))
		if _, err := unix.Write(c, head); err != nil {
			return err
		}
		head = head[:0]
		for n > 0 {
			sent, err := unix.Sendfile(c, f.fd, &off, int(n))
			if err != nil {
				return err
			}
			n -= int64(sent)
		}
	}
	return nil
}

// span is the range of the file that answers a partition: whole batches.
func (f bareFile) span(p *kmsg.FetchRequestTopicPartition) (off, n int64) {
	first := p.FetchOffset / bareRecords
	count := min(int64(p.PartitionMaxBytes)/f.batch, max(0, f.batches-first))
	return (int64(p.Partition)*f.batches + first) * f.batch, count * f.batch
}

func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		b = b[n:]
	}
	return nil
}
