# From a fresh clone, with Python 3.11 or later and make alone: `make demo`, `make test`.

VENV ?= .venv
BIN := $(VENV)/bin
PARTS := stream index query deploy
BENCH := $(if $(ONLY),--only $(ONLY))
INPUTS := pyproject.toml constraints.txt deploy/setup.sh

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench pictures faults soak clean

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.ready ## the program, installed and compiled

demo: $(VENV)/.ready ## a live index over the sample stream that answers two questions
	@$(BIN)/tidegraph demo

test: $(VENV)/.ready-test ## all tests
	@$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.ready-check ## style, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready-check ## put the code into its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.ready-bench ## the figures: make bench [ONLY=pipeline]
	@$(BIN)/python -m tests.bench $(BENCH) $(ARGS)

pictures: $(VENV)/.ready-test ## the pictures of the documentation, by Chromium
	@$(BIN)/python -m tests.pictures $(ARGS)

faults: $(VENV)/.ready-test ## 200 kills of real processes, then the comparison: make faults [ARGS="--kills 20"]
	@$(BIN)/python -m tests.faults $(ARGS)

soak: $(VENV)/.ready-test ## two hours at half rate with edits and expiry: make soak [ARGS=10] (minutes)
	@$(BIN)/python -m tests.faults.soak $(ARGS)

clean: ## what was built, but not the environment
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.ready: $(INPUTS)
	@deploy/setup.sh $(VENV) "" $@

$(VENV)/.ready-test: $(INPUTS)
	@deploy/setup.sh $(VENV) test $@

$(VENV)/.ready-bench: $(INPUTS)
	@deploy/setup.sh $(VENV) bench $@

$(VENV)/.ready-check: $(INPUTS)
	@deploy/setup.sh $(VENV) check $@
