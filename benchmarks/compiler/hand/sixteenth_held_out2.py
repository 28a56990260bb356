"""Four more held-out kernels of the sixteenth draw, that `sixteenth_held_out2.c` has in intrinsics.

The names, and the seed that drew them, are in `sixteenth_held_out.py`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def stereo_mid_side(pcm_ptr, mid_ptr, side_ptr, N, BLOCK: tl.constexpr):
    """Mean and difference of both channels of 16 bits, whose samples take turns."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    left = tl.load(pcm_ptr + 2 * at, mask=mask, other=0).to(tl.int32)
    right = tl.load(pcm_ptr + 2 * at + 1, mask=mask, other=0).to(tl.int32)
    tl.store(mid_ptr + at, ((left + right) >> 1).to(tl.int16), mask=mask)
    tl.store(side_ptr + at, left - right, mask=mask)


def stereo_mid_side_arguments(N=22050):
    return {
        "pcm_ptr": torch.randint(-(2**15), 2**15, (N, 2), dtype=torch.int16),
        "mid_ptr": torch.empty(N, dtype=torch.int16),
        "side_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
    }


def stereo_mid_side_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def stereo_mid_side_reference(pcm_ptr):
    left, right = pcm_ptr.long().T
    return {"mid_ptr": (left + right) >> 1, "side_ptr": left - right}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def hilbert_curve_index(x_ptr, y_ptr, out_ptr, N, ORDER: tl.constexpr, BLOCK: tl.constexpr):
    """How far along Hilbert's curve points of a grid of 2^ORDER by 2^ORDER are."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0)
    y = tl.load(y_ptr + at, mask=mask, other=0)
    index = tl.zeros((BLOCK,), dtype=tl.int32)
    for step in range(ORDER):
        bit = ORDER - 1 - step
        right = (x >> bit) & 1
        up = (y >> bit) & 1
        index = (index << 2) | ((3 * right) ^ up)
        flip = tl.where((up == 0) & (right == 1), (1 << bit) - 1, 0)
        flipped_x = x ^ flip
        flipped_y = y ^ flip
        x = tl.where(up == 0, flipped_y, flipped_x)
        y = tl.where(up == 0, flipped_x, flipped_y)
    tl.store(out_ptr + at, index, mask=mask)


def hilbert_curve_index_arguments(N=5000, ORDER=15):
    return {
        "x_ptr": torch.randint(0, 2**ORDER, (N,), dtype=torch.int32),
        "y_ptr": torch.randint(0, 2**ORDER, (N,), dtype=torch.int32),
        "out_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "ORDER": ORDER,
    }


def hilbert_curve_index_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def hilbert_curve_index_reference(x_ptr, y_ptr, ORDER):
    x, y, last = x_ptr.numpy().astype("int64"), y_ptr.numpy().astype("int64"), 2**ORDER - 1
    index, side = 0 * x, 2 ** (ORDER - 1)
    while side:
        right, up = (x & side > 0) * 1, (y & side > 0) * 1
        index += side * side * ((3 * right) ^ up)
        back, turn = (up == 0) & (right == 1), up == 0
        x[back], y[back] = last - x[back], last - y[back]
        x[turn], y[turn] = y[turn], x[turn]
        side //= 2
    return {"out_ptr": torch.from_numpy(index)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 16)], key=[])
@triton.jit
def reverse_complement_bytes(
    base_ptr, length_ptr, out_ptr, READS, L, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Reads of the other strand, from their end on: letters keep their case, ends are zeros."""
    read = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    there = read < READS
    length = tl.load(length_ptr + read, mask=there, other=0)
    base = tl.load(base_ptr + read * L + length - 1 - column, mask=column < length, other=0)
    letter = base & 0xDF
    weak = (letter == 65) | (letter == 84)
    strong = (letter == 67) | (letter == 71)
    other = base ^ tl.where(weak, 0x15, tl.where(strong, 0x04, 0)).to(tl.uint8)
    tl.store(out_ptr + read * L + column, other, mask=there & (column < L))


def reverse_complement_bytes_arguments(READS=150, L=151):
    letters = torch.tensor(list(b"ACGTACGTACGTACGTNacgt"), dtype=torch.uint8)
    return {
        "base_ptr": letters[torch.randint(0, len(letters), (READS, L))],
        "length_ptr": torch.randint(90, L + 1, (READS,), dtype=torch.int32),
        "out_ptr": torch.empty(READS, L, dtype=torch.uint8),
        "READS": READS,
        "L": L,
        "BLOCK": triton.next_power_of_2(L),
    }


