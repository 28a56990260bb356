# Every target sets the machine up first; ./setup.sh does only what is missing.

PYTHON := .venv/bin/python
# In the foreground, so that Ctrl-C reaches the command.
LIMIT := timeout --foreground --kill-after=20

.PHONY: tune test bench setup clean

# The main job on the emulated board; ARGS="--trials 20" adds arguments.
tune: setup
	@$(PYTHON) -m engine.tune matmul --sampler tpe --trials 50 $(ARGS)

test:
	@./setup.sh test
	$(LIMIT) 60 $(PYTHON) -m ruff check
	$(LIMIT) 60 $(PYTHON) -m ruff format --check
	$(LIMIT) 300 $(PYTHON) -m mypy
	$(LIMIT) 900 $(PYTHON) -m pytest

bench: setup
	@set -e; for file in benchmarks/bench_*.py; do \
		echo "== $$file"; $(LIMIT) 900 $(PYTHON) "$$file"; \
	done

setup:
	@./setup.sh

# Studies are results, and stay.
clean:
	rm -rf .venv .build .mypy_cache .ruff_cache .pytest_cache *.egg-info
