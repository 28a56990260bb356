"""The state of a board reached by hand around a run, and whether the run's time is reliable."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from rvv_runner.conditions import doubt

__all__ = ["State", "watched"]

_SYSTEM = Path("/sys")
_FREQUENCY_FILES = ("scaling_governor", "scaling_cur_freq", "scaling_max_freq")


class State:
    """What `watched` found.

    Attributes:
        doubt: why a time taken in the block is not reliable, or "".
    """

    def __init__(self) -> None:
        self.doubt = ""


@contextlib.contextmanager
def watched(core: int, busy_cores: float) -> Iterator[State]:
    """Record the board's state before and after the block.

    Args:
        core: the processor that the block's run uses.
        busy_cores: processors that other programs may use on average.
    """
    state = State()
    facts = _facts("before", core)
    start_s = time.monotonic()
    yield state
    facts["run.took"] = (str(int((time.monotonic() - start_s) * 100)),)
    facts.update(_facts("after", core))
    found = doubt(facts, busy_cores)
    state.doubt = found.text if found else ""


def _facts(moment: str, core: int) -> dict[str, tuple[str, ...]]:
    """Lines of the system's files, with the names that `doubt` expects."""
    used = os.times()
    own_s = (used.user, used.system, used.children_user, used.children_system)
    facts = {
        f"{moment}.stat": (_first_line(Path("/proc/stat")),),
        f"{moment}.cpu_time": (" ".join(f"0m{seconds:.2f}s" for seconds in own_s),),
        f"{moment}.cooling": tuple(
            _first_line(device / "cur_state")
            for device in (_SYSTEM / "class" / "thermal").glob("cooling_device*")
            if "cpu" in _first_line(device / "type")
        ),
    }
    folder = _SYSTEM / "devices" / "system" / "cpu" / f"cpu{core}" / "cpufreq"
    for name in _FREQUENCY_FILES:
        line = _first_line(folder / name)
        if line:
            facts[f"{moment}.{name}"] = (line,)
    return facts


def _first_line(path: Path) -> str:
    try:
        return path.read_text().splitlines()[0]
    except (OSError, IndexError):
        return ""
