"""Four more held-out kernels of the fifteenth draw, that `fifteenth_held_out2.c` has in intrinsics.

The names, and the seed that drew them, are in `fifteenth_held_out.py`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_Y": rows, "BLOCK_X": columns})
        for rows, columns in ((4, 64), (1, 256), (8, 32))
    ],
    key=[],
)
@triton.jit
def sobel_non_maximum(
    size_ptr, gx_ptr, gy_ptr, out_ptr, H, W, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr
):
    """Sizes of Sobel's gradients where they are the largest across their edge, and otherwise 0.

    Sizes have a rim of one pixel. Directions are of 45 degrees, by 15 bits of the tangent of half.
    """
    y = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    x = tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    mask = (y < H) & (x < W)
    gx = tl.load(gx_ptr + y * W + x, mask=mask, other=0).to(tl.int32)
    gy = tl.load(gy_ptr + y * W + x, mask=mask, other=0).to(tl.int32)
    centre = size_ptr + (y + 1) * (W + 2) + x + 1
    above = centre - (W + 2)
    below = centre + (W + 2)
    size = tl.load(centre, mask=mask, other=0)
    left = tl.load(centre - 1, mask=mask, other=0)
    right = tl.load(centre + 1, mask=mask, other=0)
    up = tl.load(above, mask=mask, other=0)
    down = tl.load(below, mask=mask, other=0)
    up_left = tl.load(above - 1, mask=mask, other=0)
    up_right = tl.load(above + 1, mask=mask, other=0)
    down_left = tl.load(below - 1, mask=mask, other=0)
    down_right = tl.load(below + 1, mask=mask, other=0)

    flat = tl.abs(gx) * 13573
    steep = tl.abs(gy) << 15
    horizontal = steep < flat
    vertical = steep > flat + (tl.abs(gx) << 16)
    rising = (gx ^ gy) < 0
    first = tl.where(rising, up_right, up_left)
    second = tl.where(rising, down_left, down_right)
    first = tl.where(vertical, up, first)
    second = tl.where(vertical, down, second)
    first = tl.where(horizontal, left, first)
    second = tl.where(horizontal, right, second)
    largest = (size > first) & (size >= second)
    tl.store(out_ptr + y * W + x, tl.where(largest, size, 0), mask=mask)


def sobel_non_maximum_arguments(H=90, W=300):
    image = torch.nn.functional.interpolate(
        255 * torch.rand(1, 1, H // 5 + 1, W // 5 + 1), size=(H + 2, W + 2), mode="bilinear"
    ).round()
    smooth, differ = torch.tensor([1.0, 2.0, 1.0]), torch.tensor([-1.0, 0.0, 1.0])
    masks = torch.stack([torch.outer(smooth, differ), torch.outer(differ, smooth)])[:, None]
    gx, gy = torch.nn.functional.conv2d(image, masks)[0].to(torch.int16)
    return {
        "size_ptr": torch.nn.functional.pad(gx.abs() + gy.abs(), (1, 1, 1, 1)),
        "gx_ptr": gx.contiguous(),
        "gy_ptr": gy.contiguous(),
        "out_ptr": torch.empty(H, W, dtype=torch.int16),
        "H": H,
        "W": W,
    }


def sobel_non_maximum_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_Y"]), triton.cdiv(meta["W"], meta["BLOCK_X"]))


def sobel_non_maximum_reference(size_ptr, gx_ptr, gy_ptr, H, W):
    def size(down, right):
        return size_ptr[1 + down : 1 + down + H, 1 + right : 1 + right + W]

    gx, gy = gx_ptr.long(), gy_ptr.long()
    flat, steep = 13573 * gx.abs(), gy.abs() << 15
    first = torch.where((gx ^ gy) < 0, size(-1, 1), size(-1, -1))
    second = torch.where((gx ^ gy) < 0, size(1, -1), size(1, 1))
    vertical, horizontal = steep > flat + (gx.abs() << 16), steep < flat
    first = torch.where(horizontal, size(0, -1), torch.where(vertical, size(-1, 0), first))
    second = torch.where(horizontal, size(0, 1), torch.where(vertical, size(1, 0), second))
    return {"out_ptr": size(0, 0) * ((size(0, 0) > first) & (size(0, 0) >= second))}


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def needleman_affine_row(
    score_ptr,
    gap_ptr,
    target_ptr,
    letter_ptr,
    new_score_ptr,
    new_gap_ptr,
    N,
    row,
    match,
    mismatch,
    gap_open,
    gap_extend,
    BLOCK: tl.constexpr,
):
    """The next row of pairs' scores of global alignments, with gaps that cost an opening too.

    A gap along the row is the largest of what came before it, less its length's cost.
    """
    pair = tl.program_id(0)
    score = score_ptr + pair * (N + 1)
    new_score = new_score_ptr + pair * (N + 1)
    letter = tl.load(letter_ptr + pair)
    edge = -(gap_open + gap_extend * row)
    tl.store(new_score, edge)
    before = edge
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        diagonal = tl.load(score + at, mask=mask, other=0)
        above = tl.load(score + at + 1, mask=mask, other=0)
        gap = tl.load(gap_ptr + pair * N + at, mask=mask, other=0)
        target = tl.load(target_ptr + pair * N + at, mask=mask, other=0)
        gap = tl.maximum(above - gap_open, gap) - gap_extend
        best = tl.maximum(diagonal + tl.where(target == letter, match, mismatch), gap)
        lifted = tl.where(mask, best + gap_extend * (at + 1), -1000000000)
        highest = tl.maximum(tl.associative_scan(lifted, 0, _larger), before)
        before = tl.maximum(before, tl.max(lifted, axis=0))
        best = tl.maximum(best, highest - gap_open - gap_extend * (at + 1))
        tl.store(new_score + at + 1, best, mask=mask)
        tl.store(new_gap_ptr + pair * N + at, gap, mask=mask)


def needleman_affine_row_arguments(PAIRS=20, N=700):
    return {
        "score_ptr": torch.randint(-300, 100, (PAIRS, N + 1), dtype=torch.int32),
        "gap_ptr": torch.randint(-320, 80, (PAIRS, N), dtype=torch.int32),
        "target_ptr": torch.randint(0, 4, (PAIRS, N), dtype=torch.int8),
        "letter_ptr": torch.randint(0, 4, (PAIRS,), dtype=torch.int8),
        "new_score_ptr": torch.empty(PAIRS, N + 1, dtype=torch.int32),
        "new_gap_ptr": torch.empty(PAIRS, N, dtype=torch.int32),
        "N": N,
        "row": 37,
        "match": 5,
        "mismatch": -4,
        "gap_open": 10,
        "gap_extend": 2,
    }


def needleman_affine_row_grid(meta):
    return (meta["PAIRS"],)


def needleman_affine_row_reference(
    score_ptr, gap_ptr, target_ptr, letter_ptr, N, row, match, mismatch, gap_open, gap_extend
):
    score, lengths = score_ptr.long(), gap_extend * torch.arange(N + 1)
    gap = torch.maximum(score[:, 1:] - gap_open, gap_ptr.long()) - gap_extend
    same = target_ptr == letter_ptr[:, None]
    best = torch.maximum(score[:, :-1] + torch.where(same, match, mismatch), gap)
    edge = torch.full((len(score), 1), -(gap_open + gap_extend * row))
    best = torch.cat([edge, best], 1)
    before = (best + lengths).cummax(1).values[:, :-1]
    along = before - gap_open - lengths[1:]
    best[:, 1:] = torch.maximum(best[:, 1:], along)
    return {"new_score_ptr": best, "new_gap_ptr": gap}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def quaternion_rotate_points(point_ptr, turn_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Points, each turned by a unit quaternion of its own, whose real part is first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(point_ptr + 3 * at, mask=mask, other=0.0)
    y = tl.load(point_ptr + 3 * at + 1, mask=mask, other=0.0)
    z = tl.load(point_ptr + 3 * at + 2, mask=mask, other=0.0)
    w = tl.load(turn_ptr + 4 * at, mask=mask, other=1.0)
    i = tl.load(turn_ptr + 4 * at + 1, mask=mask, other=0.0)
    j = tl.load(turn_ptr + 4 * at + 2, mask=mask, other=0.0)
    k = tl.load(turn_ptr + 4 * at + 3, mask=mask, other=0.0)
    a = 2.0 * (j * z - k * y)
    b = 2.0 * (k * x - i * z)
    c = 2.0 * (i * y - j * x)
    tl.store(out_ptr + 3 * at, x + w * a + j * c - k * b, mask=mask)
    tl.store(out_ptr + 3 * at + 1, y + w * b + k * a - i * c, mask=mask)
    tl.store(out_ptr + 3 * at + 2, z + w * c + i * b - j * a, mask=mask)


def quaternion_rotate_points_arguments(N=6000):
    return {
        "point_ptr": torch.randn(N, 3),
        "turn_ptr": torch.nn.functional.normalize(torch.randn(N, 4), dim=1),
        "out_ptr": torch.empty(N, 3),
        "N": N,
    }


def quaternion_rotate_points_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def quaternion_rotate_points_reference(point_ptr, turn_ptr):
    point, turn = point_ptr.double(), turn_ptr.double()
    real, rest = turn[:, :1], turn[:, 1:]
    across = 2 * torch.linalg.cross(rest, point)
    return {"out_ptr": point + real * across + torch.linalg.cross(rest, across)}


@triton.autotune(
    [
        triton.Config({"BLOCK_Y": rows, "BLOCK_X": columns})
        for rows, columns in ((1, 128), (4, 32), (8, 64))
    ],
    key=[],
)
@triton.jit
def coulomb_potential_grid(
    atom_ptr,
    out_ptr,
    ATOMS,
    NX,
    NY,
    spacing,
    height,
    BLOCK_Y: tl.constexpr,
    BLOCK_X: tl.constexpr,
):
    """The potential that charges have in a plane: rows of atoms are x, y, z and the charge."""
    row = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    column = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    x = column.to(tl.float32) * spacing
    y = row.to(tl.float32) * spacing
    total = tl.zeros((BLOCK_Y, BLOCK_X), dtype=tl.float32)
    for atom in range(ATOMS):
        dx = x - tl.load(atom_ptr + 4 * atom)
        dy = y - tl.load(atom_ptr + 4 * atom + 1)
        dz = height - tl.load(atom_ptr + 4 * atom + 2)
        charge = tl.load(atom_ptr + 4 * atom + 3)
        total += charge * tl.rsqrt(dx * dx + (dy * dy + dz * dz))
    tl.store(out_ptr + row * NX + column, total, mask=(row < NY) & (column < NX))


def coulomb_potential_grid_arguments(NX=112, NY=24, ATOMS=30):
    place = torch.rand(ATOMS, 3) * torch.tensor([NX * 0.5, NY * 0.5, 10.0])
    charge = torch.randn(ATOMS, 1)
    return {
        "atom_ptr": torch.cat([place, charge], 1),
        "out_ptr": torch.empty(NY, NX),
        "ATOMS": ATOMS,
        "NX": NX,
        "NY": NY,
        "spacing": 0.5,
        "height": -0.75,
    }


def coulomb_potential_grid_grid(meta):
    return (triton.cdiv(meta["NX"], meta["BLOCK_X"]), triton.cdiv(meta["NY"], meta["BLOCK_Y"]))


def coulomb_potential_grid_reference(atom_ptr, NX, NY, spacing, height):
    x, y, z, charge = atom_ptr.double().T[:, :, None, None]
    dx = torch.arange(NX)[None, None, :] * spacing - x
    dy = torch.arange(NY)[None, :, None] * spacing - y
    return {"out_ptr": (charge / (dx**2 + dy**2 + (height - z) ** 2).sqrt()).sum(0)}
