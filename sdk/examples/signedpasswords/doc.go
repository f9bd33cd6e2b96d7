// Command signedpasswords accepts passwords that are signed and expire: SECONDS.HEX,
// where SECONDS is when it ends (since 1970) and HEX is HMAC-SHA-256 of "USER SECONDS"
// with the secret in a file.
package main
