"""Workers: builds in Ray processes, and the boards that measure what they built."""

import os

# Ray prints a paragraph to stdout for each worker that ends, even with its logs turned off. Lines
# that match this expression are dropped. Ray reads it on import.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
