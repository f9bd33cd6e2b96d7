package api

import (
	"strconv"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/loglevel"
)

// The levels of this broker's loggers, which keys 32 and 44 show and change.

// loggers are the levels that count, by logger.
func (a *API) loggers() []config.Entry {
	all := a.deps.Levels.All()
	entries := make([]config.Entry, len(all))
	for i, l := range all {
		level := loglevel.Name(l.Level)
		entries[i] = config.Entry{Name: l.Name, Value: &level, Source: config.SourceLogger}
	}
	return entries
}

// checkLoggerName wants this broker's id.
func (a *API) checkLoggerName(name string) *kafka.Error {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return kafka.ErrInvalidRequest.Err("Node id must be an integer, but it is: " + name)
	case kafka.BrokerID(id) != a.deps.Self:
		return kafka.ErrInvalidRequest.Err("Unexpected node id. Expected " + strconv.Itoa(int(a.deps.Self)) + ", but received " + name)
	}
	return nil
}

// alterLoggers changes the levels of loggers: all of them, or with an error none.
func (a *API) alterLoggers(keys []alteration, validateOnly bool) *kafka.Error {
	for _, k := range keys {
		if why := a.checkLogger(k); why != nil {
			return why
		}
	}
	if validateOnly {
		return nil
	}
	for _, k := range keys {
		err := error(nil)
		if k.op == opDelete {
			err = a.deps.Levels.Reset(k.name)
		} else {
			level, _ := loglevel.Parse(*k.value) // was checked
			err = a.deps.Levels.Set(k.name, level)
		}
		if err != nil { // loggers do not go away, so that it was checked
			return a.refusal(err)
		}
		a.deps.Log.Info("log level changed", "logger", k.name, "op", k.op.String())
	}
	return nil
}

// checkLogger checks the change of one logger, in Kafka's order.
func (a *API) checkLogger(k alteration) *kafka.Error {
	if k.op != opSet && k.op != opDelete {
		text := k.op.String()
		if k.op == opAppend || k.op == opSubtract {
			text += " operation"
		}
		return kafka.ErrInvalidRequest.Err(text + " is not allowed for the BROKER_LOGGER resource")
	}
	if !a.deps.Levels.Exists(k.name) {
		return kafka.ErrInvalidConfig.Err("Logger " + k.name + " does not exist!")
	}
	if k.op == opDelete {
		if k.name == loglevel.Root {
			return kafka.ErrInvalidRequest.Err("Removing the log level of the root logger is not allowed")
		}
		return nil
	}
	if _, err := loglevel.Parse(*k.value); err != nil {
		return kafka.ErrInvalidConfig.Err("Cannot set the log level of " + k.name + " to " + *k.value +
			" as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN")
	}
	return nil
}
