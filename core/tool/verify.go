package tool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// DefaultMaxFindings bounds the findings of each level that a Report holds. More
// are counted in Dropped.
const DefaultMaxFindings = 1000

// InspectOptions change how Inspect works. The zero value is right.
type InspectOptions struct {
	Shallow     bool // check batches by header and CRC alone, do not decompress
	MaxFindings int  // of each level; 0: DefaultMaxFindings
	Limits      record.DecompressLimits
	// Progress, if not nil, hears of the log bytes that are done, after each MiB or
	// so. It is called by Inspect's goroutine.
	Progress func(done, total int64)
}

// Verify is Inspect for a yes or no: it gives the damage alone, without notes. No
// finding and no error mean that the files can be trusted.
func Verify(ctx context.Context, fsys vfs.FS, path string, progress func(done, total int64)) ([]Finding, error) {
	r, err := Inspect(ctx, fsys, path, InspectOptions{Progress: progress})
	damage := slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Level != Damage })
	if n := r.Dropped[Damage]; n > 0 {
		damage = append(damage, Finding{Damage, path, NoPosition, kafka.NoOffset, fmt.Sprintf("%d more findings are not shown", n)})
	}
	return damage, err
}

// Inspect checks one file of a partition, a partition directory, or a directory of
// such, and tells what it found. It checks:
//
//   - logs: sizes, magic, CRC, codecs, every record, offsets that only grow, leader
//     epochs that never go back, segments that follow each other;
//   - offset indexes: sorted, every entry the start of a batch with its last offset;
//   - time indexes: sorted, no later timestamp before an entry's offset;
//   - transaction indexes: whole entries with sane offsets;
//   - leader-epoch-checkpoint against the epochs of the batches;
//   - producer snapshots and partition.metadata: readable.
//
// A .log file given alone is checked with its indexes. Findings are in the report;
// an error is one of the file system or of ctx, and the report then tells what was
// seen before.
func Inspect(ctx context.Context, fsys vfs.FS, path string, o InspectOptions) (*Report, error) {
	v := &verifier{ctx: ctx, fsys: fsys, o: o, report: &Report{}}
	if v.o.MaxFindings <= 0 {
		v.o.MaxFindings = DefaultMaxFindings
	}
	info, err := fsys.Stat(path)
	if err != nil {
		return v.report, fmt.Errorf("verify %s: %w", path, err)
	}
	if info.IsDir() {
		err = v.tree(path)
	} else {
		err = v.file(path)
	}
	if err != nil {
		return v.report, fmt.Errorf("verify %s: %w", path, err)
	}
	return v.report, nil
}

type verifier struct {
	ctx    context.Context
	fsys   vfs.FS
	o      InspectOptions
	report *Report
	found  [2]int // per level

	done, total int64 // bytes of logs, for Progress
}

func (v *verifier) find(l Level, file string, position int64, offset kafka.Offset, format string, args ...any) {
	if v.found[l]++; v.found[l] > v.o.MaxFindings {
		v.report.Dropped[l]++
		return
	}
	v.report.Findings = append(v.report.Findings, Finding{l, file, position, offset, fmt.Sprintf(format, args...)})
}

// whole reports a file that cannot be decoded. An error of the file system is
// given back instead.
func (v *verifier) whole(file string, err error) error {
	var bad *malformed
	if !errors.As(err, &bad) {
		return err
	}
	v.find(Damage, file, NoPosition, kafka.NoOffset, "%v", err)
	return nil
}

func (v *verifier) progress(n int64) {
	v.done += n
	if v.o.Progress != nil {
		v.o.Progress(v.done, v.total)
	}
}

// tree verifies a partition directory, or the ones in a data directory.
func (v *verifier) tree(dir string) error {
	dirs := []string{dir}
	list, err := v.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	for _, d := range dirs {
		if err := v.measure(d); err != nil {
			return err
		}
	}
	for _, d := range dirs {
		if err := v.partition(d); err != nil {
			return err
		}
	}
	return nil
}

// measure adds the size of a directory's logs to the total.
func (v *verifier) measure(dir string) error {
	list, err := v.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if k, _ := fileKind(e.Name()); k != logFile || e.IsDir() {
			continue
		}
		info, err := v.fsys.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		v.total += info.Size()
	}
	return nil
}

// partition verifies the files of one directory, logs in the order of offsets.
func (v *verifier) partition(dir string) error {
	list, err := v.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	var logs, others []string
	bases := map[kafka.Offset]bool{}
	p := &partitionState{next: kafka.NoOffset, epoch: kafka.NoLeaderEpoch}
	for _, e := range list {
		k, base := fileKind(e.Name())
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() || k == otherFile:
		case k == logFile:
			logs, bases[base] = append(logs, name), true
		case k == epochFile:
			if err := v.loadEpochs(name, p); err != nil {
				return err
			}
		default:
			others = append(others, name)
		}
	}
	slices.Sort(logs) // digits of one length: the order of offsets
	for _, name := range logs {
		if err := v.segment(name, p); err != nil {
			return err
		}
	}
	for _, name := range others {
		if err := v.other(name, bases); err != nil {
			return err
		}
	}
	v.checkEpochEnd(p)
	return nil
}

// file verifies one file alone.
func (v *verifier) file(name string) error {
	k, base := fileKind(name)
	switch k {
	case otherFile:
		return ErrUnknownFile
	case logFile:
		info, err := v.fsys.Stat(name)
		if err != nil {
			return err
		}
		v.total = info.Size()
		return v.segment(name, &partitionState{next: kafka.NoOffset, epoch: kafka.NoLeaderEpoch})
	case indexFile, timeIndexFile:
		log := companionLog(name)
		if _, err := v.fsys.Stat(log); err != nil {
			return err
		}
		return v.file(log)
	case epochFile:
		return v.loadEpochs(name, &partitionState{})
	}
	return v.other(name, map[kafka.Offset]bool{base: true})
}
