package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unshown are the fields whose values are a broker's own affair.
var unshown = []string{"Version", "ThrottleMillis", "UnknownTags", "ErrorMessage", "ClientHost", "Configs"}

// unordered are the arrays whose order means nothing.
var unordered = []string{"Members", "Groups", "Topics", "Partitions", "TopicPartitions", "SubscribedTopics"}

// renderer prints answers as one broker's view shows them.
type renderer struct {
	keep    func(group string) bool  // which listed groups are shown
	symbols func(text string) string // names what a broker made
	topics  map[[16]byte]string      // names of topics that all groups share
}

// render is an answer on one line: fields that have a value, arrays without order
// sorted.
func (r renderer) render(answer kmsg.Response) string {
	if list, ok := answer.(*kmsg.ListGroupsResponse); ok {
		list.Groups = slices.DeleteFunc(list.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !r.keep(g.Group) })
		if len(list.Groups) == 0 {
			list.Groups = nil // nobody else may be on one of the brokers
		}
	}
	return r.value("", reflect.ValueOf(answer).Elem())
}

func (r renderer) value(name string, v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "null"
	case v.Kind() == reflect.Pointer:
		return r.value(name, v.Elem())
	case v.Kind() == reflect.Struct:
		return r.fields(v)
	case name == "TopicID":
		id := v.Interface().([16]byte)
		if topic, ok := r.topics[id]; ok {
			return topic
		}
		return "?" // a group's own topic
	case name == "ErrorCode":
		return errorName(int16(v.Int()))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("%q", shorten(r.symbols(string(v.Bytes()))))
	case v.Kind() == reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = r.value(name, v.Index(i))
		}
		if slices.Contains(unordered, name) {
			slices.Sort(items)
		}
		return "[" + strings.Join(items, " ") + "]"
	case v.Kind() == reflect.String:
		return shorten(r.symbols(v.String()))
	}
	return fmt.Sprint(v.Interface())
}

func (r renderer) fields(v reflect.Value) string {
	var fields []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if slices.Contains(unshown, name) || name != "ErrorCode" && v.Field(i).IsZero() {
			continue
		}
		fields = append(fields, name+":"+r.value(name, v.Field(i)))
	}
	return "{" + strings.Join(fields, " ") + "}"
}

// textMax is how much of a text is shown.
const textMax = 200

func shorten(s string) string {
	if len(s) > textMax {
		return fmt.Sprintf("%s...%d", s[:8], len(s))
	}
	return s
}

func errorName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return fmt.Sprint(code)
}
