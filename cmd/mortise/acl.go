package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func aclCommand(a *app) *cobra.Command {
	c := group("acl", "Say who may do what: Kafka's ACLs, for a broker with the authorizer acl",
		aclAddCommand(a), aclListCommand(a), aclRemoveCommand(a))
	for _, sub := range c.Commands() {
		a.addBrokers(sub)
	}
	return c
}

// aclView is one rule.
type aclView struct {
	Principal    string `json:"principal"`
	Permission   string `json:"permission"` // allow, deny
	Operation    string `json:"operation"`
	ResourceType string `json:"resource_type"` // topic, group, cluster, transactional-id
	Resource     string `json:"resource"`
	Pattern      string `json:"pattern"` // literal, prefixed
	Host         string `json:"host"`
}

// aclFlags say which resources and hosts rules are about.
type aclFlags struct {
	topics, groups, transactionalIDs []string
	cluster, prefix, deny            bool
	host                             string
}

func (f *aclFlags) add(c *cobra.Command, a *app) {
	flags := c.Flags()
	flags.StringArrayVarP(&f.topics, "topic", "t", nil, "a topic; * is every one; may be given again")
	flags.StringArrayVarP(&f.groups, "group", "g", nil, "a group; may be given again")
	flags.StringArrayVar(&f.transactionalIDs, "transactional-id", nil, "a transactional id; may be given again")
	flags.BoolVar(&f.cluster, "cluster", false, "the cluster itself")
	flags.BoolVar(&f.prefix, "prefix", false, "names are the beginnings of names")
	flags.BoolVar(&f.deny, "deny", false, "deny and not allow; it is stronger than every allow")
	flags.StringVar(&f.host, "host", "", "only from this IP address; without it from everywhere")
	if err := c.RegisterFlagCompletionFunc("topic", a.completeTopics(anyNumber, false)); err != nil {
		panic(fmt.Sprintf("BUG: completion of --topic: %v", err))
	}
}

// rules are what the flags and arguments mean: PRINCIPAL OPERATION….
func (f *aclFlags) rules(args []string) (*kadm.ACLBuilder, error) {
	principal := args[0]
	if kind, name, ok := strings.Cut(principal, ":"); !ok || kind == "" || name == "" {
		return nil, output.Usagef("%q is no principal; write Type:name, for example User:alice", principal)
	}
	if len(f.topics)+len(f.groups)+len(f.transactionalIDs) == 0 && !f.cluster {
		return nil, output.Usagef("on what? --topic, --group, --transactional-id or --cluster says it")
	}
	var operations []kadm.ACLOperation
	for _, text := range args[1:] {
		o, err := kmsg.ParseACLOperation(text)
		if err != nil || o <= kmsg.ACLOperationAny {
			return nil, output.Usagef("%q is no operation; write one of %s", text, strings.Join(aclOperations, ", "))
		}
		operations = append(operations, o)
	}
	pattern := kadm.ACLPatternLiteral
	if f.prefix {
		pattern = kadm.ACLPatternPrefixed
	}
	b := kadm.NewACLs().MaybeTopics(f.topics...).MaybeGroups(f.groups...).MaybeTransactionalIDs(f.transactionalIDs...).
		MaybeClusters(f.cluster).MaybeOperations(operations...).ResourcePatternType(pattern)
	var hosts []string
	if f.host != "" {
		hosts = []string{f.host}
	}
	if f.deny {
		return b.Deny(principal).MaybeDenyHosts(hosts...), nil
	}
	return b.Allow(principal).MaybeAllowHosts(hosts...), nil
}

// aclOperations are the operations that a rule may have.
var aclOperations = []string{"all", "read", "write", "create", "delete", "alter", "describe", "cluster-action",
	"describe-configs", "alter-configs", "idempotent-write"}

// completeOperations offers operations after the principal.
func completeOperations(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return aclOperations, cobra.ShellCompDirectiveNoFileComp
}

