# Targets of graphrun; `make` lists them. Everything is built into .deps/ and bin/.

PROMPT ?= What is the capital of France?
BACKEND ?= cpu
GO ?= go
# Packages that need neither MLX nor cgo.
PURE ?= ./cmd/... ./compose/... ./diag/... ./docs/... ./dtype/... ./explain/... ./graphs/... ./internal/... ./lsp/... ./model/... \
	./ops/... ./pattern/... ./plan/... ./port/... ./registry/... ./schema/... ./shape/... ./show/... ./text/... ./weights/...

export PROMPT BACKEND MLX_C_SRC MODELS
export PKG_CONFIG_PATH := $(CURDIR)/.deps/lib/pkgconfig$(if $(PKG_CONFIG_PATH),:$(PKG_CONFIG_PATH))

# Go's build cache does not see what pkg-config answers: the checksum of the file tells it when MLX or mlx-c changed.
export CGO_CPPFLAGS = -DGRAPHRUN_DEPS=$(firstword $(shell cksum .deps/lib/pkgconfig/graphrun-mlx.pc 2>/dev/null))

.DEFAULT_GOAL := help
.PHONY: help setup build run test check bench bench-models bench-classes bench-compose fuzz oracle expected coverage generate clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## MLX, mlx-c and OpenBLAS into .deps (BACKEND=cpu|cuda13, MLX_C_SRC=DIR)
	@tools/setup.sh

build: setup ## bin/graphrun
	@$(GO) build -tags mlx -o bin/graphrun ./cmd/graphrun

run: build ## answer PROMPT with the default checkpoint
	@bin/graphrun run --checkpoint "$$(tools/checkpoint.sh)" --prompt "$$PROMPT"

test: setup expected ## all tests, the ones without MLX also without cgo
	CGO_ENABLED=0 $(GO) test $(PURE)
	$(GO) test -tags mlx ./...

check: setup ## formatting, vet and staticcheck, with and without MLX; generated files are current
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet -tags mlx ./...
	@PATH="$(CURDIR)/.deps/bin:$$PATH"; if command -v staticcheck >/dev/null; then staticcheck -tags mlx ./...; else echo "staticcheck is not installed: skipped"; fi
	$(GO) test -count=1 -run 'Generated|Faces' ./mlx/...

bench: build ## tokens per second beside mlx-lm and llama.cpp
	@tools/bench.sh

bench-models: build ## exact graphs beside mlx-lm, for five models on random checkpoints
	@tools/bench-models.sh

bench-classes: setup ## every class that runs here, by row count: µs a call, GB/s and share of memory bandwidth, GFLOP/s, ratios to MLX (minutes); CLASSES=trellis: only those
	CLASSES="$(CLASSES)" $(GO) test -tags mlx -count=1 -v -run TestClassTable ./ops

bench-compose: ## how long composing takes as a whole process, held to its limits; needs no MLX
	@$(GO) run ./tools/bench/compose

quality: build ## KL divergence of what runs by default, and of llama.cpp, from the exact classes over a text; 20 greedy answers (minutes)
	@tools/quality.sh

# Go's -asan instruments C alone. What null, object-size and vptr look for, AddressSanitizer finds, or there is none.
SANITIZED = -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=undefined

asan: setup ## the native kernels under AddressSanitizer and UBSan, with the tests of operators and engine that reach them (half an hour)
	export CGO_CXXFLAGS="-g1 $(SANITIZED)" CGO_LDFLAGS="-fsanitize=address,undefined"; \
	$(GO) test -asan -tags mlx -count=1 -timeout 60m ./mlx/native/... && \
	$(GO) test -asan -tags mlx -count=1 -timeout 60m -run 'InOrder|Trellis|Attend|Caches|Experts|MLPFused|Record' ./ops ./engine

fuzz: ## every fuzz target for FUZZTIME (30s)
	@tools/fuzz.sh

expected: setup
	@tools/oracle.sh

oracle: expected ## hold all models, or MODELS=llama,qwen3_5, to mlx-lm's bits; prints values compared
	@cd e2e && $(GO) test -tags mlx -count=1 -run 'TestOracle$$' -args -report

coverage: expected ## the same, and write docs/coverage.md
	@cd e2e && $(GO) test -tags mlx -count=1 -run 'TestOracle$$' -args -report -update
	@$(GO) test ./docs -run TestCoverage -args -update

generate: setup ## the binding from mlx-c's headers, and all other generated files
	$(GO) generate ./...

clean: ## remove what was built (.deps stays: rm -rf .deps)
	rm -rf bin
	$(GO) clean -testcache
