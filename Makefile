# Fresh machine: Python 3.11+, pip, make. Exact versions come from constraints.txt, so that a set-up can be repeated.
PYTHON ?= python3
PIP := .venv/bin/pip --disable-pip-version-check --quiet
RUN := .venv/bin/digitwise

.PHONY: quickstart setup test lint test-slow bench-hf proof coqc clean

quickstart: setup  ## train an absolute, a relative and a canvas-free model on short sums, test them on long ones, draw it
	$(RUN) reproduce quickstart

setup: .venv/installed  ## create .venv and install; does nothing when nothing changed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt torch
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

test: lint  ## lint, types and the whole default test suite
	.venv/bin/python -m pytest -n 2 --dist loadfile

lint: setup
	.venv/bin/ruff check src tests examples benchmarks proof
	.venv/bin/ruff format --check src tests examples benchmarks proof
	.venv/bin/mypy

test-slow: setup
	.venv/bin/python -m pytest -m slow -n 2 --dist loadfile

# Options by ARGUMENTS='--repeats 3'. Its environment is not ours: transformers 5 has no relative positions any more.
bench-hf: .venv-hf/installed  ## a training step beside the real BERT of transformers 4.57.6
	.venv-hf/bin/python benchmarks/hugging_face.py $(ARGUMENTS)

.venv-hf/installed: pyproject.toml constraints-hf.txt
	$(PYTHON) -m venv .venv-hf
	.venv-hf/bin/pip --disable-pip-version-check --quiet install --constraint constraints-hf.txt torch
	.venv-hf/bin/pip --disable-pip-version-check --quiet install --constraint constraints-hf.txt transformers --editable .
	touch $@

# Coq's proofs, in PROOF: first of what holds for any table that passes a check, then of each table in CERTIFICATES.
PROOF ?= build/proof
CERTIFICATES ?= $(wildcard src/digitwise/answers/weights/*/certificate.json)
KINDS := Sum Sums Product Division Difference
COQC := coqc -q -Q . Digitwise

proof: $(KINDS:%=$(PROOF)/%.vo) | coqc  ## prove for all lengths that the bundled tables calculate; needs coqc
	@$(PYTHON) proof/tables.py $(PROOF) $(CERTIFICATES)
	@cd $(PROOF) && while read -r module says; do \
	  $(COQC) $$module.v > $$module.log 2>&1 || { echo "NOT proven: $$says"; head -c 2000 $$module.log; exit 1; }; \
	  test "$$(grep -c '^Print Assumptions' $$module.v)" = "$$(grep -c '^Closed under the global context' $$module.log)" \
	    || { echo "NOT proven without axioms: $$says"; cat $$module.log; exit 1; }; \
	  echo "proven: $$says"; \
	done < models

coqc:
	@command -v coqc > /dev/null || { echo "coqc is missing: apt install coq"; exit 1; }

$(PROOF)/%.vo: proof/%.v | coqc
	@mkdir -p $(PROOF) && cp $< $(PROOF) && cd $(PROOF) && $(COQC) $*.v

$(PROOF)/Cells.vo: $(PROOF)/Words.vo
$(PROOF)/Follows.vo: $(PROOF)/Cells.vo
$(KINDS:%=$(PROOF)/%.vo): $(PROOF)/Follows.vo
$(PROOF)/Sums.vo: $(PROOF)/Sum.vo

clean:
	rm -rf .venv .venv-hf build dist
