"""Whether a captured kernel gives the same when its programs run in another order."""

from __future__ import annotations

import math
from collections import defaultdict

from foundation.errors import UserError
from kernels.captured.deployed import Deployed
from kernels.captured.memory import Memory
from kernels.captured.outputs import CheckedOutputs
from kernels.own.reversed_programs import reversed_programs

__all__ = ["check_program_order"]


def check_program_order(deployed: Deployed, checked: CheckedOutputs) -> None:
    """Run the deployed configuration once more, with its last program first.

    Only where a program may learn what another wrote, as by a counter that gives each its place.
    One that waits for another might wait for ever, so kernels with a `while` are left.

    Raises:
        UserError: if its outputs are others: each configuration would be wrong then.
    """
    reached = deployed.reached(checked.given)
    if reached is None or not reached.shared or reached.has_while or math.prod(deployed.grid) == 1:
        return
    if not checked.agree(_run_reversed(deployed, checked.given)):
        raise UserError(
            f"{deployed.function.__name__} gives other outputs when its programs run in another "
            "order, so nothing tells whether a configuration is right"
        )


def _run_reversed(deployed: Deployed, given: Memory) -> Memory:
    """The tensors after a run; nothing of it stays compiled."""
    function = deployed.function
    compiled = function.device_caches
    function.device_caches = defaultdict(function.create_binder)
    try:
        with reversed_programs():
            return deployed.run(given)
    finally:
        function.device_caches = compiled
