"""The other six kernels of the tenth draw, that `tenth_held_out.c` has in RVV intrinsics.

The names, and the seed that drew them, are in `tenth_draw.py`. Outputs of both sides were
checked when these were written; the compiler's cycles were not looked at.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 512)], key=[])
@triton.jit
def bootstrap_means(x_ptr, draw_ptr, mean_ptr, N, BLOCK: tl.constexpr):
    """Means of samples that were drawn from one sample with replacement."""
    sample = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N
        drawn = tl.load(draw_ptr + sample * N + at, mask=mask, other=0)
        total += tl.load(x_ptr + drawn, mask=mask, other=0.0)
    tl.store(mean_ptr + sample, tl.sum(total, axis=0) / N)


def bootstrap_means_arguments(SAMPLES=80, N=400):
    return {
        "x_ptr": torch.randn(N) + 3,
        "draw_ptr": torch.randint(0, N, (SAMPLES, N), dtype=torch.int32),
        "mean_ptr": torch.empty(SAMPLES),
        "N": N,
    }


def bootstrap_means_grid(meta):
    return (meta["SAMPLES"],)


def bootstrap_means_reference(x_ptr, draw_ptr):
    return {"mean_ptr": x_ptr.double()[draw_ptr.long()].mean(1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def screen_blend_argb(front_ptr, back_ptr, out_ptr, PIXELS, BLOCK: tl.constexpr):
    """The screen blend of pixels in 32 bits, each with opacity, red, green and blue."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < PIXELS
    front = tl.load(front_ptr + at, mask=mask, other=0)
    back = tl.load(back_ptr + at, mask=mask, other=0)
    out = back & -16777216  # the opacity
    for shift in tl.static_range(0, 24, 8):
        dark = (255 - ((front >> shift) & 255)) * (255 - ((back >> shift) & 255))
        out |= (255 - (dark + 127) // 255) << shift
    tl.store(out_ptr + at, out, mask=mask)


def screen_blend_argb_arguments(PIXELS=15000):
    pixels = torch.randint(-(2**31), 2**31, (2, PIXELS), dtype=torch.int32)
    return {
        "front_ptr": pixels[0].clone(),
        "back_ptr": pixels[1].clone(),
        "out_ptr": torch.empty(PIXELS, dtype=torch.int32),
        "PIXELS": PIXELS,
    }


def screen_blend_argb_grid(meta):
    return (triton.cdiv(meta["PIXELS"], meta["BLOCK"]),)


def screen_blend_argb_reference(front_ptr, back_ptr):
    front, back = (each.view(torch.uint8).int() for each in (front_ptr, back_ptr))
    out = (255 - ((255 - front) * (255 - back) + 127) // 255).to(torch.uint8)
    out[3::4] = back_ptr.view(torch.uint8)[3::4]
    return {"out_ptr": out.view(torch.int32)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 256, 16)], key=[])
