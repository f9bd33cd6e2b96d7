package api

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// What AlterConfigs (33) and IncrementalAlterConfigs (44) have in common. Each
// resource is changed by itself: what a resource has afterwards is worked out here
// and put in place if nobody changed it meanwhile, else worked out again. Levels of
// loggers are this broker's own and nobody else's business.

// alterAttempts bounds how often a change starts over because of others.
const alterAttempts = 5

// alter is the change of one resource.
type alter struct {
	resource meta.Resource
	replace  bool // keys that are not named go
	keys     []alteration
}

// alterAll changes the resources and returns what became of each.
func (a *API) alterAll(ctx context.Context, r *wire.Request, all []alter, validateOnly bool) []*kafka.Error {
	errs := make([]*kafka.Error, len(all))
	pending := a.admitAlters(r, all, errs)
	for range alterAttempts {
		pending = a.tryAlter(ctx, all, pending, errs, validateOnly)
		if len(pending) == 0 {
			break
		}
	}
	return errs
}

// alterText is the text of a refusal; Kafka has none for the cluster's.
func alterText(why *kafka.Error) *string {
	if why != nil && why.Code == kafka.ErrClusterAuthorizationFailed {
		return nil
	}
	return fullText(why)
}

// admitAlters finds what is wrong with the resources before anybody looks at
// values. It returns the indexes of those that pass.
func (a *API) admitAlters(r *wire.Request, all []alter, errs []*kafka.Error) (pass []int) {
	count := map[meta.Resource]int{}
	for i := range all {
		count[all[i].resource]++
	}
	for i := range all {
		errs[i] = a.admitAlter(r, &all[i], count[all[i].resource] > 1)
		if errs[i] == nil {
			pass = append(pass, i)
		}
	}
	return pass
}

// admitAlter is admitAlters for one resource.
func (a *API) admitAlter(r *wire.Request, c *alter, repeated bool) *kafka.Error {
	if repeated {
		return kafka.ErrInvalidRequest.Err("Each resource must appear at most once.")
	}
	if why := checkAlterations(c.keys); why != nil {
		return why
	}
	switch c.resource.Type {
	case meta.ResourceTopic:
		if !a.authorize(r, OpAlterConfigs, ResourceTopic, c.resource.Name) {
			return kafka.ErrTopicAuthorizationFailed.Err("")
		}
	case meta.ResourceBroker:
		if !a.authorizeCluster(r, OpAlterConfigs) {
			return kafka.ErrClusterAuthorizationFailed.Err("")
		}
		return a.checkBrokerName(c.resource.Name)
	case meta.ResourceClientMetrics:
		if !a.authorizeCluster(r, OpAlterConfigs) {
			return kafka.ErrClusterAuthorizationFailed.Err("")
		}
	case meta.ResourceGroup:
		if !a.authorize(r, OpAlterConfigs, ResourceGroup, c.resource.Name) {
			return kafka.ErrGroupAuthorizationFailed.Err("")
		}
	case meta.ResourceBrokerLogger:
		if c.replace {
			return unknownResource(c.resource.Type)
		}
		if !a.authorizeCluster(r, OpAlterConfigs) {
			return kafka.ErrClusterAuthorizationFailed.Err("")
		}
		return a.checkLoggerName(c.resource.Name)
	default:
		return unknownResource(c.resource.Type)
	}
	return nil
}

// unknownResource refuses a type of resource that can't be changed.
func unknownResource(t meta.ResourceType) *kafka.Error {
	return kafka.ErrInvalidRequest.Err("Unknown resource type " + strconv.Itoa(int(t)))
}

// checkBrokerName wants this broker's id, or nothing: the defaults of all brokers.
func (a *API) checkBrokerName(name string) *kafka.Error {
	if name == "" {
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return kafka.ErrInvalidRequest.Err("Node id must be an integer, but it is: " + name)
	case kafka.BrokerID(id) != a.deps.Self:
		return kafka.ErrInvalidRequest.Err("Unexpected broker id, expected " + strconv.Itoa(int(a.deps.Self)) + ", but received " + name)
	}
	return nil
}

// tryAlter has the pending changes decided on one image. It returns the indexes of
// those that somebody else was faster with.
func (a *API) tryAlter(ctx context.Context, all []alter, pending []int, errs []*kafka.Error, validateOnly bool) (again []int) {
	img := a.fresh(ctx, func(img *meta.Image) bool {
		return !slices.ContainsFunc(pending, func(i int) bool {
			_, exists := img.Topic(all[i].resource.Name)
			return all[i].resource.Type == meta.ResourceTopic && !exists
		})
	})
	var changes []meta.ConfigChange
	var asked []int
	for _, i := range pending {
		if all[i].resource.Type == meta.ResourceBrokerLogger {
			errs[i] = a.alterLoggers(all[i].keys, validateOnly)
			continue
		}
		change, why := a.change(img, &all[i])
		if errs[i] = why; why == nil && !maps.Equal(change.Previous, change.Values) {
			changes, asked = append(changes, change), append(asked, i)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	results, err := a.deps.Control.AlterConfigs(ctx, changes, validateOnly)
	for n, i := range asked {
		if errs[i] = a.refusal(err); err != nil {
			continue
		}
		errs[i] = results[n]
		if results[n] != nil && !maps.Equal(a.image().Config(changes[n].Resource), changes[n].Previous) {
			again = append(again, i)
		}
	}
	return again
}

// change works out what a resource has afterwards, and checks it.
func (a *API) change(img *meta.Image, c *alter) (meta.ConfigChange, *kafka.Error) {
	previous := img.Config(c.resource)
	values, why := altered(c, previous)
	if why == nil {
		why = a.checkAltered(img, c, values)
	}
	return meta.ConfigChange{Resource: c.resource, Previous: previous, Values: values}, why
}

// checkAltered checks what a resource would have, in Kafka's order.
func (a *API) checkAltered(img *meta.Image, c *alter, values map[string]string) *kafka.Error {
	switch c.resource.Type {
	case meta.ResourceBroker:
		if err := config.CheckDynamic(values); err != nil {
			return kafka.ErrInvalidRequest.Err(err.Error())
		}
		return nil
	case meta.ResourceClientMetrics:
		if c.resource.Name == "" {
			return kafka.ErrInvalidRequest.Err("Subscription name can't be empty")
		}
		return a.refusal(config.CheckClientMetrics(values))
	case meta.ResourceGroup:
		if c.resource.Name == "" {
			return kafka.ErrInvalidRequest.Err("Default group resources are not allowed.")
		}
		return a.refusal(a.deps.Config().CheckGroup(img, values))
	}
	return a.checkAlteredTopic(img, c, values)
}

// checkAlteredTopic is checkAltered for a topic.
func (a *API) checkAlteredTopic(img *meta.Image, c *alter, values map[string]string) *kafka.Error {
	if c.resource.Name == "" {
		return kafka.ErrInvalidRequest.Err("Default topic resources are not allowed.")
	}
	if why := checkTopicName(c.resource.Name); why != nil {
		return why
	}
	if why := a.refusal(a.deps.Config().CheckTopic(img, values)); why != nil {
		return why
	}
	if _, exists := img.Topic(c.resource.Name); !exists {
		return kafka.ErrUnknownTopicOrPartition.Err("The topic '" + c.resource.Name + "' does not exist.")
	}
	return nil
}
