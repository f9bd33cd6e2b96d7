package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Value is a parsed value. Which field counts follows from the key's type.
type Value struct {
	Text string // the canonical text: what DescribeConfigs shows
	Bool bool
	Int  int64    // Short, Int, Long
	Real float64  // Double
	List []string // List
}

// listSeparator is what stands between the elements of a list.
var listSeparator = regexp.MustCompile(`\s*,\s*`)

// parse reads text as a value of the type.
func parse(name string, t Type, text string) (Value, error) {
	trimmed := strings.TrimSpace(text)
	v := Value{Text: trimmed}
	switch t {
	case Boolean:
		if v.Bool = strings.EqualFold(trimmed, "true"); !v.Bool && !strings.EqualFold(trimmed, "false") {
			return v, invalid(name, text, "Expected value to be either true or false")
		}
		v.Text = strconv.FormatBool(v.Bool)
	case Short, Int, Long:
		n, err := strconv.ParseInt(trimmed, 10, bits(t))
		if err != nil {
			return v, invalid(name, text, "Not a number of type "+t.String())
		}
		v.Int, v.Text = n, strconv.FormatInt(n, 10)
	case Double:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil || math.IsNaN(f) {
			return v, invalid(name, text, "Not a number of type "+t.String())
		}
		v.Real, v.Text = f, javaDouble(f)
	case List:
		if trimmed != "" {
			v.List = listSeparator.Split(trimmed, -1)
		}
		v.Text = strings.Join(v.List, ",")
	}
	return v, nil
}

// bits is the width of an integer type.
func bits(t Type) int {
	switch t {
	case Short:
		return 16
	case Int:
		return 32
	}
	return 64
}

// javaDouble prints a number as Java does, which is how Kafka's tools show it:
// always with a fraction, with an exponent from 10^7 on and below 10^-3.
func javaDouble(f float64) string {
	if size := math.Abs(f); size != 0 && (size < 1e-3 || size >= 1e7) && !math.IsInf(f, 0) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		n, _ := strconv.Atoi(exponent) // FormatFloat wrote it
		return withFraction(mantissa) + "E" + strconv.Itoa(n)
	}
	return withFraction(strconv.FormatFloat(f, 'f', -1, 64))
}

// withFraction adds ".0" where there is no fraction.
func withFraction(s string) string {
	if strings.ContainsAny(s, ".I") {
		return s
	}
	return s + ".0"
}
