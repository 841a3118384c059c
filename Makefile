# The commands of the project. Every one does the set-up that it needs first, and nothing that is done already.
#
#   make demo      make test      make help

SHELL := /bin/bash
BUILD := build
VENV := .venv
VENV_BENCH := .venv-bench
VENV_SITE := .venv-site
PREFIX ?= /usr/local
PYTHON ?= python3
JOBS ?= $(shell nproc)
export PYTHON JOBS

.DEFAULT_GOAL := help
# Of `make bench`: what to run (WORK=softmax), and other options (ARGS=--quick).
WORK ?=
ARGS ?=

.PHONY: help setup system build demo bench bench-compile notebook guard test test-packages test-cpp test-lit test-python test-example test-site site \
        explore fuzz fuzz-parser fuzz-files fuzz-kept build-libfuzzer exhaustive asan tsan soak install format lint lint-setup tidy clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: system $(VENV)/.ready ## Install the system packages and make .venv

# A check of a few milliseconds when all is there, so that it needs no stamp that could be wrong.
system:
	@scripts/install-packages.sh scripts/packages-build.txt

$(VENV)/.ready: requirements-dev.txt scripts/make-venv.sh | system
	@scripts/make-venv.sh $(VENV) requirements-dev.txt

$(BUILD)/build.ninja: $(VENV)/.ready | system
	@cmake --fresh --preset release -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python
	@touch $@

build: setup $(BUILD)/build.ninja ## Build all: library, command, Python package, tests
	@cmake --build $(BUILD) --parallel $(JOBS)
	@scripts/link-package.sh $(VENV) $(BUILD)

demo: build ## Compile and time four programs against NumPy
	@$(VENV)/bin/python bench/demo.py

$(VENV_BENCH)/.ready: requirements-bench.txt scripts/make-bench-venv.sh | system
	@scripts/make-bench-venv.sh $(VENV_BENCH)

bench: build $(VENV_BENCH)/.ready ## Time everything against its peers; WORK=softmax for some, ARGS=--quick
	@scripts/link-package.sh $(VENV_BENCH) $(BUILD)
	@$(VENV_BENCH)/bin/python bench/suite.py $(WORK) $(ARGS)

bench-compile: build ## Count the instructions that compiling takes
	@scripts/install-packages.sh valgrind
	@$(VENV)/bin/python bench/compile_cost.py $(WORK) $(ARGS)

notebook: build ## Run examples/how_fusion_works.ipynb in place, so that it shows this machine
	@$(VENV)/bin/python scripts/run_notebook.py examples/how_fusion_works.ipynb

guard: build ## Check in seconds that no speed has collapsed, against NumPy only
	@$(VENV)/bin/python bench/guard.py

# The browser that the tests of pages drive.
test-packages:
	@scripts/install-packages.sh scripts/packages-test.txt

test: build test-packages $(VENV_SITE)/.ready ## Run all tests
	@scripts/run-tests.sh $(BUILD) $(VENV) example lit cpp guard site python

test-cpp: build ## Run the C++ tests
	@scripts/run-tests.sh $(BUILD) $(VENV) cpp

test-lit: build ## Run the text IR tests
	@scripts/run-tests.sh $(BUILD) $(VENV) lit

test-python: build test-packages ## Run the Python tests
	@scripts/run-tests.sh $(BUILD) $(VENV) python

explore: build test-packages ## Run the Python tests with new random examples, eight times as many
	@HYPOTHESIS_PROFILE=explore scripts/run-tests.sh $(BUILD) $(VENV) python

# Of `make fuzz` and `make soak`: how long (SECONDS=600; until stopped otherwise, or an hour), and from which program on (FIRST=0).
SECONDS ?=
FIRST ?=

fuzz: build ## Try random programs against the interpreter until stopped; SECONDS=600 for so long
	@$(VENV)/bin/python tests/fuzz/run.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(FIRST),--first $(FIRST)) \
	  --keep $(BUILD)/fuzz-failures $(BUILD)/tests/fuzz/fuzz_programs

