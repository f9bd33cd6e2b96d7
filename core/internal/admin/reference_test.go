package admin

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestReferenceHasEveryField holds docs/admin.md to the JSON forms: whoever adds a field
// writes it down.
func TestReferenceHasEveryField(t *testing.T) {
	text, err := os.ReadFile("../../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []any{Health{}, Recovery{}, LogDir{}, Problem{}, Topic{}, TopicPartition{}, Cleaner{}} {
		of := reflect.TypeOf(form)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(text), `"`+name+`"`) && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/admin.md does not tell of %s.%s", of.Name(), name)
			}
		}
	}
}
