# Fresh machine: Python 3.11+, pip, make. Exact versions come from constraints.txt, so that a set-up can be repeated.
PYTHON ?= python3
PIP := .venv/bin/pip --disable-pip-version-check --quiet
RUN := .venv/bin/digitwise

.PHONY: quickstart setup test lint test-slow clean

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
	.venv/bin/ruff check src tests examples
	.venv/bin/ruff format --check src tests examples
	.venv/bin/mypy

test-slow: setup
	.venv/bin/python -m pytest -m slow

clean:
	rm -rf .venv build dist
