"""Three held-out kernels of the thirteenth draw, that `thirteenth_held_out.c` has.

The names, and the seed that drew them, are in `thirteenth_draw.py`, and three more are in
`thirteenth_held_out2.py`. Outputs of both sides were checked when these six were written; no
cycles of either side were looked at.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (1, 256), (16, 32))
    ],
    key=[],
)
@triton.jit
def lens_shading_raw16(
    raw_ptr,
    mesh_ptr,
    out_ptr,
    H,
    W,
    MESH_H,
    MESH_W,
    black,
    white,
    SHIFT: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """A sensor's dark corners made as light as its middle, by a mesh of gains for each colour."""
    y = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    x = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    mask = (y < H) & (x < W)
    colour = y % 2 * 2 + x % 2
    node = mesh_ptr + (colour * MESH_H + (y >> SHIFT)) * MESH_W + (x >> SHIFT)
    right = x & ((1 << SHIFT) - 1)
    below = y & ((1 << SHIFT) - 1)
    left = (1 << SHIFT) - right
    above = (1 << SHIFT) - below
    gain = tl.load(node, mask=mask, other=0).to(tl.int32) * (left * above)
    gain += tl.load(node + 1, mask=mask, other=0).to(tl.int32) * (right * above)
    gain += tl.load(node + MESH_W, mask=mask, other=0).to(tl.int32) * (left * below)
    gain += tl.load(node + MESH_W + 1, mask=mask, other=0).to(tl.int32) * (right * below)
    raw = tl.load(raw_ptr + y * W + x, mask=mask, other=0).to(tl.int32)
    light = black + (((raw - black) * (gain >> (2 * SHIFT)) + 512) >> 10)
    light = tl.minimum(tl.maximum(light, 0), white)
    tl.store(out_ptr + y * W + x, light.to(tl.int16), mask=mask)


def lens_shading_raw16_arguments(H=150, W=280, SHIFT=5):
    mesh_h, mesh_w = ((size - 1 >> SHIFT) + 2 for size in (H, W))
    far = torch.linspace(-1, 1, mesh_h)[:, None].square() + torch.linspace(-1, 1, mesh_w).square()
    colours = torch.tensor([0.7, 0.8, 0.8, 0.9])[:, None, None]
    return {
        "raw_ptr": torch.randint(40, 12000, (H, W), dtype=torch.int16),
        "mesh_ptr": (1024 * (1 + colours * far)).to(torch.int16),
        "out_ptr": torch.empty(H, W, dtype=torch.int16),
        "H": H,
        "W": W,
        "MESH_H": mesh_h,
        "MESH_W": mesh_w,
        "black": 256,
        "white": 16383,
        "SHIFT": SHIFT,
    }


def lens_shading_raw16_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), triton.cdiv(meta["W"], meta["BLOCK_W"]))


def lens_shading_raw16_reference(raw_ptr, mesh_ptr, H, W, black, white, SHIFT):
    y, x = torch.arange(H)[:, None], torch.arange(W)[None, :]
    colour, size = y % 2 * 2 + x % 2, 1 << SHIFT
    mesh, row, column, below, right = mesh_ptr.long(), y // size, x // size, y % size, x % size
    top = mesh[colour, row, column] * (size - right) + mesh[colour, row, column + 1] * right
    row = row + 1
    bottom = mesh[colour, row, column] * (size - right) + mesh[colour, row, column + 1] * right
    gain = (top * (size - below) + bottom * below) >> (2 * SHIFT)
    light = black + (((raw_ptr.long() - black) * gain + 512) >> 10)
    return {"out_ptr": light.clamp(0, white).to(torch.int16)}


