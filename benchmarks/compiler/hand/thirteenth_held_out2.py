"""Three more held-out kernels of the thirteenth draw, that `thirteenth_held_out2.c` has.

The names, and the seed that drew them, are in `thirteenth_draw.py`. No cycles were looked at.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 512)], key=[])
@triton.jit
def radix_digit_scatter(
    key_ptr,
    value_ptr,
    first_ptr,
    new_key_ptr,
    new_value_ptr,
    N,
    SHIFT: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A pass of a radix sort: pairs go behind those of a lower digit, in the order they have."""
    tile = tl.program_id(0)
    digits = tl.arange(0, 16)
    first = tl.load(first_ptr + tile * 16 + digits)
    for start in range(tile * TILE, min(tile * TILE + TILE, N), BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        key = tl.load(key_ptr + at, mask=mask, other=0)
        digit = (key >> SHIFT) & 15
        is_digit = ((digit[:, None] == digits[None, :]) & mask[:, None]).to(tl.int32)
        place = tl.cumsum(is_digit, axis=0) - 1 + first[None, :]
        place = tl.sum(tl.where(is_digit != 0, place, 0), axis=1)
        tl.store(new_key_ptr + place, key, mask=mask)
        tl.store(new_value_ptr + place, tl.load(value_ptr + at, mask=mask, other=0), mask=mask)
        first += tl.sum(is_digit, axis=0)


def radix_digit_scatter_arguments(N=12000, SHIFT=4, TILE=1024):
    key = torch.randint(0, 1 << 20, (N,), dtype=torch.int32)
    tiles = triton.cdiv(N, TILE)
    slot = (torch.arange(N) // TILE) * 16 + ((key >> SHIFT) & 15)
    counts = torch.bincount(slot, minlength=16 * tiles).reshape(tiles, 16)
    before = counts.T.flatten().cumsum(0) - counts.T.flatten()
    return {
        "key_ptr": key,
        "value_ptr": torch.randperm(N, dtype=torch.int32),
        "first_ptr": before.reshape(16, tiles).T.int().contiguous(),
        "new_key_ptr": torch.empty(N, dtype=torch.int32),
        "new_value_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "SHIFT": SHIFT,
        "TILE": TILE,
    }


# Where a tile's digits begin is counted from the keys.
radix_digit_scatter_kept_inputs = ["key_ptr", "first_ptr"]


def radix_digit_scatter_grid(meta):
    return (triton.cdiv(meta["N"], meta["TILE"]),)


def radix_digit_scatter_reference(key_ptr, value_ptr, SHIFT):
    order = ((key_ptr >> SHIFT) & 15).argsort(stable=True)
    return {"new_key_ptr": key_ptr[order], "new_value_ptr": value_ptr[order]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 256, 16)], key=[])
@triton.jit
def crc32_slices(word_ptr, table_ptr, crc_ptr, N, WORDS, BLOCK: tl.constexpr):
    """Check sums of records, four bytes at a time, by a table for each of the four."""
    record = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = record < N
    crc = tl.full((BLOCK,), 0xFFFFFFFF, dtype=tl.uint32)
    for i in range(WORDS):
        word = tl.load(word_ptr + record * WORDS + i, mask=mask, other=0)
        crc ^= word.to(tl.uint32, bitcast=True)
        first = tl.load(table_ptr + 768 + (crc & 255))
        second = tl.load(table_ptr + 512 + ((crc >> 8) & 255))
        third = tl.load(table_ptr + 256 + ((crc >> 16) & 255))
        fourth = tl.load(table_ptr + (crc >> 24))
        crc = (first ^ second ^ third ^ fourth).to(tl.uint32, bitcast=True)
    tl.store(crc_ptr + record, (crc ^ 0xFFFFFFFF).to(tl.int32, bitcast=True), mask=mask)


def crc32_slices_arguments(N=500, WORDS=30):
    crc = torch.arange(256)
    for _ in range(8):
        crc = (crc >> 1) ^ (crc & 1) * 0xEDB88320
    tables = [crc]
    for _ in range(3):
        tables.append((tables[-1] >> 8) ^ crc[tables[-1] & 255])
    return {
        "word_ptr": torch.randint(-(1 << 31), 1 << 31, (N, WORDS), dtype=torch.int32),
        "table_ptr": torch.stack(tables).to(torch.int32),
        "crc_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "WORDS": WORDS,
    }


def crc32_slices_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def crc32_slices_reference(word_ptr, table_ptr):
    tables = table_ptr.long() & 0xFFFFFFFF
    crc = torch.full((len(word_ptr),), 0xFFFFFFFF)
    for word in word_ptr.long().T & 0xFFFFFFFF:
        crc ^= word
        crc = (
            tables[3][crc & 255]
            ^ tables[2][crc >> 8 & 255]
            ^ tables[1][crc >> 16 & 255]
            ^ tables[0][crc >> 24]
        )
    return {"crc_ptr": (crc ^ 0xFFFFFFFF).to(torch.int32)}


@triton.autotune(
    [
        triton.Config({"BLOCK_N": rows, "BLOCK_M": columns})
        for rows, columns in ((16, 16), (64, 4), (4, 64))
    ],
    key=[],
)
@triton.jit
def chamfer_nearest(
    from_ptr,
    to_ptr,
    distance_ptr,
    index_ptr,
    N,
    M,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """The nearest point of another cloud for each point, and how far away it is."""
    row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = row < N
    x = tl.load(from_ptr + 3 * row, mask=mask, other=0.0)[:, None]
    y = tl.load(from_ptr + 3 * row + 1, mask=mask, other=0.0)[:, None]
    z = tl.load(from_ptr + 3 * row + 2, mask=mask, other=0.0)[:, None]
    nearest = tl.full((BLOCK_N,), float("inf"), dtype=tl.float32)
    index = tl.zeros((BLOCK_N,), dtype=tl.int32)
    for start in range(0, M, BLOCK_M):
        column = start + tl.arange(0, BLOCK_M)
        exists = column < M
        dx = x - tl.load(to_ptr + 3 * column, mask=exists, other=0.0)[None, :]
        dy = y - tl.load(to_ptr + 3 * column + 1, mask=exists, other=0.0)[None, :]
        dz = z - tl.load(to_ptr + 3 * column + 2, mask=exists, other=0.0)[None, :]
        square = tl.where(exists[None, :], dx * dx + dy * dy + dz * dz, float("inf"))
        lowest, at = tl.min(square, axis=1, return_indices=True)
        index = tl.where(lowest < nearest, start + at, index)
        nearest = tl.minimum(nearest, lowest)
    tl.store(distance_ptr + row, nearest, mask=mask)
    tl.store(index_ptr + row, index, mask=mask)


def chamfer_nearest_arguments(N=300, M=330):
    target = torch.randn(M, 3)
    return {
        "from_ptr": target[torch.randint(0, M, (N,))] + 0.1 * torch.randn(N, 3),
        "to_ptr": target,
        "distance_ptr": torch.empty(N),
        "index_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "M": M,
    }


def chamfer_nearest_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def chamfer_nearest_reference(from_ptr, to_ptr):
    square = (from_ptr.double()[:, None] - to_ptr.double()).square().sum(2)
    distance, index = square.min(1)
    return {"distance_ptr": distance, "index_ptr": index.int()}
