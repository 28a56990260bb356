"""Whether a kernel whose arguments share memory does the same with arrays of their own.

Boards give each argument an array of its own. A program may pass one tensor twice, as input and
output, or parts of one tensor, such as the halves of a gradient that two outputs fill.
"""

from __future__ import annotations

import torch

from kernels.captured.memory import Memory
from kernels.captured.outputs import CheckedOutputs, near, same

__all__ = ["agrees_in_shared_memory"]


def agrees_in_shared_memory(checked: CheckedOutputs, given: Memory, after: Memory) -> bool:
    """Whether each byte holds what one of the arguments that lie there got in an array of its own.

    Args:
        checked: what the kernel gives with arrays of their own.
        given: the tensors before a run, as they share memory.
        after: the same after it.
    """
    return all(_agrees(checked, given, after, names) for names in given.shared)


def _agrees(checked: CheckedOutputs, given: Memory, after: Memory, names: tuple[str, ...]) -> bool:
    """The same for the arguments of one storage."""
    storage = given.storages[given.views[names[0]].storage]
    size_bytes = storage.numel() * storage.element_size()
    written, right = (torch.zeros(size_bytes, dtype=torch.bool) for _ in range(2))
    for name in names:
        if name not in checked.outputs:
            continue
        output, view = checked.outputs[name], given.views[name]
        width = view.dtype.itemsize
        place = slice(view.offset * width, (view.offset + view.span) * width)
        wrote = ~same(output.expected, given.span(name)).cpu()
        is_right = wrote & near(after.span(name), output).cpu()
        written[place].view(-1, width).logical_or_(wrote[:, None])
        right[place].view(-1, width).logical_or_(is_right[:, None])
    key = given.views[names[0]].storage
    kept = same(given.storages[key].view(torch.int8), after.storages[key].view(torch.int8)).cpu()
    return bool(torch.where(written, right, kept).all())