@triton.jit
def euler_to_quaternion(angle_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Poses by roll, pitch and yaw become quaternions with the scalar first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    roll = 0.5 * tl.load(angle_ptr + at * 3, mask=mask, other=0.0)
    pitch = 0.5 * tl.load(angle_ptr + at * 3 + 1, mask=mask, other=0.0)
    yaw = 0.5 * tl.load(angle_ptr + at * 3 + 2, mask=mask, other=0.0)
    cr, sr = tl.cos(roll), tl.sin(roll)
    cp, sp = tl.cos(pitch), tl.sin(pitch)
    cy, sy = tl.cos(yaw), tl.sin(yaw)
    tl.store(out_ptr + at * 4, cr * cp * cy + sr * sp * sy, mask=mask)
    tl.store(out_ptr + at * 4 + 1, sr * cp * cy - cr * sp * sy, mask=mask)
    tl.store(out_ptr + at * 4 + 2, cr * sp * cy + sr * cp * sy, mask=mask)
    tl.store(out_ptr + at * 4 + 3, cr * cp * sy - sr * sp * cy, mask=mask)


def euler_to_quaternion_arguments(N=2500):
    limits = torch.tensor([torch.pi, torch.pi / 2, torch.pi])
    return {
        "angle_ptr": (2 * torch.rand(N, 3) - 1) * limits,
        "out_ptr": torch.empty(N, 4),
        "N": N,
    }


def euler_to_quaternion_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def euler_to_quaternion_reference(angle_ptr):
    half = angle_ptr.double() / 2
    (cr, cp, cy), (sr, sp, sy) = half.cos().T, half.sin().T
    scalar, x = cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy
    y, z = cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy
    return {"out_ptr": torch.stack([scalar, x, y, z], 1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def zero_crossings(x_ptr, rate_ptr, LENGTH, BLOCK: tl.constexpr):
    """How often the sign changes from sample to sample of each frame, as a share."""
    frame = tl.program_id(0)
    x = x_ptr + frame * LENGTH
    count = tl.zeros((BLOCK,), dtype=tl.int32)
    for start in range(0, LENGTH - 1, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < LENGTH - 1
        before = tl.load(x + at, mask=mask, other=0.0)
        after = tl.load(x + at + 1, mask=mask, other=0.0)
        count += ((before < 0) != (after < 0)).to(tl.int32)
    tl.store(rate_ptr + frame, tl.sum(count, axis=0).to(tl.float32) / (LENGTH - 1))


def zero_crossings_arguments(FRAMES=100, LENGTH=480):
    return {
        "x_ptr": torch.randn(FRAMES, LENGTH),
        "rate_ptr": torch.empty(FRAMES),
        "LENGTH": LENGTH,
    }


def zero_crossings_grid(meta):
    return (meta["FRAMES"],)


def zero_crossings_reference(x_ptr):
    is_negative = x_ptr < 0
    return {"rate_ptr": (is_negative[:, 1:] != is_negative[:, :-1]).double().mean(1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 2048)], key=[])
@triton.jit
def repetition_penalty(
    logits_ptr, seen_ptr, penalty_ptr, out_ptr, VOCABULARY, WORDS, BLOCK: tl.constexpr
):
    """Logits of tokens that a sequence has, by bits of words, come nearer to being unlikely."""
    row = tl.program_id(0)
    first = tl.program_id(1) * BLOCK
    token = first + tl.arange(0, BLOCK)
    mask = token < VOCABULARY
    logits = tl.load(logits_ptr + row * VOCABULARY + token, mask=mask, other=0.0)
    word = first // 32 + tl.arange(0, BLOCK // 32)
    packed = tl.load(seen_ptr + row * WORDS + word, mask=word < WORDS, other=0)
    seen = (packed[:, None] >> tl.arange(0, 32)[None, :]) & 1
    seen = seen.to(tl.int1).reshape(BLOCK)
    penalty = tl.where(seen, tl.load(penalty_ptr + row), 1.0)
    logits *= tl.where(logits > 0, 1.0 / penalty, penalty)
    tl.store(out_ptr + row * VOCABULARY + token, logits, mask=mask)


def repetition_penalty_arguments(ROWS=5, VOCABULARY=6000):
    words = triton.cdiv(VOCABULARY, 32)
    seen = torch.randint(-(2**31), 2**31, (2, ROWS, words), dtype=torch.int32)
    return {
        "logits_ptr": 3 * torch.randn(ROWS, VOCABULARY),
        "seen_ptr": seen[0] & seen[1],
        "penalty_ptr": 1 + 0.5 * torch.rand(ROWS),
        "out_ptr": torch.empty(ROWS, VOCABULARY),
        "VOCABULARY": VOCABULARY,
        "WORDS": words,
    }


def repetition_penalty_grid(meta):
    return (meta["ROWS"], triton.cdiv(meta["VOCABULARY"], meta["BLOCK"]))


def repetition_penalty_reference(logits_ptr, seen_ptr, penalty_ptr, VOCABULARY):
    logits, penalty = logits_ptr.double(), penalty_ptr.double()[:, None]
    bits = (seen_ptr[:, :, None] >> torch.arange(32, dtype=torch.int32)) & 1
    seen = bits.flatten(1)[:, :VOCABULARY].bool()
    changed = torch.where(logits > 0, logits / penalty, logits * penalty)
    return {"out_ptr": torch.where(seen, changed, logits)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": c}) for r, c in ((2, 64), (1, 128), (4, 32))], key=[]
)
@triton.jit
def bilateral_filter3(
    x_ptr, y_ptr, H, W, range_scale, space_scale, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Each pixel's mean with the eight around it, of which those of other brightness count less."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (y < H) & (x < W)
    centre = tl.load(x_ptr + y * W + x, mask=mask, other=0.0)
    total = centre
    weights = tl.full((ROWS, BLOCK), 1.0, dtype=tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            if dy != 0 or dx != 0:
                inside = (y + dy >= 0) & (y + dy < H) & (x + dx >= 0) & (x + dx < W)
                pixel = tl.load(x_ptr + (y + dy) * W + x + dx, mask=inside, other=0.0)
                apart = pixel - centre
                exponent = (dy * dy + dx * dx) * space_scale + apart * apart * range_scale
                weight = tl.where(inside, tl.exp(exponent), 0.0)
                total += weight * pixel
                weights += weight
    tl.store(y_ptr + y * W + x, total / weights, mask=mask)


def bilateral_filter3_arguments(H=48, W=90):
    return {
        "x_ptr": torch.rand(H, W),
        "y_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
        "range_scale": -8.0,
        "space_scale": -0.25,
    }


def bilateral_filter3_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK"]), triton.cdiv(meta["H"], meta["ROWS"]))


def bilateral_filter3_reference(x_ptr, range_scale, space_scale):
    x = x_ptr.double()
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1), value=float("nan"))
    around = padded.unfold(0, 3, 1).unfold(1, 3, 1).flatten(2)
    offsets = torch.arange(-1, 2).square()
    space = (offsets[:, None] + offsets[None, :]).flatten() * space_scale
    weights = torch.exp(space + (around - x[:, :, None]).square() * range_scale)
    weights = torch.where(around.isnan(), 0, weights)
    return {"y_ptr": (weights * around.nan_to_num()).sum(2) / weights.sum(2)}
