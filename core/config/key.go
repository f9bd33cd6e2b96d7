package config

import "strconv"

// Type is the type of a key's values, by the protocol's numbers
// (DescribeConfigs.ConfigType).
type Type int8

// The types of values.
const (
	Unknown  Type = 0
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

// String is Kafka's name of the type, for example LONG.
func (t Type) String() string {
	names := [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return "TYPE_" + strconv.Itoa(int(t))
}

// Scope says what a key can be set on.
type Scope int8

// The scopes.
const (
	TopicScope  Scope = iota
	BrokerScope       // in the config file, and dynamically unless ReadOnly
	GroupScope
	ClientMetricsScope
)

// Key is one configuration key.
type Key struct {
	Name  string
	Type  Type
	Scope Scope
	// Default is the text of the default value. With NullDefault there is none.
	Default     string
	NullDefault bool
	// Synonyms of a topic's or group's key are the broker keys that its default comes
	// from, in Kafka's order: the first that has a value counts.
	Synonyms []string
	// ReadOnly keys can't be changed dynamically (DescribeConfigs says so).
	ReadOnly bool
	// Sensitive values are never shown.
	Sensitive bool
	// Live says that a changed config file needs no restart to take effect.
	Live bool
	// AtStart says that it is only at a start that there is something to do, so that
	// dynamic changes count at the next one; all others take effect at once.
	AtStart bool
	// Internal keys can be set but are not described; they are for tests.
	Internal bool
	// WhenSet keys are described only where somebody set them, as in Kafka.
	WhenSet bool
	// Doc is a short description for people.
	Doc string

	check Check
	scale int64 // what one unit of a synonym is in units of the topic key; 0 means 1
	// least and most name the broker keys that limit a key of groups.
	least, most string
}

// HasDefault reports whether the key has a value when nobody set one.
func (k *Key) HasDefault() bool { return !k.NullDefault }

// Parse reads a value of the key and checks it. The text of the error is Kafka's.
func (k *Key) Parse(text string) (Value, error) {
	v, err := parse(k.Name, k.Type, text)
	if err != nil {
		return v, err
	}
	if k.check != nil {
		if err := k.check(k.Name, v); err != nil {
			return v, err
		}
	}
	return v, nil
}