@triton.jit
def _nearest_codes(x, bound_ptr):
    code = tl.zeros(x.shape, dtype=tl.int32)
    for bit in tl.static_range(8):
        place = bound_ptr + code + ((128 >> bit) - 1)
        code += tl.where(x > tl.load(place), 128 >> bit, 0)
    return code


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def adam8bit_blockwise(
    weight_ptr,
    grad_ptr,
    mean_ptr,
    square_ptr,
    mean_scale_ptr,
    square_scale_ptr,
    mean_map_ptr,
    square_map_ptr,
    mean_bound_ptr,
    square_bound_ptr,
    N,
    beta1,
    beta2,
    step_size,
    root_scale,
    eps,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Adam with moments of a byte: codes of a map, times the largest moment of 256 weights."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = row * SIZE + tl.arange(0, SIZE)[None, :]
    mask = at < N
    exists = row * SIZE < N
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0).to(tl.float32)
    code = tl.load(mean_ptr + at, mask=mask, other=0).to(tl.int32)
    scale = tl.load(mean_scale_ptr + row, mask=exists, other=0.0)
    mean = tl.load(mean_map_ptr + code) * scale * beta1 + grad * (1.0 - beta1)
    code = tl.load(square_ptr + at, mask=mask, other=0).to(tl.int32)
    scale = tl.load(square_scale_ptr + row, mask=exists, other=0.0)
    square = tl.load(square_map_ptr + code) * scale * beta2 + grad * grad * (1.0 - beta2)
    weight = tl.load(weight_ptr + at, mask=mask, other=0.0)
    weight -= step_size * mean / (tl.sqrt(square) * root_scale + eps)
    tl.store(weight_ptr + at, weight, mask=mask)
    scale = tl.max(tl.where(mask, tl.abs(mean), 0.0), axis=1, keep_dims=True)
    tl.store(mean_scale_ptr + row, scale, mask=exists)
    code = _nearest_codes(mean * (1.0 / tl.maximum(scale, 1e-30)), mean_bound_ptr)
    tl.store(mean_ptr + at, code.to(tl.uint8), mask=mask)
    scale = tl.max(tl.where(mask, square, 0.0), axis=1, keep_dims=True)
    tl.store(square_scale_ptr + row, scale, mask=exists)
    code = _nearest_codes(square * (1.0 / tl.maximum(scale, 1e-30)), square_bound_ptr)
    tl.store(square_ptr + at, code.to(tl.uint8), mask=mask)


def _map_of_bytes(first_power, bits):
    """Numbers up to 1 with `bits` bits behind the first, as dense as their exponents allow."""
    powers = 2.0 ** torch.arange(first_power, 0)
    numbers = powers[:, None] * (1 + torch.arange(1, 1 << bits) / (1 << bits))
    return torch.cat([numbers.flatten(), torch.ones(1)])


def adam8bit_blockwise_arguments(N=6000, SIZE=256):
    positive = _map_of_bytes(-9, 4)[-127:]
    mean_map = torch.cat([-positive.flip(0), torch.zeros(2), positive])
    square_map = torch.cat([torch.zeros(1), _map_of_bytes(-17, 4)[-255:]])
    rows = triton.cdiv(N, SIZE)
    return {
        "weight_ptr": torch.randn(N),
        "grad_ptr": torch.randn(N).bfloat16(),
        "mean_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "square_ptr": torch.randint(60, 256, (N,), dtype=torch.uint8),
        "mean_scale_ptr": (0.5 + torch.rand(rows)).bfloat16().float(),
        "square_scale_ptr": (0.5 + torch.rand(rows)).bfloat16().float(),
        "mean_map_ptr": mean_map,
        "square_map_ptr": square_map,
        "mean_bound_ptr": (mean_map[1:] + mean_map[:-1]) / 2,
        "square_bound_ptr": (square_map[1:] + square_map[:-1]) / 2,
        "N": N,
        "beta1": 0.875,
        "beta2": 0.96875,
        "step_size": 0.01,
        "root_scale": 1.25,
        "eps": 1e-6,
        "SIZE": SIZE,
    }


# Products of scales and numbers of maps have so few bits that no code depends on how a sum rounds.
adam8bit_blockwise_kept_inputs = [
    "mean_scale_ptr",
    "square_scale_ptr",
    "mean_map_ptr",
    "square_map_ptr",
    "mean_bound_ptr",
    "square_bound_ptr",
]


def adam8bit_blockwise_grid(meta):
    return (triton.cdiv(triton.cdiv(meta["N"], meta["SIZE"]), meta["ROWS"]),)


