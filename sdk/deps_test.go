package sdk

import (
	"os/exec"
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
	for _, d := range dependencies(t, "./plugin", "./partitioner", "./auth", "./storage") {
		first, _, _ := strings.Cut(d, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(d, "github.com/mortisemq/mortise/sdk/") {
			t.Errorf("contracts pull in %s", d)
		}
	}
}

// TestNoBroker: a program of plugins carries no broker around.
func TestNoBroker(t *testing.T) {
	for _, d := range dependencies(t, ".", "./host", "./sdktest", "./skeleton") {
		for _, bad := range []string{"/raft", "memberlist", "kmsg", "mortise/core", "mortise/cluster"} {
			if strings.Contains(d, bad) {
				t.Errorf("the sdk pulls in %s", d)
			}
		}
	}
}
