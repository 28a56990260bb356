"""What known sizes and grids decide before a kernel runs."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.lowering.llvm.intervals import Interval, exactly
from triton_rvv.lowering.llvm.value_ranges import Intervals, program_places
from triton_rvv.lowering.llvm.values import Val, integer


@triton.jit
def scale_kernel(x_ptr, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK * step + tl.arange(0, BLOCK)
    for start in range(0, step):
        here = at + start * BLOCK
        mask = here < n
        tl.store(x_ptr + here, tl.load(x_ptr + here, mask=mask) * 2, mask=mask)


def masked_accesses(known, grid):
    signature = {"x_ptr": "*fp32", "n": "i32", "step": "i32"}
    target = RVVTarget()
    compiled = compile_kernel(scale_kernel, signature, {"BLOCK": 256}, target, known, grid=grid)
    return compiled.lowered.count("call void @llvm.masked.store")


def test_masks_that_are_full_in_every_program_are_left_out():
    whole = {"n": 4096, "step": 4}
    assert masked_accesses(whole, (4, 1, 1)) == 0
    assert masked_accesses({**whole, "n": 4000}, (4, 1, 1)) > 0
    assert masked_accesses(whole, (5, 1, 1)) > 0
    assert masked_accesses({"n": 4096}, (4, 1, 1)) > 0
    assert masked_accesses(whole, None) > 0


# LLVM's instructions on numbers that do not wrap, rounding toward zero as it does.
MEANING = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "sdiv": lambda a, b: np.trunc(a / b).astype(np.int64),
    "srem": np.fmod,
    "and": lambda a, b: a & b,
    "shl": lambda a, b: a << (b & 7),
    "ashr": lambda a, b: a >> (b & 7),
    "lshr": lambda a, b: (a & 0xFFFFFFFF) >> (b & 7),
    "llvm.smin": np.minimum,
    "llvm.smax": np.maximum,
}
HOLDS = {
    "eq": np.equal,
    "ne": np.not_equal,
    **{f"s{name}": getattr(np, full) for name, full in (("lt", "less"), ("gt", "greater"))},
    **{
        f"s{name}e": getattr(np, f"{full}_equal")
        for name, full in (("l", "less"), ("g", "greater"))
    },
}
GRID = (3, 2, 2)
TURNS = 5


@st.composite
def programs(draw):
    """Instructions, each on two earlier values, by their places."""
    count = draw(st.integers(1, 12))
    names = st.sampled_from(sorted(MEANING))
    return [
        (draw(names), draw(st.integers(0, 6 + made)), draw(st.integers(0, 6 + made)))
        for made in range(count)
    ]


@given(programs(), st.lists(st.integers(-40, 70), min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_no_value_leaves_its_interval(program, constants):
    intervals = Intervals()
    programs_, turns = int(np.prod(GRID)), np.arange(TURNS)
    ids = np.unravel_index(np.arange(programs_), GRID[::-1])[::-1]
    values, results = [], []
    for axis, place in enumerate(program_places(GRID)):
        values.append(Val("i32", f"%p{axis}"))
        intervals.note(values[-1], place)
        results.append(np.repeat(ids[axis][:, None], TURNS, axis=1))
    counter = Val("i32", "%i")
    intervals.note_counter(counter, integer(0, "i32"), integer(TURNS, "i32"), signed=True)
    values.append(counter)
    results.append(np.repeat(turns[None, :], programs_, axis=0))
    for number in constants:
        values.append(integer(number, "i32"))
        results.append(np.full((programs_, TURNS), number))
    for name, *earlier in program:
        left, right = (place % len(results) for place in earlier)  # some are left out
        a, b = results[left], results[right]
        if name in ("sdiv", "srem") and (b == 0).any():
            continue
        amounts = integer(int(b.flat[0]) & 7, "i32")
        shifts = name in ("shl", "ashr", "lshr")
        result = MEANING[name](a, np.full_like(b, int(b.flat[0])) if shifts else b)
        if np.abs(result).max() >= 1 << 31:
            continue
        values.append(Val("i32", f"%v{len(values)}"))
        results.append(result)
        operands = values[left], amounts if shifts else values[right]
        intervals.note_result(name, values[-1], operands)
    for value, result in zip(values, results, strict=True):
        if (known := intervals.of(value)) is not None:
            low, high = (np.reshape(end, (-1, 1)) for end in (known.low, known.high))
            assert (low <= result).all(), value
            assert (result <= high).all(), value
    for predicate, holds in HOLDS.items():
        outcome = holds(results[-1], results[0])
        decided = intervals.decided(predicate, values[-1], values[0])
        assert decided is None or (outcome == decided).all(), predicate


@pytest.mark.parametrize(
    ("predicate", "left", "right", "expected"),
    [
        ("slt", (0, 3), (4, 9), True),
        ("slt", (0, 4), (4, 9), None),
        ("slt", (9, 9), (4, 9), False),
        ("sle", (0, 4), (4, 9), True),
        ("sge", (4, 9), (0, 4), True),
        ("ult", (-1, 3), (4, 9), None),
        ("ne", (0, 3), (4, 9), True),
        ("eq", (0, 4), (4, 9), None),
    ],
)
def test_comparisons(predicate, left, right, expected):
    intervals = Intervals()
    values = Val("i32", "%a"), Val("i32", "%b")
    for value, ends in zip(values, (left, right), strict=True):
        intervals.note(value, Interval(*ends))
    assert intervals.decided(predicate, *values) is expected


def test_a_value_is_the_multiple_of_what_divides_it_in_every_program_as_last_said():
    intervals, value = Intervals(), Val("i64", "%a")
    for numbers, factor in ((np.array([8, 24]), 8), (np.array([8, 12]), 4), (48, 16)):
        intervals.note(value, exactly(numbers))
        assert [intervals.multiple(value) for _ in range(2)] == [factor, factor]


@pytest.mark.parametrize(("number", "expected"), [(7, exactly(3)), (-7, None)])
def test_quotients_without_a_sign_are_followed_where_nothing_is_below_zero(number, expected):
    intervals, quotient = Intervals(), Val("i64", "%q")
    intervals.note_result("udiv", quotient, (integer(number), integer(2)))
    assert intervals.of(quotient) == expected


def test_values_that_may_wrap_are_unknown():
    intervals = Intervals()
    large, sum_ = Val("i32", "%a"), Val("i32", "%b")
    intervals.note(large, exactly((1 << 31) - 1))
    intervals.note_result("add", sum_, (large, integer(1, "i32")))
    assert intervals.of(sum_) is None


def test_counters_without_a_sign_are_followed_only_below_the_largest_signed_number():
    intervals, counter = Intervals(), Val("i64", "%counter")
    end = Val("i64", "%end")
    intervals.note(end, exactly(-3))
    intervals.note_counter(counter, integer(0), end, signed=False)
    assert intervals.of(counter) is None
    intervals.note_counter(counter, integer(0), integer(8), signed=False)
    assert (intervals.of(counter).least, intervals.of(counter).most) == (0, 7)


def test_a_grid_without_programs_compiles():
    masked_accesses({"n": 4096, "step": 4}, (0, 1, 1))


@pytest.mark.parametrize(("mask", "expected"), [(-8, Interval(-8, 16)), (7, Interval(0, 7))])
def test_bits_of_a_mask_keep_an_interval(mask, expected):
    """A negative power of two rounds down to a multiple of it; others keep the last bits."""
    intervals = Intervals()
    value, masked = Val("i32", "%a"), Val("i32", "%b")
    intervals.note(value, Interval(-3, 21))
    intervals.note_result("and", masked, (value, integer(mask, "i32")))
    assert intervals.of(masked) == expected
    intervals.note_result("and", Val("i32", "%c"), (value, integer(-7, "i32")))
    assert intervals.of(Val("i32", "%c")) == Interval(-32, 31)


UNSIGNED = {name.replace("s", "u", 1): HOLDS[name] for name in HOLDS if name[0] == "s"}


@given(
    st.sampled_from([*HOLDS, *UNSIGNED]),
    st.integers(-20, 20),
    st.sampled_from([-40, 0, 3, (1 << 31) - 50]),
    st.integers(-3, 3),
    st.tuples(st.integers(0, 40), st.integers(1, 16)),
    st.sampled_from([(1 << 31) - 40, *range(-30, 90)]),
)
@settings(max_examples=400, deadline=None)
def test_a_comparison_is_decided_only_if_all_places_are_alike(
    predicate, factor, offset, step, places, right
):
    intervals, place = Intervals(), program_places((3, 1, 1))[0]
    programs_ = np.arange(3)
    base, first = Val("i32", "%base"), integer(places[0])
    intervals.note(base, exactly(place.low * factor + offset))
    lanes = places[0] + np.arange(places[1])
    left = (programs_[:, None] * factor + offset + step * lanes).astype(np.int32)
    decided = intervals.decided_along(
        predicate, base, (first, places[1]), step, integer(right, "i32")
    )
    if predicate in UNSIGNED:
        outcome = UNSIGNED[predicate](left.astype(np.uint32), np.int32(right).astype(np.uint32))
    else:
        outcome = HOLDS[predicate](left, right)
    assert decided is None or (outcome == decided).all()


def test_comparisons_of_runs_on_both_sides_of_an_end_are_decided():
    intervals, base, end = Intervals(), integer(0, "i32"), integer(48, "i32")
    starts = [intervals.decided_along("slt", base, (integer(n), 16), 1, end) for n in (32, 33, 48)]
    assert starts == [True, None, False]
