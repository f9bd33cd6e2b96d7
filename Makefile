# What developers run. `make` is what a change must pass before it is shown.
GO ?= go
export GOFLAGS := -buildvcs=false

.PHONY: all build vet lint proto test race conformance transcripts bench fuzz soak simulate clean

all: vet lint test

build:
	$(GO) build -o mortise ./cmd/mortise

vet:
	$(GO) vet ./...

lint:
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	  if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi
	$(GO) tool staticcheck ./...

# The messages between brokers and plugins: style, what would break plugins that are
# out there (beside the commit AGAINST), and the generated Go.
BUF = $(GO) tool -modfile=../../tools/go.mod buf
AGAINST ?= HEAD
proto:
	cd sdk/proto && $(BUF) lint && $(BUF) breaking --against "../../.git#ref=$(AGAINST),subdir=sdk/proto"
	cd sdk/proto && $(BUF) generate && $(BUF) build -o ../python/mortise_plugin/contract.binpb --exclude-source-info

# Go only, no services, no network.
test:
	$(GO) test ./...

# The rooms where goroutines meet. What the commands' tests start are programs of their
# own, which are built without it: those tests would only take minutes longer, as would
# those of skeletons. So would the simulated cluster, which is one goroutine.
RACY = $$($(GO) list ./core/... ./cluster/... ./plugins/... ./sdk/... ./cmd/internal/... | grep -vE 'clustertest|skeleton')
race:
	$(GO) test -race $(RACY)
	$(GO) test -race -skip 'BuiltinsKeep|SDKReadme|ExamplesRun|FileOfRules' ./cmd/mortise

# Real clients against a real broker; installs what it needs in a private cache.
conformance:
	bash conformance/run.sh

# Long runs of real clients while the broker is in trouble.
soak:
	bash conformance/soak.sh

# The simulated cluster with seeds that nobody has tried, until it is stopped.
simulate:
	$(GO) test ./cluster/clustertest -run DiskSeeds -v -timeout 0 -from $$(date +%s)000 -seeds 1000000000

# Records the transcripts anew from a real Kafka 4.4 (needs Java and Maven).
transcripts:
	bash conformance/record.sh

# Side by side with a real Kafka 4.4; writes bench/RESULTS.md.
bench:
	bash bench/run.sh

# Every fuzz target for FUZZTIME each.
FUZZTIME ?= 30s
fuzz:
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

clean:
	rm -f mortise
