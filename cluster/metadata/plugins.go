package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

func (m *machine) alterPlugins(c *AlterPlugins) []*kafka.Error {
	errs, seen := make([]*kafka.Error, len(c.Changes)), map[string]bool{}
	for n, change := range c.Changes {
		asked := meta.PluginChange(change)
		if errs[n] = m.old.CheckPluginChange(&asked, seen); errs[n] == nil {
			m.edit().AlterPlugin(&asked)
		}
	}
	return errs
}
