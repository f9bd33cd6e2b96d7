// Package host starts plugins and asks them.
package host