def adam8bit_blockwise_reference(
    weight_ptr,
    grad_ptr,
    mean_ptr,
    square_ptr,
    mean_scale_ptr,
    square_scale_ptr,
    mean_map_ptr,
    square_map_ptr,
    mean_bound_ptr,
    square_bound_ptr,
    N,
    beta1,
    beta2,
    step_size,
    root_scale,
    eps,
    SIZE,
):
    grad = grad_ptr.float()
    row = torch.arange(N) // SIZE
    mean = mean_map_ptr[mean_ptr.long()] * mean_scale_ptr[row] * beta1 + grad * (1 - beta1)
    square = square_map_ptr[square_ptr.long()] * square_scale_ptr[row] * beta2
    square += grad * grad * (1 - beta2)
    move = step_size * mean.double() / (square.double().sqrt() * root_scale + eps)
    outputs = {"weight_ptr": weight_ptr - move}
    for name, x, bounds in (("mean", mean, mean_bound_ptr), ("square", square, square_bound_ptr)):
        scale = torch.zeros(len(mean_scale_ptr)).scatter_reduce(0, row, x.abs(), "amax")
        share = x * (1 / scale.clamp_min(1e-30))[row]
        outputs[f"{name}_scale_ptr"] = scale
        outputs[f"{name}_ptr"] = torch.searchsorted(bounds, share).byte()
    return outputs


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def dpo_pair_loss(
    chosen_ptr,
    rejected_ptr,
    chosen_reference_ptr,
    rejected_reference_ptr,
    chosen_mask_ptr,
    rejected_mask_ptr,
    loss_ptr,
    chosen_reward_ptr,
    rejected_reward_ptr,
    T,
    beta,
    smoothing,
    BLOCK: tl.constexpr,
):
    """How much more a model likes the better answer of two than before, by its tokens' shares."""
    pair = tl.program_id(0)
    chosen = tl.zeros((BLOCK,), dtype=tl.float32)
    rejected = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, T, BLOCK):
        token = start + tl.arange(0, BLOCK)
        exists = token < T
        at = pair * T + token
        counts = tl.load(chosen_mask_ptr + at, mask=exists, other=0) != 0
        policy = tl.load(chosen_ptr + at, mask=counts, other=0.0)
        chosen += policy - tl.load(chosen_reference_ptr + at, mask=counts, other=0.0)
        counts = tl.load(rejected_mask_ptr + at, mask=exists, other=0) != 0
        policy = tl.load(rejected_ptr + at, mask=counts, other=0.0)
        rejected += policy - tl.load(rejected_reference_ptr + at, mask=counts, other=0.0)
    chosen_reward = beta * tl.sum(chosen, axis=0)
    rejected_reward = beta * tl.sum(rejected, axis=0)
    margin = chosen_reward - rejected_reward
    rest = tl.log(1.0 + tl.exp(-tl.abs(margin)))
    preferred = rest + tl.maximum(-margin, 0.0)
    flipped = rest + tl.maximum(margin, 0.0)
    tl.store(loss_ptr + pair, (1.0 - smoothing) * preferred + smoothing * flipped)
    tl.store(chosen_reward_ptr + pair, chosen_reward)
    tl.store(rejected_reward_ptr + pair, rejected_reward)


def dpo_pair_loss_arguments(PAIRS=36, T=400):
    token, lengths = torch.arange(T), torch.randint(T // 3, T + 1, (2, PAIRS, 1))
    counts = (token >= torch.randint(0, T // 4, (PAIRS, 1))) & (token < lengths)
    policy = -2 * torch.rand(2, PAIRS, T)
    reference = policy + 0.5 * torch.randn(2, PAIRS, T)
    return {
        "chosen_ptr": policy[0].clone(),
        "rejected_ptr": policy[1].clone(),
        "chosen_reference_ptr": reference[0].clone(),
        "rejected_reference_ptr": reference[1].clone(),
        "chosen_mask_ptr": counts[0].byte(),
        "rejected_mask_ptr": counts[1].byte(),
        "loss_ptr": torch.empty(PAIRS),
        "chosen_reward_ptr": torch.empty(PAIRS),
        "rejected_reward_ptr": torch.empty(PAIRS),
        "T": T,
        "beta": 0.125,
        "smoothing": 0.0625,
    }


def dpo_pair_loss_grid(meta):
    return (meta["PAIRS"],)


def dpo_pair_loss_reference(
    chosen_ptr,
    rejected_ptr,
    chosen_reference_ptr,
    rejected_reference_ptr,
    chosen_mask_ptr,
    rejected_mask_ptr,
    beta,
    smoothing,
):
    rewards = [
        beta * (policy.double() - reference.double()).where(mask != 0, 0.0).sum(1)
        for policy, reference, mask in (
            (chosen_ptr, chosen_reference_ptr, chosen_mask_ptr),
            (rejected_ptr, rejected_reference_ptr, rejected_mask_ptr),
        )
    ]
    margin = rewards[0] - rewards[1]
    softplus = torch.nn.functional.softplus
    loss = (1 - smoothing) * softplus(-margin) + smoothing * softplus(margin)
    return {"loss_ptr": loss, "chosen_reward_ptr": rewards[0], "rejected_reward_ptr": rewards[1]}
