# Two commands do everything: `make chat` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := .venv-extras

# Whoever forbids Python to keep what it compiled would compile everything for every process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help chat test test-all smoke check unit lint types layers static stories integration \
	contract docs ui ui-check e2e window speed chaos pictures test-extras test-docker ready sandbox browser attack attack-docker bench bench-memory \
	bench-sandbox bench-server bench-data bench-skills bench-context bench-agentdojo \
	bench-small-model bench-footprint bench-deep-work bench-delegation bench-agents bench-jobs clean

help:
	@echo "make chat    install and talk to the agent"
	@echo "make test    the whole check: lint, types, layers, and every test"
	@echo "make test-all  the same with everything that takes long: more deaths, more examples"
	@echo "make smoke   does it start, answer, remember and run code? Under half a minute"
	@echo "make check   the fast part of the tests"
	@echo "make ui      build the window, to be committed with its source"
	@echo "make pictures  take the pictures of it that the README shows"
	@echo "make test-extras  the engines with heavy extras, in a venv of their own"
	@echo "make test-docker  the sandbox's tests in containers, with podman"
	@echo "make attack  hostile code, paths, addresses and pages against what must hold them"
	@echo "make attack-docker  the same in containers, with podman"
	@echo "make bench   measure, side by side with peers"
	@echo "make bench-server  the same for many sessions at once"
	@echo "make bench-memory  the same for memories: what is found, and how fast"
	@echo "make bench-skills  what skills cost: a call, a step, a request"
	@echo "make bench-context  what a long session costs: a standing block, 10,000 messages"
	@echo "make bench-footprint  what the program needs: to be ready, for a question, over many turns"
	@echo "make bench-deep-work  what a finished task of a long work costs, after a kill and with a liar, too"
	@echo "make bench-delegation  what a delegate costs beside those of peers, and what a kill leaves of four"
	@echo "make bench-agents  what agents cost: to look one up, to route a message to one of a thousand"
	@echo "make bench-jobs  whether any planned moment is lost or doubled, and what idle jobs cost"
	@echo "make bench-agentdojo  what the gate lets through, and what it asks"
	@echo "make bench-small-model  which tools the model in the box chooses, through the whole agent"

# The stamps are newer than pyproject.toml exactly when the venv matches it.
$(VENV)/.ready: pyproject.toml
	@.ci/venv $(PYTHON) $(VENV) . --group dev
	@touch $@ $(VENV)/.chat

# Talking needs no more than the program and the model in the box.
$(VENV)/.chat: pyproject.toml
	@echo "Installing into $(VENV) …"
	@.ci/venv $(PYTHON) $(VENV) '.[local]'
	@touch $@

chat: $(VENV)/.chat
	@.ci/system --try bubblewrap libgomp1
	@$(BIN)/lra chat

lint: $(VENV)/.ready
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/codespell

types: $(VENV)/.ready
	@$(BIN)/pyright

layers: $(VENV)/.ready
	@$(BIN)/lint-imports

# What is heavy has its own target. Who is done takes tests from the others.
PYTEST := $(BIN)/pytest -q -m 'not heavy' -n 3 --dist worksteal

unit: $(VENV)/.ready sandbox
	@$(PYTEST) tests/unit

# The sandbox and the model in the box are tested for real.
sandbox:
	@.ci/system bubblewrap git libgomp1

integration: $(VENV)/.ready sandbox
	@$(PYTEST) tests/integration

contract: $(VENV)/.ready sandbox
	@$(PYTEST) tests/contract

docs: $(VENV)/.ready sandbox
	@$(PYTEST) tests/docs

# As with the venv, so with what the window is built with. Not by `npm ci`: it insists on a lock of
# the parts for every other platform, too, which not every registry has.
MODULES := ui/node_modules/.ready

$(MODULES): ui/package.json ui/package-lock.json $(VENV)/.ready
	@cd ui && ../.ci/node npm install --no-save --prefer-offline --loglevel error >/dev/null
	@touch $@

# What is built is committed: installing needs no Node.
ui: $(MODULES)
	@$(BIN)/python ui/shapes.py
	@cd ui && ../.ci/node npm run --silent check
	@cd ui && ../.ci/node npm test --silent -- --reporter=dot
	@cd ui && ../.ci/node npm run --silent build

ui-check: $(MODULES)
	@.ci/node .ci/window

# So are the window, and the tools that show pages in a browser.
browser:
	@.ci/system chromium

WINDOW := tests/e2e/window

