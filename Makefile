# Every target sets up what it needs in .venv; only Python 3.11+, git and make must be there.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Kernels are cached per state of the sources: an edited kernel is never mixed with an old one.
STATE = $(shell cat $$(find src -name '*.py' | LC_ALL=C sort) | cksum | cut -d' ' -f1)
export NUMBA_CACHE_DIR = $(CURDIR)/.cache/kernels-$(STATE)

.PHONY: demo test lint types contracts unit picture commands scores best-known clean

demo: $(READY)
	$(BIN)/colocate plan examples/fleet.yaml

test: lint types contracts unit

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy src

contracts: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest
