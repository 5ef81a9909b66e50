# The two commands that matter: `make demo` and `make test`. Each builds the environment it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AGENT ?= pi
# Tests also wait: one worker more than cores. Each takes three seconds to collect: many more than eight only collect.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal
STAMP := $(VENV)/.stamp
DEMO := $(VENV)/.demo-stamp

# Where it is set, every one of the thousands of processes that the tests start would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all e2e lint format docs wheel pictures bench recall-bench recovery-bench redaction-bench clean

help:  ## show this help
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do printf '  make %-16s %s\n' "$$name" "$$what"; done

# `--group` needs pip 25.1, newer than what ships with Python 3.11.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(DEMO) $(STAMP)

# The command as it is installed, without the tools of those who change joelclaw.
$(DEMO): pyproject.toml
	@printf 'once: an environment in $(VENV) … '
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@echo done
	@touch $(DEMO)

demo: $(DEMO)  ## replay a recorded session through a compaction, in a throwaway home
	@$(BIN)/python demo/replay.py

test: $(STAMP)  ## run the tests
	$(PYTEST)

test-all: $(STAMP)  ## run the tests, also those that take minutes
	$(PYTEST) -m "thorough or not thorough" -o faulthandler_timeout=3600

e2e: $(STAMP)  ## real agents with a scripted model, through a compaction: make e2e AGENT=claude (or another client)|all
	$(BIN)/python tests/agents/agents.py install $(AGENT)
	$(BIN)/python -m pytest tests/e2e -o faulthandler_timeout=3600 --agent $(AGENT)

lint: $(STAMP)  ## ruff, mypy, and the generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m cogapp --check docs/cli.md docs/configuration.md

format: $(STAMP)  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## write the generated parts of docs/, and cli/hot_table.py
	$(BIN)/python docs/commands_page.py >.hot_table.py && mv .hot_table.py cli/hot_table.py
	$(BIN)/python -m cogapp -r docs/cli.md docs/configuration.md

wheel: $(STAMP)  ## build dist/joelclaw-VERSION-py3-none-any.whl, for pipx
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

pictures: $(STAMP)  ## draw docs/pictures/ anew: what commands print on a terminal
	$(BIN)/python demo/pictures.py

bench: $(STAMP)  ## whole-process times against `python -c pass`
	$(BIN)/python bench/speed.py --json bench/results/speed.json
	$(BIN)/python bench/hooks.py --json bench/results/hooks.json
	$(BIN)/python bench/commands.py --json bench/results/commands.json

recall-bench: $(STAMP)  ## recall quality: make recall-bench DATA='one-home.json locomo.json' SESSIONS=~/.claude/projects
	$(BIN)/python bench/recall_quality.py $(DATA) $(if $(SESSIONS),--sessions $(SESSIONS)) --json bench/results/recall.json $(ARGS)

recovery-bench: $(STAMP)  ## what compactions lost and what came back: make recovery-bench DATA=FOLDER ARGS='--split odd'
	$(BIN)/python bench/recovery.py --from $(DATA) --json bench/results/recovery.json $(ARGS)

redaction-bench: $(STAMP)  ## secrets found and harmless texts changed, of a corpus in two halves, and ms a MB
	$(BIN)/python bench/redaction.py --json bench/results/redaction.json

clean:  ## remove what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis .pytest_cache bench/results
