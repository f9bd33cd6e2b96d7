package auth

import "testing"

func TestNamesAreReadAgain(t *testing.T) {
	for op := OpAny; op <= OpTwoPhaseCommit; op++ {
		if got, err := ParseOperation(op.String()); got != op || err != nil {
			t.Errorf("%s is read as %d, %v", op, got, err)
		}
	}
	for r := AnyResource; r <= User; r++ {
		if got, err := ParseResourceType(r.String()); got != r || err != nil {
			t.Errorf("%s is read as %d, %v", r, got, err)
		}
	}
	for _, name := range []string{"DESCRIBE_CONFIGS", "DescribeConfigs", "describe-configs"} {
		if got, err := ParseOperation(name); got != OpDescribeConfigs || err != nil {
			t.Errorf("%s is read as %d, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "reading", "unknown(3)"} {
		if got, err := ParseOperation(name); err == nil {
			t.Errorf("%q is read as %s", name, got)
		}
	}
	if got := Operation(99).String(); got != "unknown(99)" {
		t.Errorf("operation 99 is %q", got)
	}
}
