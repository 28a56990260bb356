"""Three more held-out kernels of the fourteenth draw, that `fourteenth_held_out2.c` has.

The names, and the seed that drew them, are in `fourteenth_draw.py`.
"""

import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 128), (1, 512), (16, 32))
    ],
    key=[],
)
@triton.jit
def lorenzo_residuals(
    x_ptr,
    code_ptr,
    outlier_ptr,
    H,
    W,
    inverse,
    RADIUS: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """A field in steps of an error bound, less what its neighbours foretell, as small codes."""
    y = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    x = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    mask = (y < H) & (x < W)
    at = x_ptr + y * W + x
    own = libdevice.rint(tl.load(at, mask=mask, other=0.0) * inverse).to(tl.int32)
    left = tl.load(at - 1, mask=mask & (x > 0), other=0.0)
    above = tl.load(at - W, mask=mask & (y > 0), other=0.0)
    corner = tl.load(at - W - 1, mask=mask & (x > 0) & (y > 0), other=0.0)
    foretold = libdevice.rint(left * inverse).to(tl.int32)
    foretold += libdevice.rint(above * inverse).to(tl.int32)
    foretold -= libdevice.rint(corner * inverse).to(tl.int32)
    residual = own - foretold
    is_small = (residual > -RADIUS) & (residual < RADIUS)
    code = tl.where(is_small, residual + RADIUS, 0)
    tl.store(code_ptr + y * W + x, code.to(tl.int16), mask=mask)
    tl.store(outlier_ptr + y * W + x, tl.where(is_small, 0, residual), mask=mask)


def lorenzo_residuals_arguments(H=80, W=290, RADIUS=512):
    y, x = torch.arange(H)[:, None], torch.arange(W)[None, :]
    field = torch.sin(y / 9.0) * torch.cos(x / 17.0) + 0.002 * torch.randn(H, W)
    field += 3.0 * (torch.rand(H, W) < 0.002)
    return {
        "x_ptr": field,
        "code_ptr": torch.empty(H, W, dtype=torch.int16),
        "outlier_ptr": torch.empty(H, W, dtype=torch.int32),
        "H": H,
        "W": W,
        "inverse": 500.0,
        "RADIUS": RADIUS,
    }


def lorenzo_residuals_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def lorenzo_residuals_reference(x_ptr, inverse, RADIUS):
    steps = (x_ptr * torch.tensor(inverse, dtype=torch.float32)).round().long()
    steps = torch.nn.functional.pad(steps, (1, 0, 1, 0))
    residual = steps.diff(dim=0).diff(dim=1)
    is_small = residual.abs() < RADIUS
    return {
        "code_ptr": torch.where(is_small, residual + RADIUS, 0).short(),
        "outlier_ptr": torch.where(is_small, 0, residual).int(),
    }


@triton.autotune([triton.Config({"LAMBDAS": count}) for count in (1, 4, 8)], key=[])
@triton.jit
def lasso_coordinate_step(
    x_ptr,
    y_ptr,
    norm_ptr,
    lambda_ptr,
    w_ptr,
    L,
    N,
    P,
    SWEEPS,
    BLOCK: tl.constexpr,
    LAMBDAS: tl.constexpr,
):
    """Lasso for some penalties at once: one coefficient after another, in place, some times."""
    path = tl.program_id(0) * LAMBDAS + tl.arange(0, LAMBDAS)
    i = tl.arange(0, BLOCK)
    residual = tl.zeros((LAMBDAS, BLOCK), dtype=tl.float32)
    residual += tl.load(y_ptr + i, mask=i < N, other=0.0)[None, :]
    for j in range(P):
        x = tl.load(x_ptr + j * N + i, mask=i < N, other=0.0)[None, :]
        w = tl.load(w_ptr + path * P + j, mask=path < L, other=0.0)
        residual -= w[:, None] * x
    penalty = tl.load(lambda_ptr + path, mask=path < L, other=0.0)
    for _ in range(SWEEPS):
        for j in range(P):
            x = tl.load(x_ptr + j * N + i, mask=i < N, other=0.0)[None, :]
            norm = tl.load(norm_ptr + j)
            w = tl.load(w_ptr + path * P + j, mask=path < L, other=0.0)
            rho = tl.sum(x * residual, axis=1) + norm * w
            size = tl.maximum(tl.abs(rho) - penalty, 0.0) / norm
            new = tl.where(rho > 0, size, -size)
            residual += (w - new)[:, None] * x
            tl.store(w_ptr + path * P + j, new, mask=path < L)


def lasso_coordinate_step_arguments(L=16, N=150, P=27, SWEEPS=3):
    x = torch.randn(P, N)
    truth = torch.randn(P) * (torch.rand(P) < 0.4)
    return {
        "x_ptr": x,
        "y_ptr": truth @ x + 0.3 * torch.randn(N),
        "norm_ptr": x.square().sum(1),
        "lambda_ptr": 100.0 * 0.7 ** torch.arange(L),
        "w_ptr": 0.1 * torch.randn(L, P),
        "L": L,
        "N": N,
        "P": P,
        "SWEEPS": SWEEPS,
        "BLOCK": triton.next_power_of_2(N),
    }


# Norms are those of the features: with others, coefficients grow without end.
lasso_coordinate_step_kept_inputs = ["x_ptr", "norm_ptr"]


def lasso_coordinate_step_grid(meta):
    return (triton.cdiv(meta["L"], meta["LAMBDAS"]),)


def lasso_coordinate_step_reference(x_ptr, y_ptr, norm_ptr, lambda_ptr, w_ptr, P, SWEEPS):
    x, w, norm = x_ptr.double(), w_ptr.double().clone(), norm_ptr.double()
    residual = y_ptr.double() - w @ x
    for _ in range(SWEEPS):
        for j in range(P):
            rho = residual @ x[j] + norm[j] * w[:, j]
            new = rho.sign() * (rho.abs() - lambda_ptr.double()).clamp(min=0) / norm[j]
            residual = residual + (w[:, j] - new)[:, None] * x[j]
            w[:, j] = new
    return {"w_ptr": w}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (1, 64), (8, 16))
    ],
    key=[],
)
@triton.jit
def gabor_energy(
    image_ptr,
    even_ptr,
    odd_ptr,
    out_ptr,
    H,
    W,
    SIZE: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """How strong stripes of some directions are around a pixel, wherever they begin."""
    y = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    x = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    direction = tl.program_id(2)
    even = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    odd = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for i in range(SIZE):
        for k in range(SIZE):
            row, column = y + i - SIZE // 2, x + k - SIZE // 2
            inside = (row >= 0) & (row < H) & (column >= 0) & (column < W)
            pixel = tl.load(image_ptr + row * W + column, mask=inside, other=0).to(tl.float32)
            tap = (direction * SIZE + i) * SIZE + k
            even += tl.load(even_ptr + tap) * pixel
            odd += tl.load(odd_ptr + tap) * pixel
    at = (direction * H + y) * W + x
    tl.store(out_ptr + at, tl.sqrt(even * even + odd * odd), mask=(y < H) & (x < W))


def gabor_energy_arguments(H=28, W=60, DIRECTIONS=4, SIZE=7):
    at = torch.arange(SIZE) - SIZE // 2
    angle = torch.arange(DIRECTIONS)[:, None, None] * (math.pi / DIRECTIONS)
    along = at[None, None, :] * angle.cos() + at[None, :, None] * angle.sin()
    envelope = torch.exp(-(at[:, None].square() + at[None, :].square()) / 8.0)
    return {
        "image_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "even_ptr": (envelope * torch.cos(1.5 * along)).float(),
        "odd_ptr": (envelope * torch.sin(1.5 * along)).float(),
        "out_ptr": torch.empty(DIRECTIONS, H, W),
        "H": H,
        "W": W,
        "SIZE": SIZE,
    }


def gabor_energy_grid(meta):
    rows, columns = meta["BLOCK_H"], meta["BLOCK_W"]
    return (triton.cdiv(meta["H"], rows), triton.cdiv(meta["W"], columns), meta["DIRECTIONS"])


def gabor_energy_reference(image_ptr, even_ptr, odd_ptr, SIZE):
    image = image_ptr.double()[None, None]
    even, odd = (
        torch.conv2d(image, taps.double()[:, None], padding=SIZE // 2)[0]
        for taps in (even_ptr, odd_ptr)
    )
    return {"out_ptr": torch.hypot(even, odd)}
