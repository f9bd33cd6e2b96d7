package config

import "errors"

// ErrInvalid is what every refusal of a name or value is.
var ErrInvalid = errors.New("invalid configuration")

// InvalidError is a refusal. Its text is Kafka's and meant for clients.
type InvalidError struct{ Text string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Text }

// Is makes every InvalidError an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// invalid is Kafka's ConfigException: the offending text and why it is wrong.
func invalid(name, offender, why string) error {
	return &InvalidError{"Invalid value " + offender + " for configuration " + name + ": " + why}
}
