"""The options of the compiler that a launch gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["OPTIONS", "PLAIN", "options_of"]

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
PLAIN = (int, float, bool, str, type(None))


def options_of(kernel: Any, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a launch as plain data.

    Args:
        kernel: made by `@triton.jit`.
        given: by the launch.

    Returns:
        Those in force, with the back end's own values of usual ones; and those that tell launches
        apart. On a processor, numbers of warps and of stages do nothing, so they are the back
        end's own there.
    """
    from triton.runtime.driver import driver

    backend = kernel.device_caches[driver.active.get_current_device()][3]
    plain = {n: v for n, v in given.items() if isinstance(v, PLAIN) and n not in ("debug",)}

    def with_usual(asked: Mapping[str, Any]) -> dict[str, Any]:
        parsed = backend.parse_options(dict(asked))
        usual = {name: getattr(parsed, name, None) for name in OPTIONS}
        return {n: v for n, v in {**plain, **usual}.items() if v is not None}

    in_force = with_usual(given)
    on_processor = driver.active.get_current_target().backend == "cpu"
    return in_force, with_usual({}) if on_processor else in_force
