package fileusers

import (
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// fromHtpasswd is what Apache's htpasswd -nbB -C 5 wrote for the password myPassword.
const fromHtpasswd = "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"

func TestHashesOfOtherTools(t *testing.T) {
	for text, password := range map[string]string{
		fromHtpasswd: "myPassword",
		// Python: hashlib.pbkdf2_hmac("sha256", b"secret", b"saltsalt", 10000) and sha512.
		"$pbkdf2-sha256$i=10000$c2FsdHNhbHQ$Ud43QyQpfkrBrm7iUov0KEpocQ1H1A65JKeSZBcZ+HQ":                                            "secret",
		"$pbkdf2-sha512$i=10000$c2FsdHNhbHQ$EPayD5uUBTEtWAVc5A/BDE94P92z1URuIGFG9dqerao2JkZSst3YhD65O7HTph4C35dJC0A+v6qfI/hRXA+w1A": "secret",
	} {
		h, err := parseHash(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !h.matches([]byte(password)) || h.matches([]byte(password+"x")) || h.matches([]byte(password+"\x00")) || h.matches(nil) {
			t.Errorf("%s: the right password is refused or a wrong one accepted", text)
		}
		if h.dummy().matches([]byte(password)) || h.dummy().dummy().matches([]byte(password)) {
			t.Errorf("%s: a dummy has a password", text)
		}
	}
}

func TestBcryptLooksAtNoMoreThan72Bytes(t *testing.T) {
	long := strings.Repeat("x", 72)
	text, err := bcrypt.GenerateFromPassword([]byte(long), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHash(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !h.matches([]byte(long)) {
		t.Error("72 bytes are refused")
	}
	if h.matches([]byte(long + "anything")) {
		t.Error("a longer password that begins alike is accepted")
	}
}

func TestHashMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"secret":                                  "a password is never written as it is",
		"$argon2id$v=19$m=1":                      "neither bcrypt",
		"$2y$05$short":                            "",
		fromHtpasswd + "x":                        "61 characters",
		"$2y$17" + fromHtpasswd[6:]:               "bcrypt cost 17",
		"$pbkdf2-sha1$i=10000$AAAA$AAAA":          "want sha256 or sha512",
		"$pbkdf2-sha256$i=9999$AAAA$AAAA":         "want 10000 to",
		"$pbkdf2-sha256$i=9999999$AAAA$AAAA":      "want 10000 to",
		"$pbkdf2-sha256$10000$AAAA$AAAA":          "want $pbkdf2-sha256",
		"$pbkdf2-sha256$i=10000$AAAA$AAAA":        "a salt",
		"$pbkdf2-sha256$i=10000$c2FsdHNhbHQ$AAAA": "a key",
		"$pbkdf2-sha256$i=10000$c2FsdHNhbHQ":      "want $pbkdf2-sha256",
	} {
		if _, err := parseHash(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
