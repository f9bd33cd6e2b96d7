// Package adminhttp asks the admin listeners of brokers for their JSON pages.
//
// It owns how an address is written, how long an answer may take and how large it may
// be. It must not know what the pages mean.
package adminhttp
