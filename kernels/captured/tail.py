"""Whether a captured kernel reads behind its tensors, and whether that matters."""

from __future__ import annotations

import math

from kernels.captured.deployed import Deployed
from kernels.captured.drawn import ContentsError
from kernels.captured.memory import Memory
from kernels.captured.outputs import same
from triton_rvv.errors import OutOfBoundsError

__all__ = ["needed_surroundings"]

# Elements behind a storage. Kernels that mask only what they store read less than a block there.
_TAIL = 1 << 14


def needed_surroundings(deployed: Deployed, given: Memory) -> tuple[int, bool]:
    """What a kernel needs around its tensors.

    Args:
        deployed: the launch.
        given: its tensors as they share memory.

    Returns:
        How many elements behind each storage: what lies there differs from run to run, so its
        outputs may not follow from it. And whether it reads what its storages hold in front of its
        tensors.

    Raises:
        ContentsError: if they do, if it writes there, or if it reaches elsewhere.
    """
    apart = given.apart()
    try:
        deployed.run(apart, checks_bounds=True)
    except OutOfBoundsError as error:
        if _needs_no_tail(deployed, apart):
            return _TAIL, False
        if _needs_fronts(deployed, given):
            return 0, True
        raise ContentsError(
            f"{deployed.function.__name__} reaches outside of its tensors ({error}), so it cannot "
            f"be checked: {_remedy(given, str(error))}"
        ) from error
    return 0, False


def _needs_fronts(deployed: Deployed, given: Memory) -> bool:
    """Whether it reaches no farther than its storages, which begin in front of its tensors."""
    try:
        deployed.run(given.apart(with_fronts=True), checks_bounds=True)
    except OutOfBoundsError:
        return False
    return True


def _remedy(given: Memory, error: str) -> str:
    """What to do about an access outside of a tensor that an error names."""
    for name, view in given.views.items():
        if view.span == 1 and math.prod(view.shape) > 1 and f" of {name}, " in error:
            sizes = "x".join(map(str, view.shape))
            return (
                f"all {sizes} elements of {name} are one in memory, as those of the gradient of a "
                "sum are, so make it contiguous"
            )
    if " at byte -" in error:
        return (
            "what lies so far in front of an argument is not captured, so pass the whole tensor, "
            "or mask the access"
        )
    return "mask the access"


def _needs_no_tail(deployed: Deployed, given: Memory) -> bool:
    """Whether the outputs are the same whatever lies shortly behind the tensors."""
    before = [given.with_tails(_TAIL, value) for value in (0.0, math.nan)]
    try:
        zeros, others = (deployed.run(one, checks_bounds=True) for one in before)
    except OutOfBoundsError:
        return False
    kept = [
        same(after.storages[key][-_TAIL:], first.storages[key][-_TAIL:]).all()
        for first, after in zip(before, (zeros, others), strict=True)
        for key in given.storages
    ]
    return all(kept) and all(same(zeros.span(n), others.span(n)).all() for n in given.views)
