"""Workers: builds in Ray processes, and the boards that measure what they built."""

import os

# Ray prints a paragraph to stdout for each worker that ends, even with its logs turned off. Lines
# that match this expression are dropped. Ray reads it on import.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Boards choose their GPU themselves: Ray must not hide it from a process that asked it for none.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
