package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// groupView is a group as it is printed.
type groupView struct {
	Name         string            `json:"name"`
	State        string            `json:"state"`
	ProtocolType string            `json:"protocol_type"`
	Protocol     string            `json:"protocol"`
	Coordinator  int32             `json:"coordinator"`
	Members      []groupMemberView `json:"members"`
	Offsets      []groupOffsetView `json:"offsets"`
	Lag          int64             `json:"lag"`
}

// groupMemberView is one member.
type groupMemberView struct {
	ID       string `json:"id"`
	Instance string `json:"instance,omitempty"`
	ClientID string `json:"client_id"`
	Host     string `json:"host"`
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

func groupDescribeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "describe NAME…",
		Short:   "Show a group's members and, by partition, its offset, the end and the lag",
		Example: "  mortise group describe billing\n  mortise group describe billing -o json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			views, err := a.groups(c.Context(), names)
			if err != nil {
				return err
			}
			return a.printer().Value(views, func(w writer) error {
				for _, v := range views {
					if err := v.text(w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func groupLagCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "lag [NAME…]",
		Short:   "Show how many records groups are behind, by topic; without names of all groups",
		Example: "  mortise group lag\n  mortise group lag billing -o json",
		RunE: func(c *cobra.Command, names []string) error {
			views, err := a.groups(c.Context(), names)
			if err != nil {
				return err
			}
			rows := lagRows(views)
			return a.printer().Value(rows, func(w writer) error {
				var text [][]string
				for _, r := range rows {
					text = append(text, []string{r.Group, r.Topic, strconv.Itoa(r.Partitions), strconv.FormatInt(r.Lag, 10)})
				}
				return output.Table(w, []string{"GROUP", "TOPIC", "PARTITIONS", "LAG"}, text)
			})
		},
	}
}

// lagRow is how far a group is behind in one topic.
type lagRow struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Lag        int64  `json:"lag"`
}

// lagRows adds the partitions of each topic up. Partitions whose lag is not known
// count as none.
func lagRows(views []groupView) []lagRow {
	rows := []lagRow{}
	for _, v := range views {
		for _, o := range v.Offsets {
			if n := len(rows); n == 0 || rows[n-1].Group != v.Name || rows[n-1].Topic != o.Topic {
				rows = append(rows, lagRow{Group: v.Name, Topic: o.Topic})
			}
			r := &rows[len(rows)-1]
			r.Partitions++
			r.Lag += max(o.Lag, 0)
		}
	}
	return rows
}

// groups describes groups; without names all.
func (a *app) groups(ctx context.Context, names []string) ([]groupView, error) {
	admin, done, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := admin.Lag(ctx, names...)
	if err != nil {
		return nil, err
	}
	views := []groupView{}
	for _, g := range all.Sorted() {
		if err := cmp.Or(g.DescribeErr, g.FetchErr); err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Group, err)
		}
		if g.State == "Dead" && slices.Contains(names, g.Group) {
			return nil, fmt.Errorf("group %s: there is no such group", g.Group)
		}
		views = append(views, viewGroup(&g))
	}
	return views, nil
}

// viewGroup is a group as it is printed.
func viewGroup(g *kadm.DescribedGroupLag) groupView {
	v := groupView{Name: g.Group, State: g.State, ProtocolType: g.ProtocolType, Protocol: g.Protocol,
		Coordinator: g.Coordinator.NodeID, Members: []groupMemberView{}, Offsets: []groupOffsetView{}}
	for _, m := range g.Members {
		member := groupMemberView{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.Instance = *m.InstanceID
		}
		v.Members = append(v.Members, member)
	}
	for _, l := range g.Lag.Sorted() {
		o := groupOffsetView{Topic: l.Topic, Partition: l.Partition, Committed: l.Commit.At, End: l.End.Offset, Lag: l.Lag}
		if l.Member != nil {
			o.Member = l.Member.MemberID
		}
		if l.Err != nil {
			o.Error, o.Lag, o.End = kerrName(l.Err), -1, -1
		}
		v.Lag += max(o.Lag, 0)
		v.Offsets = append(v.Offsets, o)
	}
	return v
}

// text prints a group for people.
func (v *groupView) text(w writer) error {
	fmt.Fprintf(w, "%s  %s  protocol %s  coordinator %d  lag %d\n", v.Name, v.State, cmp.Or(v.Protocol, "none"), v.Coordinator, v.Lag)
	var members, offsets [][]string
	for _, m := range v.Members {
		members = append(members, []string{m.ID, cmp.Or(m.Instance, "-"), m.ClientID, m.Host})
	}
	for _, o := range v.Offsets {
		offsets = append(offsets, []string{o.Topic, strconv.Itoa(int(o.Partition)), number(o.Committed), number(o.End), number(o.Lag), cmp.Or(o.Error, o.Member, "-")})
	}
	if len(members) > 0 {
		if err := output.Table(w, []string{"MEMBER", "INSTANCE", "CLIENT", "HOST"}, members); err != nil {
			return err
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	return output.Table(w, []string{"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"}, offsets)
}

// number is a number for people; what is not known is a dash.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}
