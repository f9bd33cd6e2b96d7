// Command faulty is a plugin of each kind whose right answers are simple, and which
// does wrong while a file says so. It owns the faults that package pluginload tries;
// it must not know what the broker does about them.
//
//	faulty FILE      FILE names the fault; without the file there is none
//
// The partitioner adds the bytes of a key. The authenticator accepts a user whose
// password is "secret-" and its name. The authorizer decide abstains from names that
// begin with "push-" and allows the others but those that begin with "closed"; the
// authorizer push allows all but those that begin with "push-closed". The retention lets all but two segments go. A policy file, if
// the config names one, holds names that are refused beside those, one a line.
package main
