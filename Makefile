# Everything starts from python3 >= 3.11 and nothing else; the environment is private to the checkout.
# `make help` lists what there is.

PYTHON ?= python3
ENV    := .venv
BIN    := $(ENV)/bin
CORES  ?= 2
ARGS   ?=
SEEDS  ?= 200
ENGINE ?= sqlite

# The environment is made from the lock as it stands, with this Python and no other.
export UV_PROJECT_ENVIRONMENT := $(ENV)
export UV_PYTHON := $(CURDIR)/$(BIN)/python
export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV
# Hundreds of processes are started by tests: each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
SYNC := $(BIN)/uv sync --frozen --inexact --all-extras --compile-bytecode --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run env test check lint format types contracts audit sim bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(ENV)/run.stamp ## start it here, with demo data: server, workers and dashboard
	@$(BIN)/watchkeeper dev --demo $(ARGS)

env: $(ENV)/dev.stamp ## the development environment in .venv

# Everything is run even when something fails early: one run tells all there is to mend.
test: $(ENV)/dev.stamp ## all that must hold: lint, types, import contracts, every test on both databases
	@held=0; $(MAKE) --no-print-directory --keep-going check || held=1; \
		$(BIN)/pytest -n $(CORES) --dist worksteal $(ARGS) || held=1; exit $$held

check: lint types contracts

lint: $(ENV)/dev.stamp ## ruff, its formatter included
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check src tests bench tools examples

format: $(ENV)/dev.stamp ## let ruff write what it would ask for
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format src tests bench tools examples

types: $(ENV)/dev.stamp ## mypy, strict
	@$(BIN)/mypy

contracts: $(ENV)/dev.stamp ## imports only go down
	@$(BIN)/lint-imports --no-logo

audit: $(ENV)/dev.stamp ## known vulnerabilities in what is locked
	@$(BIN)/python .ci/audit.py

sim: $(ENV)/dev.stamp ## play SEEDS=200 of the simulator on ENGINE=sqlite; ARGS="--from 1000 --reached"
	@$(BIN)/python -m tests.sim --seeds $(SEEDS) --engine $(ENGINE) $(ARGS)

bench: $(ENV)/bench.stamp ## measure against the raw database and against peers
	@$(BIN)/python -m bench $(ARGS)

clean: ## remove the environment and what tools left behind
	rm -rf $(ENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENV)/uv.stamp: .ci/uv.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
		v >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}; try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(ENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/uv.txt
	@touch $@

$(ENV)/run.stamp: $(ENV)/uv.stamp uv.lock pyproject.toml
	@echo "preparing the environment in $(ENV)"
	@$(SYNC) --no-default-groups
	@touch $@

$(ENV)/dev.stamp: $(ENV)/uv.stamp uv.lock pyproject.toml
	@echo "preparing the development environment in $(ENV)"
	@$(SYNC) --group dev
	@touch $@ $(ENV)/run.stamp

$(ENV)/bench.stamp: $(ENV)/uv.stamp uv.lock pyproject.toml
	@echo "preparing the benchmark environment in $(ENV)"
	@$(SYNC) --group dev --group bench
	@touch $@ $(ENV)/dev.stamp $(ENV)/run.stamp
