"""Kernels that count by comparisons with all kinds, and take places from such counts.

All are as users write them. `random.Random(20270111)` drew three of the six to hold out, before any
was compiled.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 128, 256)], key=[])
@triton.jit
def radix_pass_places(
    key_ptr, start_ptr, out_ptr, N, SHIFT: tl.constexpr, DIGITS: tl.constexpr, BLOCK: tl.constexpr
):
    """Sorts each part's keys by one digit, behind where its digits begin."""
    part = tl.program_id(0)
    digits = tl.arange(0, DIGITS)
    start = tl.load(start_ptr + part * DIGITS + digits)
    for first in range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        key = tl.load(key_ptr + part * N + at, mask=at < N, other=0)
        digit = tl.where(at < N, (key >> SHIFT) & (DIGITS - 1), DIGITS)
        one_hot = (digit[:, None] == digits[None, :]).to(tl.int32)
        rank = tl.cumsum(one_hot, axis=0) - 1
        own = tl.sum(one_hot * (rank + start[None, :]), axis=1)
        tl.store(out_ptr + part * N + own, key, mask=at < N)
        start += tl.sum(one_hot, axis=0)


def radix_pass_places_arguments(PARTS=8, N=1000, DIGITS=16, SHIFT=4):
    keys = torch.randint(0, 2**16, (PARTS, N), dtype=torch.int32)
    counts = torch.stack([row.bincount(minlength=DIGITS) for row in keys >> SHIFT & DIGITS - 1])
    return {
        "key_ptr": keys,
        "start_ptr": (counts.cumsum(1) - counts).int(),
        "out_ptr": torch.empty(PARTS, N, dtype=torch.int32),
        "N": N,
        "SHIFT": SHIFT,
        "DIGITS": DIGITS,
    }


radix_pass_places_kept_inputs = ["key_ptr", "start_ptr"]


def radix_pass_places_grid(meta):
    return (meta["PARTS"],)


def radix_pass_places_reference(key_ptr, SHIFT, DIGITS):
    order = (key_ptr >> SHIFT & DIGITS - 1).argsort(dim=1, stable=True)
    return {"out_ptr": key_ptr.gather(1, order)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 128, 256)], key=[])
@triton.jit
def particles_into_cells(
    x_ptr, count_ptr, slot_ptr, N, scale, CELLS: tl.constexpr, BLOCK: tl.constexpr
):
    """For each particle of a box, which one of its cell it is; and how many each cell has."""
    box = tl.program_id(0)
    cells = tl.arange(0, CELLS)
    count = tl.zeros((CELLS,), dtype=tl.int32)
    for first in range(0, N, BLOCK):
        particle = first + tl.arange(0, BLOCK)
        inside = particle < N
        x = tl.load(x_ptr + box * N + particle, mask=inside, other=0.0)
        cell = tl.minimum((x * scale).to(tl.int32), CELLS - 1)
        is_there = (cell[:, None] == cells[None, :]) & inside[:, None]
        before = tl.cumsum(is_there.to(tl.int32), axis=0) + count[None, :]
        slot = tl.sum(tl.where(is_there, before - 1, 0), axis=1)
        tl.store(slot_ptr + box * N + particle, slot, mask=inside)
        count += tl.sum(is_there.to(tl.int32), axis=0)
    tl.store(count_ptr + box * CELLS + cells, count)


def particles_into_cells_arguments(BOXES=8, N=900, CELLS=32):
    return {
        "x_ptr": torch.rand(BOXES, N),
        "count_ptr": torch.empty(BOXES, CELLS, dtype=torch.int32),
        "slot_ptr": torch.empty(BOXES, N, dtype=torch.int32),
        "N": N,
        "scale": float(CELLS),
        "CELLS": CELLS,
    }


particles_into_cells_kept_inputs = ["x_ptr", "scale"]


def particles_into_cells_grid(meta):
    return (meta["BOXES"],)


def particles_into_cells_reference(x_ptr, CELLS, scale):
    cell = (x_ptr * scale).int().clamp(max=CELLS - 1)
    one_hot = torch.nn.functional.one_hot(cell.long(), CELLS)
    slot = (one_hot.cumsum(1) * one_hot).sum(2) - 1
    return {"count_ptr": one_hot.sum(1), "slot_ptr": slot}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 128, 256)], key=[])