func aclAddCommand(a *app) *cobra.Command {
	var f aclFlags
	c := &cobra.Command{
		Use:   "add PRINCIPAL OPERATION…",
		Short: "Allow somebody something, or with --deny forbid it",
		Long: `Allow a principal operations on resources, or with --deny forbid them. User:* is
everybody, Group:NAME the users of a group.

To consume, a user needs read on the topic and on its group; to produce, write on the
topic. Both imply describe.`,
		Example: `  mortise acl add User:alice read write --topic orders
  mortise acl add User:alice read --group billing --prefix
  mortise acl add Group:staff describe --topic public- --prefix
  mortise acl add User:mallory all --topic orders --deny`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: completeOperations,
		RunE: func(c *cobra.Command, args []string) error {
			rules, err := f.rules(args)
			if err != nil {
				return err
			}
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			made, err := admin.CreateACLs(c.Context(), rules)
			if err != nil {
				return err
			}
			var views []aclView
			for _, m := range made {
				if m.Err != nil {
					return aclError(m.Err, m.ErrMessage)
				}
				views = append(views, aclRow(m.Principal, m.Host, m.Type, m.Name, m.Pattern, m.Operation, m.Permission))
			}
			return printACLs(a, views)
		},
	}
	f.add(c, a)
	return c
}

func aclListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list [PRINCIPAL]",
		Short: "List the rules, all of them or those of a principal",
		Example: `  mortise acl list
  mortise acl list User:alice -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			rules := kadm.NewACLs().AnyResource().Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny).
				Allow(args...).AllowHosts().Deny(args...).DenyHosts()
			found, err := admin.DescribeACLs(c.Context(), rules)
			if err != nil {
				return err
			}
			views := []aclView{}
			for _, one := range found {
				if one.Err != nil {
					return aclError(one.Err, one.ErrMessage)
				}
				for _, d := range one.Described {
					views = append(views, aclRow(d.Principal, d.Host, d.Type, d.Name, d.Pattern, d.Operation, d.Permission))
				}
			}
			return printACLs(a, views)
		},
	}
}

func aclRemoveCommand(a *app) *cobra.Command {
	var f aclFlags
	c := &cobra.Command{
		Use:   "remove PRINCIPAL [OPERATION…]",
		Short: "Take rules away; without an operation those of all operations",
		Example: `  mortise acl remove User:alice write --topic orders
  mortise acl remove User:alice --topic orders`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeOperations,
		RunE: func(c *cobra.Command, args []string) error {
			rules, err := f.rules(args)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				rules.Operations(kadm.OpAny)
			}
			switch {
			case f.host == "" && f.deny:
				rules.DenyHosts()
			case f.host == "":
				rules.AllowHosts()
			}
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			gone, err := admin.DeleteACLs(c.Context(), rules)
			if err != nil {
				return err
			}
			var views []aclView
			for _, one := range gone {
				if one.Err != nil {
					return aclError(one.Err, one.ErrMessage)
				}
				for _, d := range one.Deleted {
					views = append(views, aclRow(d.Principal, d.Host, d.Type, d.Name, d.Pattern, d.Operation, d.Permission))
				}
			}
			if len(views) == 0 {
				return errors.New("there are no such rules; `mortise acl list` shows all")
			}
			return printACLs(a, views)
		},
	}
	f.add(c, a)
	return c
}

// aclError is an error of the broker with what it says beside it, and what to do where
// nobody keeps rules.
func aclError(err error, message string) error {
	if message != "" {
		err = fmt.Errorf("%w: %s", err, message)
	}
	if errors.Is(err, kerr.SecurityDisabled) {
		return fmt.Errorf("%w; security.authorizers of the broker's settings names one", err)
	}
	return err
}

// aclRow is a rule in words.
func aclRow(principal, host string, kind kmsg.ACLResourceType, name string, pattern kadm.ACLPattern, operation kadm.ACLOperation, permission kmsg.ACLPermissionType) aclView {
	word := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "-") }
	return aclView{principal, word(permission.String()), word(operation.String()), word(kind.String()), name, word(pattern.String()), host}
}

// printACLs prints rules by principal and resource.
func printACLs(a *app, views []aclView) error {
	slices.SortFunc(views, func(a, b aclView) int {
		return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.ResourceType, b.ResourceType), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Permission, b.Permission), cmp.Compare(a.Host, b.Host))
	})
	views = slices.Compact(views)
	return a.printer().Value(views, func(w writer) error {
		var rows [][]string
		for _, v := range views {
			name := v.Resource
			if v.Pattern == "prefixed" {
				name += "…"
			}
			rows = append(rows, []string{v.Principal, v.Permission, v.Operation, v.ResourceType, name, v.Host})
		}
		return output.Table(w, []string{"PRINCIPAL", "", "OPERATION", "ON", "NAME", "FROM"}, rows)
	})
}
