"""Kernels in a user's own file that are right where their programs run one after another, in order,
and some that are right anywhere."""

import torch
import triton
import triton.language as tl


@triton.jit
def carry_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """A running sum: each program begins with what the one before it has left in memory."""
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(state_ptr + program - 1, mask=program > 0, other=0.0)
    sums = tl.cumsum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0) + before
    tl.store(y_ptr + at, sums, mask=at < n)
    tl.store(state_ptr + program, tl.sum(tl.where(at == program * BLOCK + BLOCK - 1, sums, 0.0), 0))


@triton.jit
def lost_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """A sum over all programs without an atomic operation."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0)
    tl.store(y_ptr, tl.load(y_ptr) + part)


@triton.jit
def last_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """The last program adds up what the others wrote."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0)
    tl.store(state_ptr + program, part)
    if program == programs - 1:
        parts = tl.arange(0, 64)
        tl.store(y_ptr, tl.sum(tl.load(state_ptr + parts, mask=parts < programs, other=0.0), 0))


@triton.jit
def counted_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """The same of whichever program a counter says is the last: a counter that is not atomic."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0)
    tl.store(state_ptr + program, part)
    done = tl.load(state_ptr + 63) + 1
    tl.store(state_ptr + 63, done)
    if done == programs:
        parts = tl.arange(0, 64)
        tl.store(y_ptr, tl.sum(tl.load(state_ptr + parts, mask=parts < programs, other=0.0), 0))


@triton.jit
def overwritten_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Each program writes one element too many, which the next one puts right."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    mask = (at < n) & (at < tl.program_id(0) * BLOCK + BLOCK + 1)
    y = 2 * tl.load(x_ptr + at, mask=mask)
    y = tl.where(at < tl.program_id(0) * BLOCK + BLOCK, y, 0.0)
    tl.store(y_ptr + at, y, mask=mask)


@triton.jit
def waiting_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Each program waits for the one before it, which never comes in reverse."""
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    if program > 0:
        while tl.atomic_add(state_ptr + program - 1, 0.0) == 0.0:
            pass
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
    tl.atomic_xchg(state_ptr + program, 1.0)


@triton.jit
def stepping_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Steps of an iteration as programs: each reads what the one before it wrote in place."""
    at = tl.arange(0, 64)
    old = tl.load(y_ptr + at)
    tl.store(y_ptr + at, old * 0.5 + tl.load(x_ptr + tl.program_id(0)))


@triton.jit
def lucky_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Works where the clock is even, which it is as often as not."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if (tl.extra.cuda.globaltimer() // 1000) % 2 == 0:
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def core_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Works on the first core alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.extra.cuda.smid() == 0:
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def clocked_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: takes its own time, and notes it where nobody looks."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.extra.cuda.globaltimer()
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
    took = tl.extra.cuda.globaltimer() - start
    tl.atomic_add(state_ptr + tl.program_id(0), took.to(tl.float32))


@triton.jit
def atomic_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: the sum by atomic operations."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0))


@triton.jit
def arriving_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: whichever program comes last, by an atomic counter, adds up the parts."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0)
    tl.store(state_ptr + program, part)
    if tl.atomic_add(state_ptr + 63, 1.0) == programs - 1:
        parts = tl.arange(0, 64)
        tl.store(y_ptr, tl.sum(tl.load(state_ptr + parts, mask=parts < programs, other=0.0), 0))


@triton.jit
def locked_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: the sum under a lock."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0)
    while tl.atomic_xchg(state_ptr, 1.0) != 0.0:
        pass
    tl.store(y_ptr, tl.load(y_ptr) + part)
    tl.debug_barrier()
    tl.atomic_xchg(state_ptr, 0.0)


@triton.jit
def in_place_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: each program changes elements of its own."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    y = tl.load(y_ptr + at, mask=mask) + tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, y, mask=mask)


@triton.jit
def same_kernel(x_ptr, y_ptr, state_ptr, n, BLOCK: tl.constexpr):
    """Right anywhere: neighbours write the same values where they overlap."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


def _values(n, y):
    return {"x_ptr": torch.rand(n) + 0.5, "y_ptr": y, "state_ptr": torch.zeros(64), "n": n}


def arguments(N=1002):
    return _values(N, torch.empty(N))


def _one_sum(N=1002):
    return _values(N, torch.zeros(1))


def in_place_arguments(N=1002):
    return _values(N, torch.randn(N))


def stepping_arguments(N=1002):
    return _values(N, torch.zeros(64))


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def reference(x_ptr):
    return {"y_ptr": 2 * x_ptr.double()}


def _reference_sum(x_ptr):
    return {"y_ptr": x_ptr.double().sum().reshape(1)}


def carry_reference(x_ptr):
    return {"y_ptr": x_ptr.double().cumsum(0)}


def in_place_reference(x_ptr, y_ptr):
    return {"y_ptr": x_ptr.double() + y_ptr}


def stepping_reference(x_ptr):
    total = torch.zeros(1, dtype=torch.float64)
    for step in range(16):
        total = 0.5 * total + x_ptr[step]
    return {"y_ptr": total.expand(64)}


carry_arguments = arguments
carry_grid = in_place_grid = stepping_grid = grid
for _name in ("lost", "last", "counted", "atomic", "arriving", "locked"):
    _functions = {"arguments": _one_sum, "grid": grid, "reference": _reference_sum}
    globals().update({f"{_name}_{name}": function for name, function in _functions.items()})


def _one_configuration():
    return [triton.Config({"BLOCK": 64})]


for _name in [name for name in globals() if name.endswith("_kernel")]:
    globals()[f"get_{_name}_autotune_config"] = _one_configuration
