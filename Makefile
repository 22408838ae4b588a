# make            lists the targets
# make run        trains with configs/standard.yaml in runs/standard
# make test       everything that must hold

CONFIG      ?= configs/standard.yaml
DIR         ?= runs/standard
FUZZTIME    ?= 20s
LAWS        ?= 2000000
KILLS       ?= 100
SOAK        ?= 1h
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
BIN         := bin/yinshzero$(shell go env GOEXE)

# Nothing here needs a C compiler but the race detector. One value for all keeps the build cache in one piece.
export CGO_ENABLED := 0

.PHONY: help run build wasm test check vet staticcheck unit checkptr race invariants laws kills soak cross fuzz bench signature generate clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and train: CONFIG=configs/standard.yaml DIR=runs/standard
	$(BIN) run --config $(CONFIG) --dir $(DIR)

build: wasm ## the binary, in bin/
	go build -buildvcs=auto -o $(BIN) ./cmd/yinshzero

wasm: ## what an exported page runs, for the binary to carry
	go generate ./web/static

test: check unit race invariants ## everything: check, unit, race, invariants, and two of the platforms
	@$(MAKE) --no-print-directory cross PLATFORMS='darwin/arm64 windows/amd64'

check: vet staticcheck ## formatting, vet and staticcheck

vet: ## gofmt and go vet
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	GOOS=js GOARCH=wasm go vet -trimpath ./web/wasm

staticcheck: ## staticcheck
	go run $(STATICCHECK) ./...

unit: wasm ## the tests; those that want ONNX Runtime or a browser are left out with a word where there is none, but not in CI
	@scripts/onnxruntime.sh || test -z "$$CI"
	@scripts/browser.sh || test -z "$$CI"
	go test ./...

checkptr: ## the kernels' short tests with every conversion of a pointer checked
	go test -gcflags=all=-d=checkptr -short ./net/kernel

race: checkptr ## that, and the short tests under the race detector, which needs a C compiler
	@scripts/compiler.sh || exit 0; set -x; CGO_ENABLED=1 go test -race -short ./...

invariants: ## the rules and the search with their assertions compiled in
	go test -tags invariants -short ./rules ./mcts

laws: ## the laws of the rules in LAWS=2000000 Positions of random games
	go test ./rules -run '^TestLaws$$' -timeout 0 -laws $(LAWS)

cross: ## build for every platform
	@for p in $(PLATFORMS); do echo $$p; GOOS=$${p%/*} GOARCH=$${p#*/} go build ./... || exit 1; done

kills: ## a run killed KILLS=100 times, at every step of writing every kind of file
	go test ./pipeline -run '^TestKilled$$' -v -timeout 0 -kills $(KILLS)

soak: ## a run for SOAK=1h: what it holds in memory and how fast it is; fails if something grows
	go test ./pipeline -run '^TestSoak$$' -v -timeout 0 -soak $(SOAK)

fuzz: ## every fuzz target for FUZZTIME=20s
	scripts/fuzz.sh $(FUZZTIME)

bench: build ## speed of rules, network, training and search
	for kind in rules eval train search selfplay; do $(BIN) bench $$kind --json; done

signature: build ## one hash of the search's behaviour
	$(BIN) bench signature

generate: ## the kernels' assembly, from its generator
	go generate ./...

clean: ## remove what was built; runs stay
	rm -rf bin
