# Every target sets up what it needs in .venv; only Python 3.11+, git and make must be there.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint types contracts unit start-times bench scores best-known commands picture clean

demo: $(READY)  ## Plan the example fleet.
	$(BIN)/colocate plan examples/fleet.yaml

test: lint types contracts unit  ## Everything that must hold.

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy src

contracts: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest

start-times: $(READY)  ## First and later starts, and all strategies on adrs, in seconds.
	$(BIN)/python benchmarks/start_times.py

bench: $(READY)  ## Ours beside CP-SAT, HiGHS and the strategies, on two cases of each suite.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/adrs_race.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/peers.py --cases 2
	$(BIN)/python benchmarks/gap_over_time.py

scores: $(READY)  ## Measure the scores that `colocate strategies` shows.
	$(BIN)/python benchmarks/record_scores.py

best-known: $(READY)  ## Look for better best known values (takes long).
	$(BIN)/python benchmarks/record_best_known.py 60 adrs idle tight mixed longtail scale

commands: $(READY)  ## Write docs/commands.md from the commands themselves.
	$(BIN)/python docs/write_commands.py

picture: $(READY)  ## Draw the plan of the example fleet for the README.
	$(BIN)/python docs/draw_plan.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("colocate needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=...")'
	@echo "installing into .venv, about a minute"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