fuzz-parser: build-libfuzzer ## Give the parser and the passes made-up text until stopped; SECONDS=600 for so long
	$(call libfuzzer,fuzz_text,$(wildcard tests/ir/*))

fuzz-files: build-libfuzzer ## Give other readers of files made-up bytes until stopped; SECONDS=600 for so long
	$(call libfuzzer,fuzz_files,tests/fuzz/files/seeds)

fuzz-kept: build-libfuzzer ## Give the readers of kept programs and their code made-up ones until stopped; SECONDS=600 for so long
	$(call libfuzzer,fuzz_kept,)

build-libfuzzer: setup
	@scripts/install-packages.sh clang-22 libclang-rt-22-dev
	@cmake --preset libfuzzer >/dev/null
	@cmake --build --preset libfuzzer --parallel $(JOBS)

# The program, and what it begins with. What it finds worth keeping stays from run to run.
define libfuzzer
@mkdir -p build-libfuzzer/corpus/$(1) build-libfuzzer/found
@build-libfuzzer/tests/fuzz/$(1) -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
  -artifact_prefix=build-libfuzzer/found/ -print_final_stats=1 $(if $(SECONDS),-max_total_time=$(SECONDS)) \
  build-libfuzzer/corpus/$(1) $(2)
endef

exhaustive: build ## Try all values of f32, f16, bf16 and all pairs of int8, and write docs/numerics.md; ARGS="--function exp" for less
	@rm -f $(BUILD)/exhaustive.jsonl
	@$(BUILD)/tests/exhaustive/exhaustive functions --jobs $(JOBS) --results $(BUILD)/exhaustive.jsonl $(ARGS)
	@$(BUILD)/tests/exhaustive/exhaustive pairs --results $(BUILD)/exhaustive.jsonl $(ARGS)
	@$(VENV)/bin/python tests/exhaustive/page.py $(BUILD)/exhaustive.jsonl

asan: setup ## Run the C++ tests and random programs under the address and undefined-behaviour sanitizers
	@scripts/run-sanitizer.sh asan

tsan: setup ## Run them under the thread sanitizer
	@scripts/run-sanitizer.sh tsan

soak: build ## Many threads, functions and faults at once, for an hour or SECONDS=600; then in C++ under the thread sanitizer
	@$(VENV)/bin/python tests/soak/soak.py --seconds $(or $(SECONDS),3600)
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --parallel $(JOBS) --target soak_test
	@TSAN_OPTIONS=suppressions=tests/tsan.supp TOKAMAK_SOAK_SECONDS=$(or $(SECONDS),3600) build-tsan/tests/unit/soak_test

test-example: build ## Build and run the find_package example
	@scripts/run-tests.sh $(BUILD) $(VENV) example

test-site: build test-packages $(VENV_SITE)/.ready ## Build the documentation site and look at it with a browser
	@scripts/run-tests.sh $(BUILD) $(VENV) site

$(VENV_SITE)/.ready: requirements-site.txt scripts/make-venv.sh | system
	@scripts/make-venv.sh $(VENV_SITE) requirements-site.txt

site: build $(VENV_SITE)/.ready ## Build the documentation site, build/site/html; broken links are errors
	@scripts/build-site.sh $(BUILD) $(VENV) $(VENV_SITE)

install: build ## Install the C++ library, headers and command under PREFIX
	@cmake --install $(BUILD) --component cpp --prefix $(PREFIX)

lint-setup: $(VENV)/.ready
	@scripts/install-packages.sh scripts/packages-lint.txt
	@test -x $(VENV)/bin/ruff -a -x $(VENV)/bin/mypy -a -x $(VENV)/bin/pre-commit || \
	  $(VENV)/bin/python -m pip install --disable-pip-version-check --no-input --requirement requirements-lint.txt

CPP_FILES = $(shell git ls-files '*.cpp' '*.h')

format: lint-setup ## Format C++ and Python in place
	@clang-format -i $(CPP_FILES)
	@$(VENV)/bin/ruff format .

lint: lint-setup ## Check format, Python lint and Python types
	@clang-format --dry-run -Werror $(CPP_FILES)
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

tidy: lint-setup build ## Run clang-tidy over the C++ sources
	@run-clang-tidy-22 -quiet -p $(BUILD) -j $(JOBS) '$(CURDIR)/(src|tools|python/src)/.*'

clean: ## Remove what was built
	rm -rf $(BUILD) build-debug build-asan build-tsan build-libfuzzer

distclean: clean ## Remove .venv and its like too
	rm -rf $(VENV) $(VENV_BENCH) $(VENV_SITE) .pytest_cache .hypothesis .mypy_cache .ruff_cache dist
