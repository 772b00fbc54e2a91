# Fresh machine: Python 3.11+, pip, make. Exact versions come from constraints.txt, so that a set-up can be repeated.
PYTHON ?= python3
PIP := .venv/bin/pip --disable-pip-version-check --quiet
RUN := .venv/bin/digitwise

.PHONY: quickstart setup test lint test-slow bench-hf clean

quickstart: setup  ## train an absolute, a relative and a canvas-free model on short sums, test them on long ones, draw it
	$(RUN) reproduce quickstart

setup: .venv/installed  ## create .venv and install; does nothing when nothing changed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt torch
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

test: lint  ## lint, types and the whole default test suite
	.venv/bin/python -m pytest -n 2

lint: setup
	.venv/bin/ruff check src tests examples benchmarks
	.venv/bin/ruff format --check src tests examples benchmarks
	.venv/bin/mypy

test-slow: setup
	.venv/bin/python -m pytest -m slow

# Options by ARGUMENTS='--repeats 3'. Its environment is not ours: transformers 5 has no relative positions any more.
bench-hf: .venv-hf/installed  ## a training step beside the real BERT of transformers 4.57.6
	.venv-hf/bin/python benchmarks/hugging_face.py $(ARGUMENTS)

.venv-hf/installed: pyproject.toml constraints-hf.txt
	$(PYTHON) -m venv .venv-hf
	.venv-hf/bin/pip --disable-pip-version-check --quiet install --constraint constraints-hf.txt torch
	.venv-hf/bin/pip --disable-pip-version-check --quiet install --constraint constraints-hf.txt transformers --editable .
	touch $@

clean:
	rm -rf .venv .venv-hf build dist
