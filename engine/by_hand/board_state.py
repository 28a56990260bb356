"""What a board reached by hand was like around a run, and whether its time can be believed."""

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
        doubt: why a time taken meanwhile is not to be believed, or "".
    """

    def __init__(self) -> None:
        self.doubt = ""


@contextlib.contextmanager
def watched(core: int, busy_cores: float) -> Iterator[State]:
    """Note the board's state before the block and after it.

    Args:
        core: the processor on which something is run.
        busy_cores: processors that other programs may use on average.
    """
    state = State()
    facts = _facts("before", core)
    start_s = time.monotonic()
    yield state
    facts["run.took"] = (str(int((time.monotonic() - start_s) * 100)),)
    facts.update(_facts("after", core))
    state.doubt = doubt(facts, busy_cores)


def _facts(moment: str, core: int) -> dict[str, tuple[str, ...]]:
    """Lines of the system's files, named as `doubt` takes them."""
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
