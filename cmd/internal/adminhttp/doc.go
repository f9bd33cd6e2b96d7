// Package adminhttp asks the admin listeners of brokers for their JSON pages.
//
// It owns how an address is written and whether it is one of this machine, how long an
// answer may take and how large it may be. It must not know what the pages mean.
package adminhttp
