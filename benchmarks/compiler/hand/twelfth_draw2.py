"""Three more kernels of the twelfth draw to work on, that `twelfth_draw2.c` has in intrinsics.

The names, and the seed that drew them, are in `twelfth_draw.py`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def adafactor_rows(
    grad_ptr,
    row_ptr,
    column_ptr,
    mean_ptr,
    row_out_ptr,
    update_ptr,
    squares_ptr,
    N,
    beta,
    eps,
    BLOCK: tl.constexpr,
):
    """Adafactor's updates, by second moments that are products of one for a row and a column."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        grad = tl.load(grad_ptr + row * N + at, mask=mask, other=0.0)
        total += tl.where(mask, grad * grad + eps, 0.0)
    moment = beta * tl.load(row_ptr + row) + (1.0 - beta) * tl.sum(total, axis=0) / N
    tl.store(row_out_ptr + row, moment)
    row_scale = tl.rsqrt(moment / tl.load(mean_ptr))
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        grad = tl.load(grad_ptr + row * N + at, mask=mask, other=0.0)
        column = tl.load(column_ptr + at, mask=mask, other=1.0)
        update = grad * row_scale * tl.rsqrt(column)
        tl.store(update_ptr + row * N + at, update, mask=mask)
        squares += update * update
    tl.store(squares_ptr + row, tl.sum(squares, axis=0))


def adafactor_rows_arguments(M=44, N=500):
    row = 0.5 + torch.rand(M)
    return {
        "grad_ptr": torch.randn(M, N),
        "row_ptr": row,
        "column_ptr": 0.5 + torch.rand(N),
        "mean_ptr": row.mean().reshape(1),
        "row_out_ptr": torch.empty(M),
        "update_ptr": torch.empty(M, N),
        "squares_ptr": torch.empty(M),
        "N": N,
        "beta": 0.75,
        "eps": 1e-6,
    }


def adafactor_rows_grid(meta):
    return (meta["M"],)


def adafactor_rows_reference(grad_ptr, row_ptr, column_ptr, mean_ptr, beta, eps):
    grad = grad_ptr.double()
    moment = beta * row_ptr.double() + (1 - beta) * (grad.square() + eps).mean(1)
    update = grad * (moment / mean_ptr.double()).rsqrt()[:, None] * column_ptr.double().rsqrt()
    return {"row_out_ptr": moment, "update_ptr": update, "squares_ptr": update.square().sum(1)}


