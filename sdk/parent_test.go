package sdk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// testTime is when certificates of tests are made.
var testTime = time.Now()

// TestWatchParent looks at the parent as long as it is wanted, and sees no end of the
// test's own.
func TestWatchParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*parentPoll)
		defer cancel()
		watchParent(ctx, os1, func() { t.Error("the parent is there") })
		parent := 1
		gone := false
		watchParent(t.Context(), func() int { parent++; return parent }, func() { gone = true })
		if !gone {
			t.Error("another parent is the end of the first")
		}
	})
}

func os1() int { return 1 }
