//go:build !linux

package clusterload_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mortisemq/mortise/cluster/local"
)

var errLinuxOnly = errors.New("only on Linux")

// wires would be a network of its own for each node.
type wires struct{ rules linkRules }

func newWires(testing.TB, int) (*wires, error) { return nil, errLinuxOnly }

func (*wires) place(int32, string) local.Place { return local.Place{} }

// disk would be a file system of its own for one node.
type disk struct {
	path    string
	changes atomic.Int64
}

func newDisk(testing.TB, string, int) (*disk, error) { return nil, errLinuxOnly }

func (*disk) space() {}

func (*disk) fill() (func() error, error) { return nil, errLinuxOnly }
