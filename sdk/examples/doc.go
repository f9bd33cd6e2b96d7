// Package examples holds one small, useful plugin of each kind in Go and the same in
// Python, and a test that starts all of them and asks both languages the same.
package examples