def reverse_complement_bytes_grid(meta):
    return (triton.cdiv(meta["READS"], meta["ROWS"]),)


def reverse_complement_bytes_reference(base_ptr, length_ptr, L):
    others = bytes.maketrans(b"ACGTacgt", b"TGCAtgca")
    reads = [
        bytes(row[:length]).translate(others)[::-1].ljust(L, b"\0")
        for row, length in zip(base_ptr.numpy(), length_ptr.tolist(), strict=True)
    ]
    return {"out_ptr": torch.tensor([list(read) for read in reads], dtype=torch.uint8)}


PRIME1 = tl.constexpr(2654435761)
PRIME2 = tl.constexpr(2246822519)
PRIME3 = tl.constexpr(3266489917)
PRIME4 = tl.constexpr(668265263)


@triton.jit
def _turned(x, bits: tl.constexpr):
    return (x << bits) | (x >> (32 - bits))


@triton.jit
def _mixed(lane, word):
    return _turned(lane + word * PRIME2, 13) * PRIME1


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 512)], key=[])
@triton.jit
def xxhash32_stripes(word_ptr, out_ptr, N, WORDS, seed, BLOCK: tl.constexpr):
    """xxHash32 of records of at least four words: stripes of four, then single words."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = row < N
    words = word_ptr + row * WORDS
    start = tl.zeros((BLOCK,), dtype=tl.uint32) + seed.to(tl.uint32)
    a = start + PRIME1 + PRIME2
    b = start + PRIME2
    c = start
    d = start - PRIME1
    for stripe in range(WORDS // 4):
        at = words + 4 * stripe
        a = _mixed(a, tl.load(at, mask=mask, other=0).to(tl.uint32))
        b = _mixed(b, tl.load(at + 1, mask=mask, other=0).to(tl.uint32))
        c = _mixed(c, tl.load(at + 2, mask=mask, other=0).to(tl.uint32))
        d = _mixed(d, tl.load(at + 3, mask=mask, other=0).to(tl.uint32))
    x = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
    x += (4 * WORDS).to(tl.uint32)
    for last in range(WORDS // 4 * 4, WORDS):
        word = tl.load(words + last, mask=mask, other=0).to(tl.uint32)
        x = _turned(x + word * PRIME3, 17) * PRIME4
    x = (x ^ (x >> 15)) * PRIME2
    x = (x ^ (x >> 13)) * PRIME3
    tl.store(out_ptr + row, (x ^ (x >> 16)).to(tl.int32), mask=mask)


def xxhash32_stripes_arguments(N=500, WORDS=18):
    return {
        "word_ptr": torch.randint(-(2**31), 2**31, (N, WORDS), dtype=torch.int32),
        "out_ptr": torch.empty(N, dtype=torch.int32),
        "N": N,
        "WORDS": WORDS,
        "seed": 42,
    }


def xxhash32_stripes_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def xxhash32_stripes_reference(word_ptr, N, WORDS, seed):
    full = 2**32 - 1
    prime1, prime2, prime3, prime4 = 2654435761, 2246822519, 3266489917, 668265263

    def turned(x, bits):
        return (x << bits | x >> (32 - bits)) & full

    def hashed(words):
        lanes = [(seed + more) & full for more in (prime1 + prime2, prime2, 0, -prime1)]
        for at in range(WORDS // 4 * 4):
            mixed = (lanes[at % 4] + words[at] * prime2) & full
            lanes[at % 4] = turned(mixed, 13) * prime1 & full
        x = sum(turned(*each) for each in zip(lanes, (1, 7, 12, 18), strict=True)) + 4 * WORDS
        for word in words[WORDS // 4 * 4 :]:
            x = turned((x + word * prime3) & full, 17) * prime4 & full
        x &= full
        x = (x ^ x >> 15) * prime2 & full
        x = (x ^ x >> 13) * prime3 & full
        return x ^ x >> 16

    rows = (word_ptr.long() & full).tolist()
    hashes = torch.tensor([hashed(row) for row in rows])
    return {"out_ptr": torch.where(hashes < 2**31, hashes, hashes - 2**32)}
