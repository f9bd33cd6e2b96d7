package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Check says what is wrong with a parsed value of the named key; nil: nothing.
type Check func(name string, v Value) error

// atLeast wants a whole number of n or more.
func atLeast(n int64) Check {
	return func(name string, v Value) error {
		if v.Int < n {
			return invalid(name, v.Text, fmt.Sprintf("Value must be at least %d", n))
		}
		return nil
	}
}

// between wants a whole number from least to most.
func between(least, most int64) Check {
	low := atLeast(least)
	return func(name string, v Value) error {
		if v.Int > most {
			return invalid(name, v.Text, fmt.Sprintf("Value must be no more than %d", most))
		}
		return low(name, v)
	}
}

// unlimitedOrSome wants -1 or at least 1: a broker that keeps nothing by default is
// a mistake.
func unlimitedOrSome(name string, v Value) error {
	if v.Int < 1 && v.Int != -1 {
		return invalid(name, v.Text, "Value must be unlimited (-1) or at least 1")
	}
	return nil
}

// ratio wants a number from 0 to 1.
func ratio(name string, v Value) error {
	switch {
	case v.Real < 0:
		return invalid(name, v.Text, "Value must be at least 0")
	case v.Real > 1:
		return invalid(name, v.Text, "Value must be no more than 1")
	}
	return nil
}

// gzipLevel wants a level of gzip, where -1 is the codec's own choice.
func gzipLevel(name string, v Value) error {
	if v.Int != -1 && (v.Int < 1 || v.Int > 9) {
		return invalid(name, v.Text, "Value must be between 1 and 9 or equal to -1")
	}
	return nil
}

// oneOf wants one of a few words.
func oneOf(words ...string) Check {
	return func(name string, v Value) error {
		if !slices.Contains(words, v.Text) {
			return invalid(name, v.Text, "String must be one of: "+strings.Join(words, ", "))
		}
		return nil
	}
}

// pluginName wants the name of an entry of the plugin catalogue.
func pluginName(name string, v Value) error {
	if !plugin.ValidName(v.Text) {
		return invalid(name, v.Text, "A plugin's name has lower-case letters, digits and dashes, at most 64")
	}
	return nil
}

// pluginNames wants a list of such names, each once.
func pluginNames(name string, v Value) error {
	if len(v.List) == 0 || len(v.List) > pluginsMax {
		return invalid(name, v.Text, fmt.Sprintf("Value must name 1 to %d plugins", pluginsMax))
	}
	for n, one := range v.List {
		if !plugin.ValidName(one) || slices.Contains(v.List[:n], one) {
			return invalid(name, v.Text, "Each is the name of a plugin, with lower-case letters, digits and dashes, and named once")
		}
	}
	return nil
}

// pluginsMax is how many plugins a topic can name in one key.
const pluginsMax = 8

// setOf wants a list of different words of a few. It may be empty.
func setOf(words ...string) Check {
	one := oneOf(words...)
	return func(name string, v Value) error {
		for n, word := range v.List {
			if slices.Contains(v.List[:n], word) {
				return &InvalidError{"Configuration '" + name + "' values must not be duplicated."}
			}
		}
		for _, word := range v.List {
			if err := one(name, Value{Text: word}); err != nil {
				return err
			}
		}
		return nil
	}
}

// throttledReplica is one element of a list of throttled replicas.
var throttledReplica = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// throttledReplicas wants partition:broker pairs, or the one word *.
func throttledReplicas(name string, v Value) error {
	if len(v.List) == 1 && v.List[0] == "*" {
		return nil
	}
	for _, pair := range v.List {
		if !throttledReplica.MatchString(pair) {
			return invalid(name, "["+strings.Join(v.List, ", ")+"]", name+
				" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
	}
	return nil
}

// addressLimits wants pairs of an IP address or host and a number of connections.
func addressLimits(name string, v Value) error {
	if _, err := parseOverrides(v.Text); err != nil {
		return invalid(name, v.Text, err.Error())
	}
	return nil
}
