# Everything runs in .venv; `make install` does nothing while pyproject.toml and constraints.txt are unchanged.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: install run test lint eval quality baseline bench constraints clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)

run: $(STAMP)
	$(BIN)/python app.py

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

eval: $(STAMP)
	$(BIN)/qa-bot eval

# Fails if the bundled questions are answered worse than in the stored runs; `make baseline` stores new ones, on purpose.
QUALITY := --baseline .ci/quality/seeds-dev.json --fail-under quote_exactness=1 --fail-under support_rate=1
EXTRA := --baseline .ci/quality/seeds-dev-extra.json --baselines none --suites none

quality: $(STAMP)
	$(BIN)/qa-bot eval seeds-dev $(QUALITY)
	$(BIN)/qa-bot eval seeds-dev-extra $(EXTRA)

baseline: $(STAMP)
	$(BIN)/qa-bot eval seeds-dev --update-baseline $(QUALITY)
	$(BIN)/qa-bot eval seeds-dev-extra --update-baseline $(EXTRA)

bench: $(STAMP)
	$(BIN)/python tests/bench.py

# New versions on purpose: resolve afresh (torch stays), then run the tests and commit the file.
constraints:
	$(PYTHON) -m venv .venv-resolve
	.venv-resolve/bin/python -m pip install --quiet 'torch==2.13.0' '.[openai,anthropic,google,ollama,mcp,dev]'
	.venv-resolve/bin/python -m pip freeze --exclude qa-bot | sed -E 's/\+cpu$$//' > constraints.txt
	rm -r .venv-resolve

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache test-results *.egg-info
