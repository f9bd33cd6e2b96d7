// Package hosttest is what tests of processes share: a clock that a busy machine does not
// make run faster. It owns nothing and knows neither the host nor brokers.
package hosttest
