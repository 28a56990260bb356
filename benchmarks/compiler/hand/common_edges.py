"""Stencils as users write them that repeat the pixels at the edge of an image, by limits."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def laplace_of_edges(x_ptr, y_ptr, HEIGHT, WIDTH, BLOCK: tl.constexpr):
    """Four times each pixel less its neighbours, of an image that is walked as one line."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < HEIGHT * WIDTH
    row, column = at // WIDTH, at % WIDTH
    above, below = tl.maximum(row - 1, 0), tl.minimum(row + 1, HEIGHT - 1)
    left, right = tl.maximum(column - 1, 0), tl.minimum(column + 1, WIDTH - 1)
    total = tl.load(x_ptr + above * WIDTH + column, mask=mask)
    total += tl.load(x_ptr + below * WIDTH + column, mask=mask)
    total += tl.load(x_ptr + row * WIDTH + left, mask=mask)
    total += tl.load(x_ptr + row * WIDTH + right, mask=mask)
    tl.store(y_ptr + at, 4 * tl.load(x_ptr + at, mask=mask) - total, mask=mask)


def laplace_of_edges_arguments(H=60, W=150):
    return {"x_ptr": torch.randn(H, W), "y_ptr": torch.empty(H, W), "HEIGHT": H, "WIDTH": W}


def laplace_of_edges_grid(meta):
    return (triton.cdiv(meta["H"] * meta["W"], meta["BLOCK"]),)


def laplace_of_edges_reference(x_ptr):
    x = torch.nn.functional.pad(x_ptr.double()[None, None], (1, 1, 1, 1), "replicate")[0, 0]
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return {"y_ptr": 4 * x_ptr.double() - around}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (1, 256), (8, 32))
    ],
    key=[],
)
@triton.jit
def smooth_of_edges(x_ptr, y_ptr, HEIGHT, WIDTH, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """Each pixel's mean with the eight around it."""
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    total = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for down in tl.static_range(-1, 2):
        row = tl.minimum(tl.maximum(rows + down, 0), HEIGHT - 1)
        for along in tl.static_range(-1, 2):
            column = tl.minimum(tl.maximum(columns + along, 0), WIDTH - 1)
            total += tl.load(x_ptr + row[:, None] * WIDTH + column[None, :])
    mask = (rows < HEIGHT)[:, None] & (columns < WIDTH)[None, :]
    tl.store(y_ptr + rows[:, None] * WIDTH + columns[None, :], total / 9, mask=mask)


def smooth_of_edges_arguments(H=60, W=150):
    return {"x_ptr": torch.randn(H, W), "y_ptr": torch.empty(H, W), "HEIGHT": H, "WIDTH": W}


def smooth_of_edges_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def smooth_of_edges_reference(x_ptr):
    x = torch.nn.functional.pad(x_ptr.double()[None, None], (1, 1, 1, 1), "replicate")
    return {"y_ptr": torch.nn.functional.avg_pool2d(x, 3, stride=1)[0, 0]}
