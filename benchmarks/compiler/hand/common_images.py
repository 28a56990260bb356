"""Kernels of images and grids as users write them; the same loops in C are in `common_images.h`."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def gray_of_rgb(rgb_ptr, gray_ptr, N, BLOCK: tl.constexpr):
    """The brightness of pixels whose three bytes lie side by side."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    red = tl.load(rgb_ptr + 3 * at, mask=mask).to(tl.int32)
    green = tl.load(rgb_ptr + 3 * at + 1, mask=mask).to(tl.int32)
    blue = tl.load(rgb_ptr + 3 * at + 2, mask=mask).to(tl.int32)
    gray = (77 * red + 150 * green + 29 * blue) >> 8
    tl.store(gray_ptr + at, gray.to(tl.uint8), mask=mask)


def gray_of_rgb_arguments(N=32768):
    rgb = torch.randint(0, 256, (N, 3), dtype=torch.uint8)
    return {"rgb_ptr": rgb, "gray_ptr": torch.empty(N, dtype=torch.uint8), "N": N}


def gray_of_rgb_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def gray_of_rgb_reference(rgb_ptr):
    weights = torch.tensor([77, 150, 29])
    return {"gray_ptr": ((rgb_ptr.int() * weights).sum(1) >> 8).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=[])
@triton.jit
def planes_to_rgb(planes_ptr, rgb_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    for colour in tl.static_range(3):
        plane = tl.load(planes_ptr + colour * N + at, mask=mask)
        tl.store(rgb_ptr + 3 * at + colour, plane, mask=mask)


def planes_to_rgb_arguments(N=32768):
    planes = torch.randint(0, 256, (3, N), dtype=torch.uint8)
    return {"planes_ptr": planes, "rgb_ptr": torch.empty(N, 3, dtype=torch.uint8), "N": N}


def planes_to_rgb_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def planes_to_rgb_reference(planes_ptr):
    return {"rgb_ptr": planes_ptr.T.contiguous()}


@triton.autotune(
    [triton.Config({"BLOCK_H": h, "BLOCK_W": w}) for h, w in ((16, 32), (1, 128), (8, 32))], key=[]
)
@triton.jit
def sobel(x_ptr, y_ptr, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """The strength of edges; what is outside the image counts as 0."""
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    columns = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    across = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    down = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            r = rows + dy
            c = columns + dx
            inside = (r >= 0) & (r < H) & (c >= 0) & (c < W)
            x = tl.load(x_ptr + r * W + c, mask=inside, other=0.0)
            across += dx * (2 - dy * dy) * x
            down += dy * (2 - dx * dx) * x
    y = tl.sqrt(across * across + down * down)
    tl.store(y_ptr + rows * W + columns, y, mask=(rows < H) & (columns < W))


def sobel_arguments(H=128, W=192):
    return {"x_ptr": torch.randn(H, W), "y_ptr": torch.empty(H, W), "H": H, "W": W}


def sobel_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK_W"]), triton.cdiv(meta["H"], meta["BLOCK_H"]))


def sobel_reference(x_ptr):
    kernel = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]).double()
    kernels = torch.stack((kernel, kernel.T))[:, None]
    both = torch.nn.functional.conv2d(x_ptr.double()[None, None], kernels, padding=1)[0]
    return {"y_ptr": both.square().sum(0).sqrt()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512)], key=[])
@triton.jit
def bilinear(image_ptr, x_ptr, y_ptr, out_ptr, H, W, N, BLOCK: tl.constexpr):
    """Samples of an image at N points; it counts as 0 outside."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    left = tl.floor(x)
    top = tl.floor(y)
    right_part = x - left
    lower_part = y - top
    column = left.to(tl.int32)
    row = top.to(tl.int32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for dy in tl.static_range(2):
        for dx in tl.static_range(2):
            r = row + dy
            c = column + dx
            inside = mask & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            pixel = tl.load(image_ptr + r * W + c, mask=inside, other=0.0)
            across = right_part if dx else 1 - right_part
            total += pixel * across * (lower_part if dy else 1 - lower_part)
    tl.store(out_ptr + at, total, mask=mask)


def bilinear_arguments(H=64, W=96, N=4096):
    return {
        "image_ptr": torch.randn(H, W),
        "x_ptr": torch.rand(N) * (W + 2) - 2,
        "y_ptr": torch.rand(N) * (H + 2) - 2,
        "out_ptr": torch.empty(N),
        "H": H,
        "W": W,
        "N": N,
    }


def bilinear_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def bilinear_reference(image_ptr, x_ptr, y_ptr, H, W):
    padded = torch.nn.functional.pad(image_ptr.double(), (3, 3, 3, 3))
    left, top = x_ptr.floor(), y_ptr.floor()
    across, down = x_ptr.double() - left, y_ptr.double() - top
    row, column = top.long() + 3, left.long() + 3
    upper = padded[row, column] * (1 - across) + padded[row, column + 1] * across
    lower = padded[row + 1, column] * (1 - across) + padded[row + 1, column + 1] * across
    return {"out_ptr": upper * (1 - down) + lower * down}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32)], key=[])
@triton.jit
def mandelbrot(out_ptr, W, STEPS, BLOCK: tl.constexpr):
    """How many steps each point of a row stays within 2 of the origin."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c_re = columns.to(tl.float32) * (3.0 / W) - 2.0
    c_im = row.to(tl.float32) * (2.0 / W) - 1.0
    re = tl.zeros((BLOCK,), dtype=tl.float32)
    im = tl.zeros((BLOCK,), dtype=tl.float32)
    count = tl.zeros((BLOCK,), dtype=tl.int32)
    for _ in range(STEPS):
        within = re * re + im * im <= 4.0
        count += within.to(tl.int32)
        next_re = re * re - im * im + c_re
        im = tl.where(within, 2 * re * im + c_im, im)
        re = tl.where(within, next_re, re)
    tl.store(out_ptr + row * W + columns, count, mask=columns < W)


def mandelbrot_arguments(H=16, W=128):
    return {"out_ptr": torch.empty(H, W, dtype=torch.int32), "W": W, "STEPS": 16}


def mandelbrot_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def mandelbrot_reference(H, W, STEPS):
    c_re = torch.arange(W).float() * (3.0 / W) - 2.0
    c_im = torch.arange(H).float()[:, None] * (2.0 / W) - 1.0
    re = im = torch.zeros(H, W)
    count = torch.zeros(H, W, dtype=torch.int32)
    for _ in range(STEPS):
        within = re * re + im * im <= 4.0
        count += within.int()
        following = re * re - im * im + c_re
        im = torch.where(within, 2 * re * im + c_im, im)
        re = torch.where(within, following, re)
    return {"out_ptr": count}
