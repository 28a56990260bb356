# Every target sets the machine up first; ./setup.sh does only what is missing.

PYTHON := .venv/bin/python
# Seconds, and a command that has to end within them.
LIMIT := ./tests/within.sh

# On every core, and one process more, since tests wait for boards, links and Ray; a process that has
# no tests left takes some of another's. Each test has a limit in pyproject.toml; all together have
# none, which a slow machine would reach.
PYTEST := $(PYTHON) -m pytest -n $(shell expr $$(nproc) + 1) --dist worksteal
# Tests start hundreds of Python processes. Where the environment forbids bytecode, each would
# compile whatever it imports.
export PYTHONDONTWRITEBYTECODE :=

# Links to the files conftest.py under other names: mypy takes no two modules of one name.
CONFTESTS := .build/conftests
# Where tests/programs looks for packages, but for REAL_KERNELS.
PROGRAMS := .build/programs

.PHONY: tune tune-all qemu docs check lint test rewritten test-long soak test-triton-versions test-real test-upstream fuzz bench demo gpu setup clean

# The main job on the emulated board; ARGS="--trials 20" adds arguments.
tune: setup
	@$(PYTHON) -m engine.tune matmul --trials 50 $(ARGS)

# Every kernel for 10 trials on the emulated board; the last lines are a table.
tune-all: setup
	@$(PYTHON) -m engine.tune_all $(ARGS)

# A QEMU that takes plug-ins, where the system's does not; set-up calls this where it has to.
qemu: setup
	@$(PYTHON) -m rvv_runner qemu

# The documentation as a site; a server, where there is one, gives it its search as well.
docs:
	@./setup.sh test
	$(LIMIT) 900 env NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo "open build/site/index.html, or run: $(PYTHON) -m http.server -d build/site"

# What runs before every commit: a minute for lint, types, layers, and a kernel of each kind.
CHECKED := tests/layers tests/foundation tests/search_spaces/test_spaces.py \
	tests/kernels/test_registry.py tests/kernels/test_specs.py tests/kernels/test_plain_calls.py \
	tests/kernels/test_right_outputs.py::test_ragged_shape_on_the_board \
	$(addprefix tests/triton_rvv/test_,control_flow.py errors.py memory.py reductions.py scans.py) \
	tests/engine/test_commands.py tests/engine/test_results.py tests/engine/test_tables.py
check: lint
	$(PYTEST) $(CHECKED)

lint:
	@./setup.sh test
	$(LIMIT) 900 $(PYTHON) -m ruff check
	$(LIMIT) 900 $(PYTHON) -m ruff format --check
	$(LIMIT) 900 $(PYTHON) -m mypy
	@rm -rf $(CONFTESTS) && mkdir -p $(CONFTESTS)
	@set -e; for file in $$(find tests -name conftest.py); do \
		ln -s "$(CURDIR)/$$file" $(CONFTESTS)/$$(echo $$file | tr / _); \
	done
	$(LIMIT) 900 $(PYTHON) -m mypy $(CONFTESTS)

# mypy leaves a core idle. Meanwhile pytest makes of each test file what each of its processes would
# make; errors in one are the tests' to report.
test:
	@./setup.sh test
	@$(MAKE) --no-print-directory --jobs 2 lint rewritten
	$(PYTEST)

rewritten:
	@$(LIMIT) 900 $(PYTHON) -m pytest --collect-only -qq > /dev/null || true

# What takes long: whole cross products, every cheating kernel on every sort of board, links that
# are cut for a minute, and 10 minutes of random kernels. What needs packages or a checkout, and
# the soak, have targets of their own below.
test-long: fuzz $(PROGRAMS)/complete
	$(PYTEST) -m long

# Packages whose programs tests/programs tunes, the servers' apart; without a network, those are
# skipped. Their versions are their own, so that they lie beside .venv.
$(PROGRAMS)/complete: tests/programs/requirements.txt
	@./setup.sh test
	-@rm -rf $(PROGRAMS) && $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps \
		--target $(PROGRAMS) --requirement $< && touch $@

# Tuners on the emulated board, on one behind sshd and on a cluster, while everything goes wrong.
MINUTES := 120
soak:
	@./setup.sh test
	PYTHONPATH=$(CURDIR)/tests/engine:$(CURDIR)/tests/rvv_runner/ssh $(PYTHON) tests/soak/soak.py --minutes $(MINUTES) $(ARGS)

# Random kernels against NumPy, on the host and in QEMU, for so many seconds; TARGET=host or qemu.
SECONDS := 600
fuzz:
	@./setup.sh test
	$(PYTHON) tests/fuzz/fuzz.py --seconds $(SECONDS) $(if $(TARGET),--target $(TARGET))

# The compiler's tests with the oldest Triton that it takes, with the pinned one and with the newest.
test-triton-versions:
	@./setup.sh test
	@set -e; for version in 3.6.0 3.7.1 "3.*"; do ./tests/with_triton.sh "$$version"; done

# Kernels of real packages, which lie in REAL_KERNELS=folder or in .venv; says how many ran right.
test-real:
	@./setup.sh test
	REAL_KERNELS=$(REAL_KERNELS) $(PYTEST) tests/real_kernels

# Triton's own tests of its language, from the folder TRITON_TESTS: python/test/unit of a checkout.
# ARGS="--sample 5" runs a fifth of them.
test-upstream:
	@./setup.sh test
	@$(PYTHON) tests/upstream/run.py $(ARGS)

bench: setup
	@set -e; for file in benchmarks/*/bench_*.py; do \
		echo "== $$file"; $(LIMIT) 900 $(PYTHON) "$$file"; \
	done

# On a machine with a GPU: tests that need one, the jobs and figures of docs/notes/gpu_h200.md,
# with the output of each part in studies/gpu. ARGS="tests jobs" runs some of the parts.
# It sets nothing up, since torch has to be the build for that GPU; PYTHON=python3 names another.
gpu:
	$(LIMIT) 5400 $(PYTHON) benchmarks/gpu/gpu_all.py $(ARGS)

# A decoder of a language model in C on tuned kernels, on emulated boards; ARGS="--trials 30" searches more.
demo: setup
	@$(PYTHON) benchmarks/programs/demo.py $(ARGS)

setup:
	@./setup.sh

# Studies are results, and stay.
clean:
	rm -rf .venv .build .mypy_cache .ruff_cache .pytest_cache *.egg-info
