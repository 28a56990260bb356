"""Kernels in a user's own file with atomic operations that do not order what they should, and some
with those that do. Each is right with its programs one after another, in any order."""

import torch
import triton
import triton.language as tl


@triton.jit
def beside_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """A sum without an atomic operation, between two on a counter that says nothing."""
    tl.atomic_add(state_ptr, 1)
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.store(y_ptr, tl.load(y_ptr) + part)
    tl.atomic_add(state_ptr, 1)


@triton.jit
def unlocked_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Reads the sum before it takes the lock."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    before = tl.load(y_ptr)
    while tl.atomic_cas(state_ptr, 0, 1) == 1:
        pass
    tl.store(y_ptr, before + part)
    tl.atomic_xchg(state_ptr, 0)


@triton.jit
def two_locks_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Programs with odd numbers take another lock."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    lock = state_ptr + tl.program_id(0) % 2
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(y_ptr, tl.load(y_ptr) + part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def relaxed_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """The last program by a counter, which orders nothing else, adds up what the others wrote."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    parts = tl.arange(0, 16)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.store(y_ptr + 1 + program, part)
    if tl.atomic_add(state_ptr, 1, sem="relaxed") == programs - 1:
        tl.store(y_ptr, tl.sum(tl.load(y_ptr + 1 + parts), 0))


@triton.jit
def counted_early_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """The same by a counter that goes up before the part is written."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    parts = tl.arange(0, 16)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    count = tl.atomic_add(state_ptr, 1)
    tl.store(y_ptr + 1 + program, part)
    if count == programs - 1:
        tl.store(y_ptr, tl.sum(tl.load(y_ptr + 1 + parts), 0))


@triton.jit
def checked_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Stores the first part and adds the others, by a flag that is read before it is set."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    if tl.atomic_add(state_ptr, 0) == 0:
        tl.atomic_xchg(y_ptr, part)
        tl.atomic_xchg(state_ptr, 1)
    else:
        tl.atomic_add(y_ptr, part)


@triton.jit
def released_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: a counter that releases, and acquires where it counts."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    parts = tl.arange(0, 16)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.store(y_ptr + 1 + program, part)
    if tl.atomic_add(state_ptr, 1, sem="release") == programs - 1:
        tl.atomic_add(state_ptr, 0, sem="acquire")
        tl.store(y_ptr, tl.sum(tl.load(y_ptr + 1 + parts), 0))


@triton.jit
def accumulated_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: the first program under a lock stores its part, and the others add to it."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    while tl.atomic_cas(state_ptr, 0, 1) == 1:
        pass
    if tl.load(state_ptr + 1) == 0:
        tl.atomic_xchg(state_ptr + 1, 1)
    else:
        part += tl.load(y_ptr)
    tl.store(y_ptr, part)
    tl.debug_barrier()
    tl.atomic_xchg(state_ptr, 0)


@triton.jit
def stolen_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: programs take blocks from a counter, in whatever order they come."""
    block = tl.atomic_add(state_ptr, 1, sem="relaxed")
    part = tl.sum(tl.load(x_ptr + block * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y_ptr, part, sem="relaxed")


@triton.jit
def overlapping_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: reads what others write, and uses none of it."""
    program, at = tl.program_id(0), tl.arange(0, 16)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    mine = tl.sum(tl.where(at == program, tl.load(y_ptr + 1 + at), 0.0), 0) + part
    tl.store(y_ptr + 1 + program, mine)
    tl.atomic_add(y_ptr, part)


@triton.jit
def updated_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: programs add to one element, and learn nothing from it."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y_ptr, part, sem="relaxed")


@triton.jit
def in_one_program_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Adds by operations that are atomic for the threads of one program alone."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y_ptr, part, scope="cta")


@triton.jit
def own_elements_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: the same, each program in an element of its own."""
    program = tl.program_id(0)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y_ptr, part)
    tl.atomic_add(y_ptr + 1 + program, part, scope="cta")


@triton.jit
def overwritten_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right in the orders in which the first or the last program comes last."""
    program = tl.program_id(0)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    total = tl.sum(tl.load(x_ptr + tl.arange(0, 16 * BLOCK)), 0)
    tl.atomic_add(state_ptr, 1)
    tl.store(y_ptr, total if program % 15 == 0 else part)


@triton.jit
def blended_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Stores what it found in its neighbour's element, in place of a mask."""
    program, at = tl.program_id(0), tl.arange(0, 2)
    part = tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK)), 0)
    tl.atomic_add(y_ptr, part)
    mine = tl.where(at == 0, part, tl.load(y_ptr + 1 + program + at, mask=program + at < 16))
    tl.store(y_ptr + 1 + program + at, mine, mask=program + at < 16)


@triton.jit
def rewritten_kernel(x_ptr, y_ptr, state_ptr, BLOCK: tl.constexpr):
    """Right: neighbours store the same number, made of what neither of them wrote."""
    program, at = tl.program_id(0), tl.arange(0, 2)
    rows = tl.load(
        x_ptr + (program + at[:, None]) * BLOCK + tl.arange(0, BLOCK)[None, :],
        mask=program + at[:, None] < 16,
        other=0.0,
    )
    parts = tl.sum(rows, 1)
    tl.atomic_add(y_ptr, tl.sum(tl.where(at == 0, parts, 0.0), 0))
    tl.store(y_ptr + 1 + program + at, parts, mask=program + at < 16)


def arguments(N=1024):
    state = torch.zeros(2, dtype=torch.int32)
    return {"x_ptr": torch.rand(N) + 0.5, "y_ptr": torch.zeros(17), "state_ptr": state}


def grid(meta):
    return (16,)


def reference(x_ptr):
    parts = x_ptr.double().reshape(16, -1).sum(1)
    total = parts.sum().reshape(1)
    return {"y_ptr": torch.cat([total, torch.zeros(16)])}


def _reference_parts(x_ptr):
    parts = x_ptr.double().reshape(16, -1).sum(1)
    return {"y_ptr": torch.cat([parts.sum().reshape(1), parts])}


relaxed_reference = counted_early_reference = _reference_parts
released_reference = overlapping_reference = _reference_parts
blended_reference = rewritten_reference = own_elements_reference = _reference_parts
_WITH_PARTS = ("relaxed", "counted_early", "released", "overlapping", "blended", "rewritten")
for _name in (*_WITH_PARTS, "own_elements"):
    globals().update({f"{_name}_arguments": arguments, f"{_name}_grid": grid})


def _one_configuration():
    return [triton.Config({"BLOCK": 64})]


for _name in [name for name in globals() if name.endswith("_kernel")]:
    globals()[f"get_{_name}_autotune_config"] = _one_configuration
