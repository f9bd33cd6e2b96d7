package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/settings"
)

const configurationReference = "../../docs/configuration.md"

// TestConfigurationReference holds docs/configuration.md to the keys that there are.
//
//	go test ./cmd/mortise -run ConfigurationReference -rewrite
func TestConfigurationReference(t *testing.T) {
	got := configurationPage()
	if *rewrite {
		write(t, configurationReference, got)
		return
	}
	want, err := os.ReadFile(configurationReference)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/configuration.md is not what there is to set (-rewrite writes it anew):\n%s", difference(string(want), got))
	}
}

// configurationPage is the reference of all keys.
func configurationPage() string {
	var b strings.Builder
	b.WriteString(`# Configuration

Every key, from the tables that the broker itself works with. A test writes this page and holds it to them: ` +
		"`go test ./cmd/mortise -run ConfigurationReference -rewrite`" + `. ` + "`mortise config show --keys`" + ` prints the first two tables.

## The settings file

A change of a *live* key counts after SIGHUP; one of a *restart* key when the broker starts again.

| key | type | default | change | meaning |
|---|---|---|---|---|
`)
	for _, k := range settings.Keys() {
		row(&b, k.Name(), k.Type, settings.Value{Value: k.Default}.Text(), change(k.Live), k.Doc)
	}
	b.WriteString(`
## Kafka's broker keys

They stand under ` + "`defaults:`" + ` in the settings file. *File* says when a changed file counts. *Dynamic* keys can be changed while the broker runs, for one broker or as the default of all of them (` + "`kafka-configs --entity-type brokers`" + `); that counts at once, and before the file. The others are refused there, as in Kafka.

| key | type | default | file | dynamic | meaning |
|---|---|---|---|---|---|
`)
	for _, k := range config.BrokerKeys() {
		dynamic := "yes"
		if k.ReadOnly {
			dynamic = "no"
		}
		row(&b, k.Name, k.Type.String(), k.Default, change(k.Live), dynamic, k.Doc)
	}
	b.WriteString(`
## Keys of topics

A topic's own value counts before the broker key that is its default (` + "`kafka-configs --entity-type topics`" + `, or at creation). Changes count at once.

| key | type | default from | default | meaning |
|---|---|---|---|---|
`)
	withSynonyms(&b, config.TopicKeys(), func(k *config.Key) string { return k.Default })
	b.WriteString(`
## Keys of groups

For groups of the consumer protocol (KIP-848; ` + "`kafka-configs --entity-type groups`" + `). Changes count at once. The keys of share and streams groups are unknown: there are no such groups.

| key | type | default from | default | meaning |
|---|---|---|---|---|
`)
	withSynonyms(&b, config.GroupKeys(), func(k *config.Key) string {
		broker, _ := config.LookupBroker(k.Synonyms[0])
		return broker.Default
	})
	b.WriteString(`
## Subscriptions to the metrics of clients

They can be set and shown (` + "`kafka-client-metrics`" + `, KIP-714), as in a Kafka whose metrics reporters receive none: no client is asked for its metrics.

| key | type | default | meaning |
|---|---|---|---|
`)
	for _, k := range config.ClientMetricsKeys() {
		row(&b, k.Name, k.Type.String(), k.Default, k.Doc)
	}
	b.WriteString(`
## Loggers

Each room of the broker has a logger, ` + "`mortise.ROOM`" + `, whose level is that of ` + "`root`" + ` (` + "`log.level`" + ` in the settings file) until it gets its own: ` + "`kafka-configs --entity-type broker-loggers --entity-name 1 --alter --add-config mortise.compaction=DEBUG`" + `. Levels are TRACE, DEBUG, INFO, WARN, ERROR and FATAL; they last until the broker stops. SIGHUP sets the root's anew.
`)
	return b.String()
}

// change is the word for when a changed file counts.
func change(live bool) string {
	if live {
		return "live"
	}
	return "restart"
}

// withSynonyms writes rows of keys whose defaults come from others.
func withSynonyms(b *strings.Builder, keys []config.Key, def func(*config.Key) string) {
	for i := range keys {
		k := &keys[i]
		from := make([]string, len(k.Synonyms))
		for n, s := range k.Synonyms {
			from[n] = "`" + s + "`"
		}
		row(b, k.Name, k.Type.String(), strings.Join(from, ", "), def(k), k.Doc)
	}
}

// row writes one row; the first cell is code.
func row(b *strings.Builder, cells ...string) {
	cells[0] = "`" + cells[0] + "`"
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}
