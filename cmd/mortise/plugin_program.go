package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// programStop bounds the end of a program that was only asked what it has.
const programStop = 5 * time.Second

// describeProgram starts a program as a broker would, asks it which plugins it has, and
// stops it.
func describeProgram(ctx context.Context, c host.Command) ([]plugin.Description, error) {
	p, err := host.Launch(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := p.Describe(ctx)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), programStop)
	defer cancel()
	if stopped := p.Stop(stop); err == nil {
		err = stopped
	}
	return all, err
}

// chosen is the plugin of a program that kind and name mean; an empty one means any,
// and there has to be one.
func chosen(all []plugin.Description, kind, name string) (plugin.Description, error) {
	var found []plugin.Description
	var names []string
	for _, d := range all {
		names = append(names, string(d.Kind)+"/"+d.Name)
		if (kind == "" || string(d.Kind) == kind) && (name == "" || d.Name == name) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return plugin.Description{}, output.Usagef("the program has %s; --kind and --plugin say which is meant", strings.Join(names, ", "))
	case len(all) == 0:
		return plugin.Description{}, fmt.Errorf("the program has no plugins")
	}
	return plugin.Description{}, output.Usagef("the program has no %s; it has %s", strings.Trim(kind+"/"+name, "/"), strings.Join(names, ", "))
}
