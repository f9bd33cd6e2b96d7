package broker

import (
	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/lag"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/kafka"
)

// newLags looks at the offsets that this broker coordinates and the ends of the
// partitions that it has.
func (b *Broker) newLags(groups *coordinator.Coordinator, roles *reconcile.Roles) *lag.Lags {
	return lag.New(lag.Options{Groups: groups.Offsets, Clock: b.options.Clock,
		End: func(topic string, n int32) (int64, bool) {
			p, code := roles.ByName(topic, n)
			if code != kafka.None || p.Log() == nil {
				return 0, false
			}
			return int64(p.HighWatermark()), true
		}})
}

// lags are the lags for /metrics; none while the broker starts.
func (b *Broker) lags() (out admin.Lags) {
	l := b.shown.lags.Load()
	if l == nil {
		return out
	}
	r := l.Report()
	out.Hidden, out.Unknown = r.Hidden, r.Unknown
	for _, p := range r.Pairs {
		out.Pairs = append(out.Pairs, admin.GroupLag{Group: p.Group, Topic: p.Topic, Records: p.Lag})
	}
	return out
}
