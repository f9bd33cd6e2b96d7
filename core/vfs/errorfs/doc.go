// Package errorfs makes disks fail: a file system in front of another one that
// asks an injector before each operation.
//
// It owns how faults are chosen, never what they mean. Tests only.
package errorfs
