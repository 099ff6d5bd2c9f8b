KAFKA_VERSION ?= 3.9.2
OUT ?= bin
GO ?= go

.PHONY: help build check test nightly sim demo rehearse jars sshd update fix fuzz bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## build bin/migrator
	$(GO) build -buildvcs=auto -o $(OUT)/migrator ./cmd/migrator

rehearse: jars build ## the main job: migrate a real cluster on this machine, forward to the end
	$(OUT)/migrator rehearse $(ARGS)

check: ## everything that needs no Kafka, under a minute
	@test -z "$$(gofmt -l cmd internal test web)" || { echo "gofmt is needed on:"; gofmt -l cmd internal test web; exit 1; }
	$(GO) vet ./...
	$(GO) test -short $$($(GO) list ./... | grep -v /test/lab)

test: jars sshd ## all that CI runs, real ZooKeeper and Kafka included
	@test -z "$$(gofmt -l cmd internal test web)" || { echo "gofmt is needed on:"; gofmt -l cmd internal test web; exit 1; }
	$(GO) vet ./...
	$(GO) test -count=1 -p 1 -timeout 43m ./...

nightly: jars sshd ## longer matrices: every test with the race detector, 3000 seeds of random faults, every death for real, more on real Kafka
	MIGRATOR_NIGHTLY=1 SIM_SWEEP=1 SIM_N=3000 $(GO) test -race -count=1 -p 1 -timeout 180m ./...

sim: ## the simulator: a death at every journal entry, 500 seeds of random faults; N=2000 seeds, or SEED=7 alone
	@echo "seeds: $(or $(SEED),1 to $(or $(N),500))"
	SIM_SEED=$(SEED) SIM_N=$(N) $(GO) test -count=1 -timeout 60m $(if $(SEED),-v -run TestWhatever,-run 'TestWhatever|TestKilled|TestThereAndBack|TestTheRulesCatch') ./internal/orchestrate

demo: build ## the service and its page on a simulated cluster, no Java
	$(OUT)/migrator demo $(ARGS)

jars: ## get Kafka's and ZooKeeper's jars through Maven into .lab, once
	@sh internal/lab/jars.sh $(KAFKA_VERSION) .lab/kafka-$(KAFKA_VERSION)

sshd: ## install OpenSSH's server, sudo and busybox for the tests of access to nodes, as root where they are missing
	@sh internal/remote/sshtest/install.sh

update: ## rewrite golden files; read the difference before you commit it
	$(GO) test ./internal/configgen ./internal/config ./internal/runbook ./web ./cmd/migrator -update

fix: ## format
	gofmt -w cmd internal test web

fuzz: ## each fuzz target for a minute
	@for p in $$($(GO) list ./internal/...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		$(GO) test $$p -run '^$$' -fuzz "^$$f$$" -fuzztime 60s -fuzzminimizetime 5x || exit 1; done; done

bench: jars ## 404,000 znodes of a real ZooKeeper, read in bulk and plainly, side by side
	$(GO) test ./test/lab -run '^$$' -bench BulkReading -benchtime 1x -timeout 20m

clean: ## remove what was built; keeps the jars
	rm -rf $(OUT)
