# Every target sets up what it needs: a virtual environment in .venv, and the packages named in pyproject.toml.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo java test check integration audit durations style fast docs bench studies format proofs clean

help:  ## list these targets
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# one stamp per set of extras, renewed when pyproject.toml changes
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

demo: $(VENV)/.installed  ## a private model and private statistics on a bundled table, in output/
	$(BIN)/python examples/demo.py

# Spark runs on Java: Debian's is installed where that is allowed, else its tests are skipped
java:
	@if ! command -v java >/dev/null && [ -z "$$JAVA_HOME" ] && command -v apt-get >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as=false; fi; \
	  $$as apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1 \
	    || { $$as apt-get update -qq >/dev/null 2>&1 \
	      && $$as apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1; } || true; \
	fi; \
	command -v java >/dev/null || [ -n "$$JAVA_HOME" ] \
	  || echo "*** NO JAVA: THE TESTS OF SPARK ARE SKIPPED. Install openjdk-17-jre-headless (or set JAVA_HOME). ***"

# as many workers as cores: more threads of linear algebra would only be in each other's way
test check integration audit durations: export OPENBLAS_NUM_THREADS ?= 1
# compiled once, not by every process that a test starts
test check integration audit durations: export PYTHONDONTWRITEBYTECODE :=
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test: $(VENV)/.installed-test java  ## all tests but the next two, doctests and the examples in the docs
	$(PYTEST) -m "not integration"

check: style  ## style, types, import directions, doctests, fast tests
	$(PYTEST) -m "not slow and not integration"

integration: $(VENV)/.installed-test java  ## tests that need a server, a cluster or many processes
	bash .ci/postgres $(PYTEST) -m integration tests

audit: $(VENV)/.installed-test  ## audits of noise, with ten times as many runs and new noise (NOISE=word repeats it)
	@echo "NOISE=$(NOISE)"
	DISCREET_AUDIT_TIMES=10 DISCREET_TEST_NOISE=$(NOISE) $(PYTEST) -m audit tests

audit: NOISE := $(or $(NOISE),$(shell od -An -N4 -tx4 /dev/urandom | tr -d ' '))

durations: $(VENV)/.installed-test java  ## the tests, and the record of how long each file takes, for their order
	DISCREET_TEST_DURATIONS=tests/durations.json $(PYTEST) -m "not integration"

style: $(VENV)/.installed-test $(VENV)/.installed-check  ## style and types alone
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## the documentation, as a site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html in a browser."

bench: $(VENV)/.installed-test  ## speed and accuracy next to peers, into benchmarks/results.md (QUICK=1: minutes, not hours)
	$(BIN)/python benchmarks $(if $(QUICK),--quick)

studies: $(VENV)/.installed-test  ## figures of the sources, re-run, in output/studies/ (FLAGS="--data DIR", or --quick)
	for study in sy1 sy2 sy3 sy3local sy4 sy5 sy6 sy8 sy9 people; do $(BIN)/python -m discreet.studies $$study $(FLAGS) || exit; done

format: $(VENV)/.installed-check  ## put the code in order
	$(BIN)/ruff check --fix --quiet src tests benchmarks examples
	$(BIN)/ruff format --quiet src tests benchmarks examples

proofs: $(VENV)/.installed-test  ## stamp the proofs again, after reading them against the code
	$(BIN)/python -m discreet.mechanisms.proofs

clean:  ## remove everything that was made
	rm -rf $(VENV) site output .pytest_cache .mypy_cache .ruff_cache .hypothesis
