# Every target sets the machine up first; ./setup.sh does only what is missing.

PYTHON := .venv/bin/python
# In the foreground, so that Ctrl-C reaches the command.
LIMIT := timeout --foreground --kill-after=20

# Tests that compile and run kernels, on every core; the others start boards and clusters of their
# own, and measure.
SIDE_BY_SIDE := tests/triton_rvv tests/kernels tests/launchers tests/search_spaces

.PHONY: tune tune-all test test-slow test-triton-versions bench setup clean

# The main job on the emulated board; ARGS="--trials 20" adds arguments.
tune: setup
	@$(PYTHON) -m engine.tune matmul --trials 50 $(ARGS)

# Every kernel for 10 trials on the emulated board; the last lines are a table.
tune-all: setup
	@$(PYTHON) -m engine.tune_all $(ARGS)

test:
	@./setup.sh test
	$(LIMIT) 60 $(PYTHON) -m ruff check
	$(LIMIT) 60 $(PYTHON) -m ruff format --check
	$(LIMIT) 300 $(PYTHON) -m mypy
	$(LIMIT) 1200 $(PYTHON) -m pytest -n auto --dist loadfile $(SIDE_BY_SIDE)
	$(LIMIT) 1200 $(PYTHON) -m pytest $(addprefix --ignore=,$(SIDE_BY_SIDE))

# What takes minutes each, such as a link that is cut for one.
test-slow:
	@./setup.sh test
	$(LIMIT) 900 $(PYTHON) -m pytest -m slow

# The compiler's tests with the oldest Triton that it takes, with the pinned one and with the newest.
test-triton-versions:
	@./setup.sh test
	@set -e; for version in 3.6.0 3.7.1 "3.*"; do ./tests/with_triton.sh "$$version"; done

bench: setup
	@set -e; for file in benchmarks/bench_*.py; do \
		echo "== $$file"; $(LIMIT) 900 $(PYTHON) "$$file"; \
	done

setup:
	@./setup.sh

# Studies are results, and stay.
clean:
	rm -rf .venv .build .mypy_cache .ruff_cache .pytest_cache *.egg-info