e2e: $(VENV)/.ready sandbox browser
	@$(PYTEST) --ignore $(WINDOW) tests/e2e

# A browser and a server for each file; what is timed has the machine to itself.
window: $(VENV)/.ready $(MODULES) sandbox browser
	@$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --ignore $(WINDOW)/test_speed.py $(WINDOW)

speed: $(VENV)/.ready $(MODULES) sandbox browser
	@$(BIN)/pytest -q $(WINDOW)/test_speed.py

pictures: $(VENV)/.ready browser
	@LRA_PICTURES=1 $(BIN)/pytest -q $(WINDOW)/test_pictures.py

static: lint types layers ui-check

# In one run: each begins with the imports of its workers, and ends with waiting for one of them.
stories: $(VENV)/.ready sandbox browser
	@$(PYTEST) --ignore $(WINDOW) tests

check: lint types layers unit

# Everything that any part needs, before the first test runs.
ready: $(VENV)/.ready $(MODULES)
	@.ci/system bubblewrap git libgomp1 chromium

test: ready
	@MAKE="$(MAKE)" .ci/beside static stories window
	@$(MAKE) --no-print-directory speed

# Then also what the gate shows with fewer deaths, variants and examples.
test-all: test
	@$(BIN)/pytest -q -n 3 --dist worksteal -m 'heavy or hypothesis' --hypothesis-profile all tests

# At least two hundred times kill -9.
chaos: $(VENV)/.ready sandbox
	@$(BIN)/pytest -q -n 3 --dist worksteal -m heavy tests/e2e/test_chaos.py tests/e2e/test_memory_chaos.py tests/e2e/test_compaction_chaos.py tests/e2e/test_work_chaos.py tests/e2e/test_delegation_chaos.py tests/e2e/test_job_chaos.py

smoke: $(VENV)/.ready sandbox
	@$(BIN)/pytest -q tests/smoke

# Gigabytes of torch, so neither in the venv nor in the tests that everybody runs. Of one version,
# pip prefers the build "+cpu" wherever it can have it; a newer one would bring CUDA along instead.
TORCH ?= torch==2.13.0

$(EXTRAS)/.ready: pyproject.toml
	@.ci/venv $(PYTHON) $(EXTRAS) . --group dev
	@$(EXTRAS)/bin/python -m pip install -q $(TORCH)
	@$(EXTRAS)/bin/python -m pip install -q --editable '.[transformers]'
	@touch $@

test-extras: $(EXTRAS)/.ready
	@$(EXTRAS)/bin/pytest -q tests/extras

# A daemon and an image are too much for everybody's tests.
test-docker: $(VENV)/.ready
	@.ci/podman $(BIN)/pytest -q tests/contract/test_sandbox.py -k docker

attack-docker: $(VENV)/.ready
	@.ci/podman $(BIN)/python -m tests.attacks --backend docker

HOSTILE := tests/unit/test_addresses.py tests/unit/sandbox/test_workspace.py \
	tests/unit/tools/test_files.py tests/unit/tools/test_web.py \
	tests/unit/domain/test_hazards.py tests/integration/test_taint.py \
	tests/integration/server/test_attacks.py \
	tests/contract/test_skill_attacks.py tests/contract/test_skill_candidates.py

# The sandbox first, then the file tools, the web tools, the gate and the skills.
attack: $(VENV)/.ready sandbox
	@$(BIN)/python -m tests.attacks --control
	@$(BIN)/python -m tests.attacks
	@$(BIN)/pytest -q $(HOSTILE)

bench: $(VENV)/.ready sandbox
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.sandbox

bench-sandbox: $(VENV)/.ready sandbox
	@$(BIN)/python -m benchmarks.sandbox

bench-server: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.server_load
	@$(BIN)/python -m benchmarks.server_load --alike

bench-data: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.data_view

bench-memory: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.memory_quality
	@$(BIN)/python -m benchmarks.memory_speed

bench-small-model: $(VENV)/.ready sandbox
	@$(BIN)/python -m benchmarks.small_model

bench-footprint: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.footprint --turns 5000 --rounds 1

bench-skills: $(VENV)/.ready sandbox
	@$(BIN)/python -m benchmarks.skills

bench-context: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.context_cost

bench-deep-work: $(VENV)/.ready sandbox
	@$(BIN)/python -m benchmarks.deep_work

bench-delegation: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.delegation

bench-agents: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.agents

bench-jobs: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.jobs

bench-agentdojo: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.agentdojo

clean:
	rm -rf $(VENV) $(EXTRAS) .venv-bench .venv-bench-kernel dist