@triton.jit
def partition_by_hash(key_ptr, place_ptr, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """Where rows of a table go that are partitioned by a hash: their rank in a block's part."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    parts = tl.arange(0, PARTS)
    key = tl.load(key_ptr + row, mask=row < N, other=0)
    part = (key.to(tl.uint32) * 2654435769) >> 29
    mine = (part[:, None] == parts[None, :]) & (row < N)[:, None]
    ones = mine.to(tl.int32)
    total = tl.sum(ones, axis=0)
    start = tl.cumsum(total, axis=0) - total
    place = tl.sum(tl.where(mine, tl.cumsum(ones, axis=0) - 1 + start[None, :], 0), axis=1)
    tl.store(place_ptr + row, tl.program_id(0) * BLOCK + place, mask=row < N)


def partition_by_hash_arguments(N=8192, PARTS=8):
    return {
        "key_ptr": torch.randint(0, 2**31 - 1, (N,), dtype=torch.int32),
        "place_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "PARTS": PARTS,
    }


def partition_by_hash_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def partition_by_hash_reference(key_ptr, config):
    part = (key_ptr.long() * 2654435769 & 2**32 - 1) >> 29
    order = [block.argsort(stable=True).argsort() for block in part.split(config["BLOCK"])]
    return {"place_ptr": torch.cat([n * config["BLOCK"] + each for n, each in enumerate(order)])}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 128, 256)], key=[])
@triton.jit
def confusion_of_classes(
    truth_ptr, guess_ptr, out_ptr, N, CLASSES: tl.constexpr, BLOCK: tl.constexpr
):
    """How often each class was taken for each other one, of some samples for each program."""
    pairs = tl.arange(0, CLASSES * CLASSES)
    counts = tl.zeros((CLASSES * CLASSES,), dtype=tl.int32)
    for first in range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        truth = tl.load(truth_ptr + tl.program_id(0) * N + at, mask=at < N, other=0)
        guess = tl.load(guess_ptr + tl.program_id(0) * N + at, mask=at < N, other=0)
        pair = tl.where(at < N, truth * CLASSES + guess, -1)
        counts += tl.sum((pair[:, None] == pairs[None, :]).to(tl.int32), axis=0)
    tl.store(out_ptr + tl.program_id(0) * CLASSES * CLASSES + pairs, counts)


def confusion_of_classes_arguments(BATCHES=4, N=1000, CLASSES=8):
    truth = torch.randint(0, CLASSES, (BATCHES, N), dtype=torch.int32)
    other = torch.randint(0, CLASSES, (BATCHES, N), dtype=torch.int32)
    return {
        "truth_ptr": truth,
        "guess_ptr": torch.where(torch.rand(BATCHES, N) < 0.8, truth, other),
        "out_ptr": torch.empty(BATCHES, CLASSES, CLASSES, dtype=torch.int32),
        "N": N,
        "CLASSES": CLASSES,
    }


confusion_of_classes_kept_inputs = ["truth_ptr", "guess_ptr"]


def confusion_of_classes_grid(meta):
    return (meta["BATCHES"],)


def confusion_of_classes_reference(truth_ptr, guess_ptr, CLASSES):
    pairs = (truth_ptr * CLASSES + guess_ptr).long()
    counts = torch.stack([row.bincount(minlength=CLASSES**2) for row in pairs])
    return {"out_ptr": counts.reshape(-1, CLASSES, CLASSES)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128, 256)], key=[])
@triton.jit
def base_composition(read_ptr, out_ptr, LENGTH, BLOCK: tl.constexpr):
    """How many of each base a read has: A, C, G and T are 0 to 3, anything else is not counted."""
    bases = tl.arange(0, 4)
    counts = tl.zeros((4,), dtype=tl.int32)
    for first in range(0, LENGTH, BLOCK):
        at = first + tl.arange(0, BLOCK)
        base = tl.load(read_ptr + tl.program_id(0) * LENGTH + at, mask=at < LENGTH, other=4)
        counts += tl.sum((base[:, None] == bases[None, :]).to(tl.int32), axis=0)
    tl.store(out_ptr + tl.program_id(0) * 4 + bases, counts)


def base_composition_arguments(READS=50, LENGTH=400):
    return {
        "read_ptr": torch.randint(0, 5, (READS, LENGTH), dtype=torch.uint8),
        "out_ptr": torch.empty(READS, 4, dtype=torch.int32),
        "LENGTH": LENGTH,
    }


base_composition_kept_inputs = ["read_ptr"]


def base_composition_grid(meta):
    return (meta["READS"],)


def base_composition_reference(read_ptr):
    return {"out_ptr": torch.stack([(read_ptr == base).sum(1) for base in range(4)], dim=1)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 128)], key=[])
@triton.jit
def grey_level_histograms(x_ptr, out_ptr, W, PATCH, LEVELS: tl.constexpr, BLOCK: tl.constexpr):
    """A histogram of 16 grey levels for each square patch of a picture, by rows of pixels."""
    levels, column = tl.arange(0, LEVELS), tl.arange(0, BLOCK)
    counts = tl.zeros((LEVELS,), dtype=tl.float32)
    corner = x_ptr + tl.program_id(0) * PATCH * W + tl.program_id(1) * PATCH
    for row in range(PATCH):
        x = tl.load(corner + row * W + column, mask=column < PATCH, other=0)
        is_level = (x >> 4)[None, :] == levels[:, None]
        is_level = is_level & (column < PATCH)[None, :]
        counts += tl.sum(is_level.to(tl.float32), axis=1)
    patch = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(out_ptr + patch * LEVELS + levels, counts / (PATCH * PATCH))


def grey_level_histograms_arguments(H=96, W=144, PATCH=24, LEVELS=16):
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "out_ptr": torch.empty(H // PATCH, W // PATCH, LEVELS),
        "W": W,
        "PATCH": PATCH,
        "LEVELS": LEVELS,
    }


grey_level_histograms_kept_inputs = ["x_ptr"]


def grey_level_histograms_grid(meta):
    return (meta["H"] // meta["PATCH"], meta["W"] // meta["PATCH"])


def grey_level_histograms_reference(x_ptr, H, W, PATCH, LEVELS):
    patches = x_ptr.reshape(H // PATCH, PATCH, W // PATCH, PATCH).transpose(1, 2)
    level = (patches >> 4)[..., None] == torch.arange(LEVELS)
    return {"out_ptr": level.float().mean(dim=(2, 3))}
