package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// groupView is a group as it is printed.
type groupView struct {
	Name         string `json:"name"`
	State        string `json:"state"`
	Type         string `json:"type"` // classic, or consumer for the protocol of KIP-848
	ProtocolType string `json:"protocol_type"`
	Protocol     string `json:"protocol"` // the assignor
	// Epoch and AssignmentEpoch are those of a consumer group: the members' subscriptions
	// have reached Epoch, the assignment of them AssignmentEpoch. -1: a classic group.
	Epoch           int32             `json:"epoch"`
	AssignmentEpoch int32             `json:"assignment_epoch"`
	Coordinator     int32             `json:"coordinator"`
	Members         []groupMemberView `json:"members"`
	Offsets         []groupOffsetView `json:"offsets"`
	Lag             int64             `json:"lag"`
}

// groupMemberView is one member.
type groupMemberView struct {
	ID       string `json:"id"`
	Instance string `json:"instance,omitempty"`
	ClientID string `json:"client_id"`
	Host     string `json:"host"`
	Rack     string `json:"rack,omitempty"`
	// Protocol is how the member speaks: classic members of a consumer group are on
	// their way from one to the other.
	Protocol   string         `json:"protocol"`
	Epoch      int32          `json:"epoch"` // -1: a classic member
	Subscribed []string       `json:"subscribed,omitempty"`
	Regex      string         `json:"subscribed_regex,omitempty"`
	Assigned   assignmentView `json:"assigned"`
	// Target is what the member shall have, where that is something else.
	Target assignmentView `json:"target,omitempty"`
}

// assignmentView is partitions by topic.
type assignmentView map[string][]int32

// String is the assignment for people.
func (v assignmentView) String() string {
	var parts []string
	for topic, partitions := range v {
		parts = append(parts, topic+":"+ids(partitions))
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, " "), "-")
}

// groupOffsetView is how far a group is in one partition.
type groupOffsetView struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"` // -1: nothing
	End       int64  `json:"end"`       // -1: not known
	Lag       int64  `json:"lag"`       // -1: not known
	Member    string `json:"member,omitempty"`
	Error     string `json:"error,omitempty"`
}

// text prints a group for people.
func (v *groupView) text(w writer) error {
	what := "protocol " + cmp.Or(v.Protocol, "none")
	if v.Type == typeConsumer {
		what = fmt.Sprintf("consumer protocol  assignor %s  epoch %d  assigned in %d", v.Protocol, v.Epoch, v.AssignmentEpoch)
	}
	fmt.Fprintf(w, "%s  %s  %s  coordinator %d  lag %d\n", v.Name, v.State, what, v.Coordinator, v.Lag)
	if err := v.memberTable(w); err != nil || len(v.Offsets) == 0 {
		return err
	}
	var rows [][]string
	for _, o := range v.Offsets {
		rows = append(rows, []string{o.Topic, strconv.Itoa(int(o.Partition)), number(o.Committed), number(o.End), number(o.Lag), cmp.Or(o.Error, o.Member, "-")})
	}
	return output.Table(w, []string{"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"}, rows)
}

// memberTable prints the members, if there are any.
func (v *groupView) memberTable(w writer) error {
	if len(v.Members) == 0 {
		return nil
	}
	head := []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED"}
	if v.Type == typeConsumer {
		head = append(head, "SHALL HAVE", "PROTOCOL", "EPOCH")
	}
	var rows [][]string
	for _, m := range v.Members {
		row := []string{m.ID, cmp.Or(m.Instance, "-"), m.ClientID, m.Host, m.Assigned.String()}
		if v.Type == typeConsumer {
			shall := "the same"
			if m.Target != nil {
				shall = m.Target.String()
			}
			row = append(row, shall, m.Protocol, strconv.Itoa(int(m.Epoch)))
		}
		rows = append(rows, row)
	}
	return output.Table(w, head, rows)
}

// number is a number for people; what is not known is a dash.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}
