// Package vfs is the seam for disks: every room that touches files is handed an
// FS, so that a test can crash it, fill it, count it or make it fail.
//
// It owns the operating system's file system (OS), a disk in memory whose power
// can be cut (Mem), a counting one (Counting) and the means to stand between
// (Intercept, on which errorfs is built). It must not know what is in a file.
//
// What is durable, and when, is stricter than most real file systems: bytes
// after Sync or SyncData, names after SyncDir of their folder. Code that
// survives Mem.Crash survives them.
//
// A test that crashes at every step collects disks in Mem.OnOp:
//
//	disk.OnOp(func(vfs.Op) { crashed = append(crashed, disk.Crash(vfs.CrashOptions{})) })
//
// and then reopens each of them and compares with what had been acknowledged.
//
// Lock order: Mem.mu alone; hooks run without it.
package vfs
