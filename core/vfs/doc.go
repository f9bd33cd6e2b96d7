// Package vfs is the seam for disks: every room that touches files is handed an
// FS, so that a test can crash it, fill it, count it or make it fail.
package vfs
