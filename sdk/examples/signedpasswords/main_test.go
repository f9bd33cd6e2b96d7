package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/sdktest"
)

func TestContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends := fmt.Sprint(time.Now().Add(time.Hour).Unix())
	mac := hmac.New(sha256.New, []byte("s3cret"))
	fmt.Fprintf(mac, "alice %s", ends)
	facts := sdktest.Facts{Login: &sdktest.Login{User: "alice", Password: ends + "." + hex.EncodeToString(mac.Sum(nil))}}
	for _, source := range []sdktest.Source{sdktest.Values(Plugin()), sdktest.InProcess(Plugin())} {
		sdktest.Run(t, source, Plugin().Kind, Plugin().Name, fmt.Sprintf(`{"secret_file":%q}`, file), facts)
	}
}
