package fileusers

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
)

// TestRFC7677Exchange is the example of RFC 7677, section 3: the client's proof and the
// server's signature fit our keys.
func TestRFC7677Exchange(t *testing.T) {
	decode := func(text string) []byte {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	stored, server, err := scramKeys(sha256.New, "pencil", decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
	if err != nil {
		t.Fatal(err)
	}
	message := "n=user,r=rOprNGfwEbeRWgbNEkqO," +
		"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096," +
		"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	sign := func(key []byte) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(message))
		return m.Sum(nil)
	}
	if got, want := sign(server), decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="); !bytes.Equal(got, want) {
		t.Errorf("the server's signature is %x, want %x", got, want)
	}
	clientKey := decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	for i, b := range sign(stored) {
		clientKey[i] ^= b
	}
	if got := sha256.Sum256(clientKey); !bytes.Equal(got[:], stored) {
		t.Errorf("the client's proof gives %x, want the stored key %x", got, stored)
	}
}

// TestCredentialsThatKafkaMade: what Kafka 4.4 wrote for a password is what we make of
// it with the same salt, and read from its text.
func TestCredentialsThatKafkaMade(t *testing.T) {
	for mechanism, text := range map[string]string{
		"SCRAM-SHA-256": "salt=NnRrbG94cDV3YjZxa2d4bmZ1MTJpbzJycw==,stored_key=o0wmU1wf6m+Aw9rGB2AeD81+px6k1T8PJ3xiRAXQwZo=,server_key=Wx/0lxlsWvZ5V22OT1DiD9FGMy2o3yDbto7hieMnaTM=,iterations=4096",
		"SCRAM-SHA-512": "salt=N2V0dDczMWZlYnJ2em53Y25qdTdpamk2Mg==,stored_key=rpSwkHU9e17srqUVTFaZ49LTEib/CQ6DzOMHgG/3LOYXGOXw+atsTYnT95l1yZMixmKrZhUDEuvEuhP0BNaqiA==,server_key=5G5aLwNyyEbfTSc2AwDRlj/mYaH2lrnXofgYXY7dGnLNkZ5/x+L+IsdSXgqFXJShFzq9RPp5rvBaOOaoUZld5g==,iterations=4096",
	} {
		c, err := parseScram(mechanism, text)
		if err != nil {
			t.Fatal(err)
		}
		stored, server, err := scramKeys(scramHash(mechanism), "pässword", c.Salt, int(c.Iterations))
		if err != nil || !bytes.Equal(stored, c.StoredKey) || !bytes.Equal(server, c.ServerKey) {
			t.Errorf("%s: keys %x and %x, Kafka has %x and %x", mechanism, stored, server, c.StoredKey, c.ServerKey)
		}
	}
}

func TestScramTextIsReadAgain(t *testing.T) {
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		text, err := newScram(mechanism, "secret", 4096)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseScram(mechanism, text)
		if err != nil {
			t.Fatal(err)
		}
		stored, server, err := scramKeys(scramHash(mechanism), "secret", c.Salt, int(c.Iterations))
		if err != nil || !bytes.Equal(stored, c.StoredKey) || !bytes.Equal(server, c.ServerKey) || !c.Found {
			t.Errorf("%s: %+v, %v", mechanism, c, err)
		}
	}
}

func TestScramMistakes(t *testing.T) {
	good, err := newScram("SCRAM-SHA-256", "secret", 4096)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                        `"" is not known`,
		"salt=AAAA":               "want salt, stored_key, server_key and iterations",
		good + ",x=1":             `"x" is not known`,
		good + ",salt=AAAA":       "comes twice",
		good + ",iterations=4096": "comes twice",
		strings.Replace(good, "iterations=4096", "iterations=4095", 1):    "want 4096 to",
		strings.Replace(good, "iterations=4096", "iterations=9999999", 1): "want 4096 to",
		strings.Replace(good, "salt=", "salt=!", 1):                       "salt is no base64",
		strings.Replace(good, "stored_key=", "stored_key=AAAA", 1):        "",
	} {
		if _, err := parseScram("SCRAM-SHA-256", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, err := parseScram("SCRAM-SHA-512", good); err == nil || !strings.Contains(err.Error(), "keys of 32 and 32 bytes, want 64") {
		t.Errorf("keys of another mechanism: %v", err)
	}
}
