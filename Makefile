# The commands of the project. Every one does the set-up that it needs first, and nothing that is done already.
#
#   make demo      make test      make help

SHELL := /bin/bash
BUILD := build
VENV := .venv
VENV_BENCH := .venv-bench
PREFIX ?= /usr/local
PYTHON ?= python3
JOBS ?= $(shell nproc)
export PYTHON JOBS

.DEFAULT_GOAL := help
# Of `make bench`: what to run (WORK=softmax), and other options (ARGS=--quick).
WORK ?=
ARGS ?=

.PHONY: help setup system build demo bench bench-compile notebook guard test test-packages test-cpp test-lit test-python test-example explore install \
        format lint lint-setup tidy clean distclean

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

test: build test-packages ## Run all tests
	@scripts/run-tests.sh $(BUILD) $(VENV) example lit cpp guard python

test-cpp: build ## Run the C++ tests
	@scripts/run-tests.sh $(BUILD) $(VENV) cpp

test-lit: build ## Run the text IR tests
	@scripts/run-tests.sh $(BUILD) $(VENV) lit

test-python: build test-packages ## Run the Python tests
	@scripts/run-tests.sh $(BUILD) $(VENV) python

explore: build test-packages ## Run the Python tests with new random examples, eight times as many
	@HYPOTHESIS_PROFILE=explore scripts/run-tests.sh $(BUILD) $(VENV) python

test-example: build ## Build and run the find_package example
	@scripts/run-tests.sh $(BUILD) $(VENV) example

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
	rm -rf $(BUILD) build-debug build-asan build-tsan

distclean: clean ## Remove .venv and .venv-bench too
	rm -rf $(VENV) $(VENV_BENCH) .pytest_cache .hypothesis .mypy_cache .ruff_cache dist
