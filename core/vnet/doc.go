// Package vnet is the seam for networks: listening and dialling, so that a test
// can have a network in memory.
package vnet