@triton.autotune(
    [triton.Config({"BLOCK": i, "OTHERS": j}) for i, j in ((16, 16), (64, 4), (4, 64))], key=[]
)
@triton.jit
def spring_layout_forces(
    x_ptr,
    y_ptr,
    start_ptr,
    neighbour_ptr,
    new_x_ptr,
    new_y_ptr,
    N,
    spacing,
    heat,
    BLOCK: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """A step of a graph's drawing: all nodes push each other away, and edges pull them together."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    force_x = tl.zeros((BLOCK,), dtype=tl.float32)
    force_y = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, OTHERS):
        other = start + tl.arange(0, OTHERS)
        exists = other < N
        dx = x[:, None] - tl.load(x_ptr + other, mask=exists, other=0.0)[None, :]
        dy = y[:, None] - tl.load(y_ptr + other, mask=exists, other=0.0)[None, :]
        square = tl.maximum(dx * dx + dy * dy, 1e-4)
        push = tl.where(exists[None, :], spacing * spacing / square, 0.0)
        force_x += tl.sum(dx * push, axis=1)
        force_y += tl.sum(dy * push, axis=1)
    first = tl.load(start_ptr + at, mask=mask, other=0)
    end = tl.load(start_ptr + at + 1, mask=mask, other=0)
    for step in range(tl.max(end - first, axis=0)):
        is_edge = first + step < end
        neighbour = tl.load(neighbour_ptr + first + step, mask=is_edge, other=0)
        dx = x - tl.load(x_ptr + neighbour, mask=is_edge, other=0.0)
        dy = y - tl.load(y_ptr + neighbour, mask=is_edge, other=0.0)
        pull = tl.where(is_edge, tl.sqrt(dx * dx + dy * dy) / spacing, 0.0)
        force_x -= dx * pull
        force_y -= dy * pull
    length = tl.maximum(tl.sqrt(force_x * force_x + force_y * force_y), 1e-6)
    move = tl.minimum(length, heat) / length
    tl.store(new_x_ptr + at, x + force_x * move, mask=mask)
    tl.store(new_y_ptr + at, y + force_y * move, mask=mask)


def spring_layout_forces_arguments(N=150, EDGES=450):
    ends = torch.randint(0, N, (2, EDGES))
    first, second = torch.cat([ends, ends.flip(0)], 1)
    degrees = torch.bincount(first, minlength=N)
    return {
        "x_ptr": torch.rand(N),
        "y_ptr": torch.rand(N),
        "start_ptr": torch.cat([torch.zeros(1), degrees.cumsum(0)]).int(),
        "neighbour_ptr": second[first.argsort()].int(),
        "new_x_ptr": torch.empty(N),
        "new_y_ptr": torch.empty(N),
        "N": N,
        "spacing": N**-0.5,
        "heat": 0.1,
    }


def spring_layout_forces_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def spring_layout_forces_reference(x_ptr, y_ptr, start_ptr, neighbour_ptr, spacing, heat):
    places = torch.stack([x_ptr, y_ptr], 1).double()
    away = places[:, None] - places[None, :]
    forces = (away * spacing**2 / away.square().sum(2, True).clamp_min(1e-4)).sum(1)
    node = torch.arange(len(places)).repeat_interleave(start_ptr.diff())
    along = places[node] - places[neighbour_ptr.long()[: len(node)]]
    forces.index_add_(0, node, -along * along.norm(dim=1, keepdim=True) / spacing)
    length = forces.norm(dim=1, keepdim=True).clamp_min(1e-6)
    new = places + forces * length.clamp_max(heat) / length
    return {"new_x_ptr": new[:, 0], "new_y_ptr": new[:, 1]}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 4, 64)], key=[])
@triton.jit
def fsk_demodulate(
    x_ptr,
    tone_ptr,
    bit_ptr,
    soft_ptr,
    SYMBOLS,
    SAMPLES,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The bits of a modem's sound: has a symbol more of the tone for 1, or of the one for 0?"""
    symbol = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sample = tl.arange(0, WIDTH)
    exists = sample < SAMPLES
    mask = (symbol < SYMBOLS)[:, None] & exists[None, :]
    at = symbol[:, None] * SAMPLES + sample[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32)
    cosine = tl.load(tone_ptr + sample, mask=exists, other=0.0)
    sine = tl.load(tone_ptr + SAMPLES + sample, mask=exists, other=0.0)
    real = tl.sum(x * cosine[None, :], axis=1)
    imaginary = tl.sum(x * sine[None, :], axis=1)
    mark = real * real + imaginary * imaginary
    cosine = tl.load(tone_ptr + 2 * SAMPLES + sample, mask=exists, other=0.0)
    sine = tl.load(tone_ptr + 3 * SAMPLES + sample, mask=exists, other=0.0)
    real = tl.sum(x * cosine[None, :], axis=1)
    imaginary = tl.sum(x * sine[None, :], axis=1)
    space = real * real + imaginary * imaginary
    tl.store(bit_ptr + symbol, (mark > space).to(tl.uint8), mask=symbol < SYMBOLS)
    soft = (mark - space) / (mark + space + 1.0)
    tl.store(soft_ptr + symbol, soft, mask=symbol < SYMBOLS)


def fsk_demodulate_arguments(SYMBOLS=510, SAMPLES=40):
    phases = torch.arange(SAMPLES) * torch.tensor([[1200.0], [2200.0]]) * (2 * torch.pi / 48000)
    tones = torch.stack([phases.cos(), phases.sin()], 1)
    clean = tones[torch.randint(0, 2, (SYMBOLS,)), torch.randint(0, 2, (SYMBOLS,))]
    return {
        "x_ptr": (8000 * clean + 2000 * torch.randn(SYMBOLS, SAMPLES)).to(torch.int16),
        "tone_ptr": tones.reshape(4, SAMPLES),
        "bit_ptr": torch.empty(SYMBOLS, dtype=torch.uint8),
        "soft_ptr": torch.empty(SYMBOLS),
        "SYMBOLS": SYMBOLS,
        "SAMPLES": SAMPLES,
        "WIDTH": triton.next_power_of_2(SAMPLES),
    }


def fsk_demodulate_grid(meta):
    return (triton.cdiv(meta["SYMBOLS"], meta["BLOCK"]),)


def fsk_demodulate_reference(x_ptr, tone_ptr):
    parts = (x_ptr.double() @ tone_ptr.double().T).square()
    mark, space = parts[:, 0] + parts[:, 1], parts[:, 2] + parts[:, 3]
    soft = (mark - space) / (mark + space + 1)
    return {"bit_ptr": (mark > space).byte(), "soft_ptr": soft}
