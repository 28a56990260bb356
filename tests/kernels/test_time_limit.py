"""A function of a user's file that never ends is one sentence, and holds nothing up."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from foundation.errors import UserError
from kernels.own.module import call_by_name, import_file
from kernels.own.time_limit import time_limit

FILE = """
def reference(turns):
    while turns:
        try:
            turns += 1
        except Exception:
            pass
    return turns
"""


def test_it_is_named_with_its_line_in_any_thread(tmp_path, monkeypatch):
    path = tmp_path / "endless.py"
    path.write_text(FILE)
    reference = import_file(path).reference
    monkeypatch.setattr("kernels.own.module._LIMIT_S", 0.05)
    sentence = r"endless.py:[3-7] fails in reference: TimeoutError: it takes longer than 0.05 s$"
    with pytest.raises(UserError, match=sentence):
        call_by_name(path, reference, {"turns": 1})
    with ThreadPoolExecutor(1) as threads, pytest.raises(UserError, match=sentence):
        threads.submit(call_by_name, path, reference, {"turns": 1}).result()


def test_what_ends_is_left_alone():
    with time_limit(30.0):
        pass
    with pytest.raises(ValueError, match="own"), time_limit(30.0):
        raise ValueError("own")


def test_a_program_that_is_profiled_goes_on_afterwards():
    """Python 3.11 hangs at its next turn where nothing came of what was cleared."""
    script = (
        "import cProfile\n"
        "from kernels.own.time_limit import time_limit\n"
        "profile = cProfile.Profile()\n"
        "profile.enable()\n"
        "with time_limit(30.0):\n"
        "    pass\n"
        "print(sum(int(text) for text in '12'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "3\n"
