"""Numbers that only go into values are told from those that reach addresses, masks and loops."""

from __future__ import annotations

import triton
import triton.language as tl

from triton_rvv.launches.data_numbers import data_numbers


@triton.jit
def kept(x, seed, at, rate):
    return tl.where(tl.rand(seed, at) > rate, x / (1 - rate), 0.0)


@triton.jit
def read(x, place):
    return tl.load(x + place)


@triton.jit
def load(x, at, gap):
    """No function of Triton's, in spite of its name."""
    return tl.load(x + at * gap)


@triton.jit
def values(x, out, n, seed, step, rate, start, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    held = tl.load(x + at, mask=at < n, other=start)
    held = kept(held, seed + at, at, rate)
    scale = 1 - tl.exp(step.to(tl.float32))
    held *= scale
    tl.store(out + at, held, mask=at < n)


@triton.jit
def places(x, out, turns, stride, limit, flag, seed, late, gap, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    offset = 0
    for _ in range(turns):
        total += read(x, at * stride) + tl.load(x + offset) + load(x, at, gap)
        offset += late
    if flag > 2:
        total += 1
    tl.store(out + at, total, mask=(at < limit) & (tl.rand(seed, at) > 0.5))


@triton.jit
def through_memory(x, out, turn, place, limit, seed):
    tl.store(out, turn)
    tl.store(out + 1, place)
    tl.atomic_max(out + 2, limit)
    held = tl.load(x + tl.load(out + 1))
    if tl.load(out + 2) > 2:
        held += 1.0
    tl.store(out + 3, held * seed)


@triton.jit
def in_place(x, step):
    """What is loaded only goes into values."""
    tl.store(x, tl.load(x) * step)


@triton.jit
def drawn(x, out, n, seed, place, BLOCK: tl.constexpr):
    """The place of an extreme follows from a seed: it is a value, unless it is an address."""
    best, found = -1.0, 0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        noise = tl.load(x + at, mask=at < n, other=0.0) * tl.rand(seed, at)
        found = tl.where(tl.max(noise, 0) > best, tl.argmax(noise, 0) + start, found)
        best = tl.maximum(best, tl.max(noise, 0))
    tl.store(out + tl.argmax(tl.arange(0, BLOCK) * place, 0), found)


def test_seeds_steps_and_rates_only_go_into_values() -> None:
    assert data_numbers(values) == {"seed", "step", "rate", "start"}
    assert data_numbers(drawn) == {"seed"}


def test_what_reaches_more_than_values_is_none() -> None:
    assert data_numbers(places) == frozenset()
    assert data_numbers(read) == frozenset()
    assert data_numbers(through_memory) == frozenset()
    assert data_numbers(in_place) == {"step"}
