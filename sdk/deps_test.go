package sdk

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// dependencies lists what packages pull in.
func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

// TestContractsNeedNothing: a plugin that is compiled in pulls in the standard library
// and the contracts.
func TestContractsNeedNothing(t *testing.T) {
	for _, d := range dependencies(t, "./plugin", "./partitioner", "./auth", "./storage", "./transport") {
		first, _, _ := strings.Cut(d, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(d, "github.com/mortisemq/mortise/sdk/") {
			t.Errorf("contracts pull in %s", d)
		}
	}
}

// adapter is the one package that is for a client's library, which it pulls in.
const adapter = "github.com/mortisemq/mortise/sdk/partitioner/kgopartitioner"

// TestNoBroker: a program of plugins carries no broker around, nor a client.
func TestNoBroker(t *testing.T) {
	out, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := strings.Fields(string(out))
	kept := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == adapter })
	if len(kept) != len(all)-1 {
		t.Errorf("no %s among %v", adapter, all)
	}
	for _, d := range dependencies(t, kept...) {
		for _, bad := range []string{"/raft", "memberlist", "kmsg", "franz-go", "mortise/core", "mortise/cluster"} {
			if strings.Contains(d, bad) {
				t.Errorf("the sdk pulls in %s", d)
			}
		}
	}
}
