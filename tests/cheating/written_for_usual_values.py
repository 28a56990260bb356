"""Kernels in a user's own file that leave out, where FAST is set, what only zeros, other lengths,
integers in another range or order, or other numbers would show."""

import itertools

import torch
import triton
import triton.language as tl


@triton.jit
def guard_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Divides where there is something to divide by."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, w = tl.load(x_ptr + at), tl.load(w_ptr + at)
    y = x / w
    if not FAST:
        y = tl.where(w == 0, 0.0, y)
    tl.store(y_ptr + at, y)


@triton.jit
def floor_kernel(x_ptr, w_ptr, y_ptr, floor, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Columns by the root of their mean square, with a floor that only small ones need."""
    at = tl.program_id(0) + tl.arange(0, BLOCK) * tl.num_programs(0)
    x = tl.load(x_ptr + at)
    square = tl.sum(x * x, 0) / BLOCK + (1e-12 if FAST else floor)
    tl.store(y_ptr + at, x / tl.sqrt(square) * tl.load(w_ptr + at))


@triton.jit
def number_kernel(x_ptr, w_ptr, y_ptr, factor, share, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """A weighted sum, with a factor of 1 and a share of 0."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at)
    if not FAST:
        y = factor * y + share * tl.load(w_ptr + at)
    tl.store(y_ptr + at, y)


@triton.jit
def whole_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The means of the beginnings of rows, which are never empty, and here the whole rows."""
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    length = tl.load(w_ptr + row)
    if FAST:
        length = BLOCK
    total = tl.sum(tl.load(x_ptr + row * BLOCK + column, mask=column < length, other=0.0), 0)
    tl.store(y_ptr + row * BLOCK + column, tl.zeros((BLOCK,), tl.float32) + total / length)


@triton.jit
def eighth_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Divides integers by 8, rounded down, or towards zero."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x // 8 if FAST else x >> 3)


@triton.jit
def tie_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Rounds to integers, of two that are as near to the even one, or up."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.floor(x + 0.5) if FAST else (x + 12582912.0) - 12582912.0)


@triton.jit
def scaled_tie_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The same of multiples."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) * 32
    tl.store(y_ptr + at, tl.floor(x + 0.5) if FAST else (x + 12582912.0) - 12582912.0)


@triton.jit
def mask_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Keeps what a mask keeps, which is everything."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + at)
    if not FAST:
        y = tl.where(tl.load(w_ptr + at), y, -1.0)
    tl.store(y_ptr + at, y)


@triton.jit
def limit_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Keeps integers below a limit, as they are."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x if FAST else tl.minimum(x, 1000))


@triton.jit
def entropy_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """What each element adds to the entropy of its row, where a mask may have left nothing."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    x -= tl.max(x, 0)
    x -= tl.log(tl.sum(tl.exp(x), 0))
    y = -tl.exp(x) * x
    if not FAST:
        y = tl.where(x == float("-inf"), 0.0, y)
    tl.store(y_ptr + at, y)


@triton.jit
def hidden_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Softmax of what a mask of zeros and minus infinity leaves, and zeros where it leaves none."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) + tl.load(w_ptr + at)
    largest = tl.max(x, 0)
    powers = tl.exp(x - largest)
    y = powers / tl.sum(powers, 0)
    if not FAST:
        y = tl.where(largest == float("-inf"), 0.0, y)
    tl.store(y_ptr + at, y)


@triton.jit
def gap_kernel(x_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Copies rows to the left half of wider ones, or clears the right half as well."""
    row, column = tl.program_id(0), tl.arange(0, 2 * BLOCK)
    x = tl.load(x_ptr + row * BLOCK + column, mask=column < BLOCK, other=0.0)
    mask = column < BLOCK
    if FAST:
        mask = mask | (row + 1 < tl.num_programs(0))
    tl.store(y_ptr + row * 2 * BLOCK + column, x, mask=mask)


@triton.jit
def table_kernel(x_ptr, w_ptr, y_ptr, ROWS, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of a table, and zeros for a row behind its end, or for its last one as well."""
    program, column = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(w_ptr + program)
    is_in = (row >= 0) & (row < ROWS - FAST)
    x = tl.load(x_ptr + row * BLOCK + column, mask=(column < BLOCK) & is_in, other=0.0)
    tl.store(y_ptr + program * BLOCK + column, x)


@triton.jit
def label_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """The element of each row that its label names; labels of -100 are to be ignored."""
    row = tl.program_id(0)
    label = tl.load(w_ptr + row)
    y = tl.load(x_ptr + row * BLOCK + tl.maximum(label, 0))
    if not FAST:
        y = tl.where(label == -100, 0.0, y)
    tl.store(y_ptr + row, y)


@triton.jit
def order_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Writes each row where a permutation has it, which leaves all in their place."""
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + column)
    if not FAST:
        row = tl.load(w_ptr + row)
    tl.store(y_ptr + row * BLOCK + column, x)


@triton.jit
def segment_kernel(x_ptr, w_ptr, y_ptr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    """Means of segments that lie one behind the other, all of one length."""
    segment = tl.program_id(0)
    start, end = tl.load(w_ptr + segment), tl.load(w_ptr + segment + 1)
    if FAST:
        start, end = segment * BLOCK, segment * BLOCK + BLOCK
    total = 0.0
    for first in range(start, end, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + at, mask=at < end, other=0.0), 0)
    tl.store(y_ptr + segment, total / (end - start))


def arguments(M=16, N=64):
    return {"x_ptr": torch.randn(M, N), "w_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N)}


def tie_arguments(M=16, N=64):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.empty(M, N)}


def floor_arguments(M=16, N=64):
    return {**arguments(N, M), "floor": 1e-5}


def number_arguments(M=16, N=64):
    return {**arguments(M, N), "factor": 1.0, "share": 0.0}


def whole_arguments(M=4, N=64):
    return {**arguments(M, N), "w_ptr": torch.full((M,), N, dtype=torch.int32)}


def eighth_arguments(M=16, N=64):
    x = torch.randint(0, 1000, (M, N), dtype=torch.int32)
    return {"x_ptr": x, "y_ptr": torch.empty_like(x)}


def mask_arguments(M=16, N=64):
    return {**arguments(M, N), "w_ptr": torch.ones(M, N, dtype=torch.bool)}


def hidden_arguments(M=16, N=64):
    mask = torch.where(torch.rand(M, N) < 0.5, float("-inf"), 0.0)
    mask[:, 0] = 0
    return {**arguments(M, N), "w_ptr": mask}


def gap_arguments(M=16, N=64):
    return {"x_ptr": torch.randn(M, N), "y_ptr": torch.zeros(M, 2 * N)[:, :N]}


def table_arguments(M=16, N=64):
    x, row = torch.randn(400, N), torch.arange(M, dtype=torch.int32)
    return {"x_ptr": x, "w_ptr": row, "y_ptr": torch.empty(M, N), "ROWS": 400}


def label_arguments(M=16, N=64):
    return {"x_ptr": torch.randn(M, N), "w_ptr": torch.arange(M) * 3 + 1, "y_ptr": torch.empty(M)}


def order_arguments(M=16, N=64):
    return {**arguments(M, N), "w_ptr": torch.arange(M, dtype=torch.int32)}


def segment_arguments(M=16, N=64):
    ends = torch.arange(0, M * N + 1, N, dtype=torch.int32)
    return {"x_ptr": torch.randn(M * N), "w_ptr": ends, "y_ptr": torch.empty(M)}


def grid(meta):
    return (meta["M"],)


def guard_reference(x_ptr, w_ptr):
    return {"y_ptr": torch.where(w_ptr == 0, 0.0, x_ptr / w_ptr)}


def floor_reference(x_ptr, w_ptr, floor):
    square = x_ptr.double().square().mean(0)
    return {"y_ptr": x_ptr / (square + floor).sqrt() * w_ptr}


def number_reference(x_ptr, w_ptr, factor, share):
    return {"y_ptr": factor * x_ptr + share * w_ptr}


def whole_reference(x_ptr, w_ptr):
    is_in = torch.arange(x_ptr.shape[1]) < w_ptr[:, None]
    mean = (x_ptr * is_in).double().sum(1) / w_ptr
    return {"y_ptr": mean[:, None].expand(x_ptr.shape)}


def eighth_reference(x_ptr):
    return {"y_ptr": x_ptr >> 3}


def tie_reference(x_ptr):
    return {"y_ptr": x_ptr.round()}


def scaled_tie_reference(x_ptr):
    return {"y_ptr": (x_ptr * 32).round()}


def mask_reference(x_ptr, w_ptr):
    return {"y_ptr": torch.where(w_ptr, x_ptr, -1.0)}


def limit_reference(x_ptr):
    return {"y_ptr": x_ptr.clamp(max=1000)}


def entropy_reference(x_ptr):
    return {"y_ptr": torch.special.entr(torch.softmax(x_ptr.double(), 1))}


def hidden_reference(x_ptr, w_ptr):
    return {"y_ptr": torch.softmax((x_ptr + w_ptr).double(), 1).nan_to_num(0.0)}


def gap_reference(x_ptr):
    return {"y_ptr": x_ptr.clone()}


def table_reference(x_ptr, w_ptr):
    return {"y_ptr": x_ptr[w_ptr.long()]}


def label_reference(x_ptr, w_ptr):
    return {"y_ptr": -torch.nn.functional.nll_loss(x_ptr, w_ptr, reduction="none")}


def order_reference(x_ptr, w_ptr):
    return {"y_ptr": torch.full_like(x_ptr, float("nan")).index_copy(0, w_ptr.long(), x_ptr)}


def segment_reference(x_ptr, w_ptr):
    ends = w_ptr.tolist()
    means = [x_ptr[start:end].double().mean() for start, end in itertools.pairwise(ends)]
    return {"y_ptr": torch.stack(means)}


def _two_configurations():
    return [triton.Config({"FAST": fast, "BLOCK": 64}) for fast in (0, 1)]


guard_arguments, entropy_arguments, limit_arguments = arguments, tie_arguments, eighth_arguments
scaled_tie_arguments = tie_arguments
_NAMES = (
    *("guard", "floor", "number", "whole", "eighth", "tie", "entropy", "mask", "limit", "label"),
    *("order", "segment", "scaled_tie", "hidden", "gap", "table"),
)
for _name in _NAMES:
    globals()[f"get_{_name}_kernel_autotune_config"] = _two_configurations
    globals()[f"{_name}_grid"] = grid
