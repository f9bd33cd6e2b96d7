// Package fileusers is an authenticator of a file of users: passwords for SASL PLAIN,
// credentials for SASL SCRAM, and groups.
//
//	users:
//	  alice:
//	    password: "$2y$10$…"          # bcrypt, as htpasswd -B writes it
//	    groups: [payments, staff]
//	  billing-service:
//	    password: "$pbkdf2-sha256$i=600000$…$…"
//	    scram-sha-256: "salt=…,stored_key=…,server_key=…,iterations=8192"
//	    scram-sha-512: "salt=…,stored_key=…,server_key=…,iterations=8192"
//
// NewEntry makes what stands under a name. A SCRAM credential is written as Kafka
// writes it. What a user lacks does not work: without password there is no PLAIN.
//
// It owns the file (package livefile reads it again when it changes) and what it
// means. A new file takes effect at once and as a whole; one with a mistake changes
// nothing and is logged with the line. A broker remembers that a password was right for the time
// of the setting remember.ms (10 s unless set): for so long a removed user may still
// connect.
//
// Hashes are slow on purpose, so no more than half of the processors make them at a
// time: a flood of logins waits, and who does not get a turn in time is told nothing
// but to try again.
//
// A user who is not there costs as much as one who is: the password is checked against
// a hash of the file that nobody's password has. Hashes are compared in constant time.
// Argon2id is not offered: its memory for each login is a gift to whoever floods a
// broker with logins.
//
// It imports sdk/auth, a YAML parser, and bcrypt.
package fileusers
