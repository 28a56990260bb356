"""Six of the twelve kernels of the eleventh draw, that `eleventh_draw.c` has in intrinsics.

`random.Random(20261201).sample(names, 12)` drew twelve of these 56 names before any was written;
the first six were to be worked on. Kernels are as users write them.

    prelu_channels instance_norm adaptive_avg_pool roi_align channel_shuffle conv_transpose1d
    squeeze_excite_scale log_softmax_rows gumbel_softmax triplet_margin dice_loss ctc_alpha_step
    lamb_trust_ratio rmsprop_step ema_of_weights nf4_dequantise mx_block_dequantise
    bf16_stochastic_round alaw_decode preemphasis_window comb_filter_bank cic_decimate
    rgb565_to_rgb888 premultiply_alpha chroma_key census_transform flow_warp palette_distance
    iq_mix_down viterbi_step cfar_detect degree_normalise bfs_frontier ipv4_checksum
    levenshtein_rows parse_decimal utf8_code_points kernel_density drawdown_rows rsi_series
    garch_paths tridiagonal_solve gauss_solve3 rank1_update householder_apply top_p_mask
    softcap_scores kv_int8_scores speculative_accept alias_sample box_muller morton_encode
    sph_density ray_box_slabs haversine_distances bit_reverse_permute
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def triplet_margin(
    anchor_ptr, positive_ptr, negative_ptr, loss_ptr, D, margin, eps, BLOCK: tl.constexpr
):
    """How much nearer than by a margin an anchor is to a negative example than to a positive."""
    row = tl.program_id(0)
    near = tl.zeros((BLOCK,), dtype=tl.float32)
    far = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, D, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < D
        anchor = tl.load(anchor_ptr + row * D + at, mask=mask, other=0.0)
        positive = tl.load(positive_ptr + row * D + at, mask=mask, other=0.0)
        negative = tl.load(negative_ptr + row * D + at, mask=mask, other=0.0)
        to_positive = tl.where(mask, anchor - positive + eps, 0.0)
        to_negative = tl.where(mask, anchor - negative + eps, 0.0)
        near += to_positive * to_positive
        far += to_negative * to_negative
    loss = tl.sqrt(tl.sum(near, axis=0)) - tl.sqrt(tl.sum(far, axis=0)) + margin
    tl.store(loss_ptr + row, tl.maximum(loss, 0.0))


def triplet_margin_arguments(ROWS=60, D=300):
    anchor = torch.randn(ROWS, D)
    return {
        "anchor_ptr": anchor,
        "positive_ptr": anchor + 0.9 * torch.randn(ROWS, D),
        "negative_ptr": anchor + torch.randn(ROWS, D),
        "loss_ptr": torch.empty(ROWS),
        "D": D,
        "margin": 2.0,
        "eps": 2.0**-20,
    }


def triplet_margin_grid(meta):
    return (meta["ROWS"],)


def triplet_margin_reference(anchor_ptr, positive_ptr, negative_ptr, margin, eps):
    anchor, positive, negative = (
        each.double() for each in (anchor_ptr, positive_ptr, negative_ptr)
    )
    near, far = ((anchor - other + eps).norm(dim=1) for other in (positive, negative))
    return {"loss_ptr": (near - far + margin).clamp_min(0)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def nf4_dequantise(
    packed_ptr, code_ptr, absmax_ptr, out_ptr, N, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Weights of QLoRA: two codes of 16 to a byte, and a scale for each group of weights."""
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pair < N // 2
    packed = tl.load(packed_ptr + pair, mask=mask, other=0).to(tl.int32)
    absmax = tl.load(absmax_ptr + 2 * pair // GROUP, mask=mask, other=0.0)
    first = tl.load(code_ptr + (packed >> 4)) * absmax
    second = tl.load(code_ptr + (packed & 15)) * absmax
    at = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out_ptr + at, tl.interleave(first, second), mask=at < N)


def nf4_dequantise_arguments(N=20000, GROUP=64):
    shares = torch.linspace(0.03, 0.97, 16, dtype=torch.double)
    code = torch.special.ndtri(shares)
    return {
        "packed_ptr": torch.randint(0, 256, (N // 2,), dtype=torch.uint8),
        "code_ptr": (code / code.max()).float(),
        "absmax_ptr": torch.rand(triton.cdiv(N, GROUP)) + 0.5,
        "out_ptr": torch.empty(N),
        "N": N,
        "GROUP": GROUP,
    }


def nf4_dequantise_grid(meta):
    return (triton.cdiv(meta["N"], 2 * meta["BLOCK"]),)


def nf4_dequantise_reference(packed_ptr, code_ptr, absmax_ptr, N, GROUP):
    codes = torch.stack([packed_ptr >> 4, packed_ptr & 15], 1).flatten().long()
    absmax = absmax_ptr.double().repeat_interleave(GROUP)[:N]
    return {"out_ptr": code_ptr.double()[codes] * absmax}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def bit_reverse_permute(x_ptr, y_ptr, N, BITS: tl.constexpr, BLOCK: tl.constexpr):
    """The order in which an FFT takes the complex numbers of each row: their bits reversed."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    reverse = tl.zeros((BLOCK,), dtype=tl.int32)
    for bit in tl.static_range(BITS):
        reverse |= ((at >> bit) & 1) << (BITS - 1 - bit)
    source = x_ptr + 2 * (row * N + reverse)
    real = tl.load(source, mask=mask)
    imaginary = tl.load(source + 1, mask=mask)
    tl.store(y_ptr + 2 * (row * N + at), real, mask=mask)
    tl.store(y_ptr + 2 * (row * N + at) + 1, imaginary, mask=mask)


def bit_reverse_permute_arguments(ROWS=12, BITS=10):
    return {
        "x_ptr": torch.randn(ROWS, 1 << BITS, 2),
        "y_ptr": torch.empty(ROWS, 1 << BITS, 2),
        "N": 1 << BITS,
        "BITS": BITS,
    }


def bit_reverse_permute_grid(meta):
    return (meta["ROWS"], triton.cdiv(1 << meta["BITS"], meta["BLOCK"]))


def bit_reverse_permute_reference(x_ptr, BITS):
    rows = x_ptr.reshape(len(x_ptr), *[2] * BITS, 2)
    order = [0, *range(BITS, 0, -1), BITS + 1]
    return {"y_ptr": rows.permute(order).reshape(x_ptr.shape)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 2048)], key=[])
@triton.jit
def ema_of_weights(ema_ptr, weight_ptr, step_ptr, out_ptr, N, largest_decay, BLOCK: tl.constexpr):
    """The moving average of a model's weights in bf16, that forgets faster in the first steps."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    step = tl.load(step_ptr).to(tl.float32)
    decay = tl.minimum((1.0 + step) / (10.0 + step), largest_decay)
    ema = tl.load(ema_ptr + at, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, decay * ema + (1.0 - decay) * weight, mask=mask)


def ema_of_weights_arguments(N=20000):
    return {
        "ema_ptr": torch.randn(N),
        "weight_ptr": torch.randn(N).to(torch.bfloat16),
        "step_ptr": torch.tensor([100], dtype=torch.int32),
        "out_ptr": torch.empty(N),
        "N": N,
        "largest_decay": 0.9375,
    }


def ema_of_weights_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def ema_of_weights_reference(ema_ptr, weight_ptr, step_ptr, largest_decay):
    step = step_ptr.item()
    decay = min((1 + step) / (10 + step), largest_decay)
    return {"out_ptr": decay * ema_ptr.double() + (1 - decay) * weight_ptr.double()}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def lamb_trust_ratio(
    weight_ptr,
    m_ptr,
    v_ptr,
    start_ptr,
    update_ptr,
    ratio_ptr,
    scale_m,
    scale_v,
    decay,
    eps,
    BLOCK: tl.constexpr,
):
    """LAMB's updates of layers of different sizes, and how far each layer may trust its own."""
    layer = tl.program_id(0)
    first = tl.load(start_ptr + layer)
    end = tl.load(start_ptr + layer + 1)
    weights = tl.zeros((BLOCK,), dtype=tl.float32)
    updates = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(first, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < end
        weight = tl.load(weight_ptr + at, mask=mask, other=0.0)
        m = tl.load(m_ptr + at, mask=mask, other=0.0) * scale_m
        v = tl.load(v_ptr + at, mask=mask, other=0.0) * scale_v
        update = m / (tl.sqrt(v) + eps) + decay * weight
        tl.store(update_ptr + at, update, mask=mask)
        weights += weight * weight
        updates += update * update
    weight_norm = tl.sqrt(tl.sum(weights, axis=0))
    update_norm = tl.sqrt(tl.sum(updates, axis=0))
    is_usual = (weight_norm > 0) & (update_norm > 0)
    tl.store(ratio_ptr + layer, tl.where(is_usual, weight_norm / update_norm, 1.0))


def lamb_trust_ratio_arguments(LAYERS=12, LARGEST=900):
    sizes = torch.randint(64, LARGEST + 1, (LAYERS,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    total = int(starts[-1])
    gradients = torch.randn(2, total)
    return {
        "weight_ptr": 0.25 * torch.randn(total),
        "m_ptr": 0.5 * gradients[0],
        "v_ptr": 0.25 * gradients[1].square() + 0.01,
        "start_ptr": starts.int(),
        "update_ptr": torch.empty(total),
        "ratio_ptr": torch.empty(LAYERS),
        "scale_m": 1.25,
        "scale_v": 2.5,
        "decay": 0.03125,
        "eps": 2.0**-20,
    }


def lamb_trust_ratio_grid(meta):
    return (meta["LAYERS"],)


def lamb_trust_ratio_reference(weight_ptr, m_ptr, v_ptr, start_ptr, scale_m, scale_v, decay, eps):
    weight, m, v = (each.double() for each in (weight_ptr, m_ptr, v_ptr))
    update = m * scale_m / ((v * scale_v).sqrt() + eps) + decay * weight
    sizes = start_ptr.diff().tolist()
    norms = [[part.norm() for part in each.split(sizes)] for each in (weight, update)]
    ratios = np.divide(*np.array(norms))
    return {"update_ptr": update, "ratio_ptr": torch.from_numpy(ratios)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 512, 64)], key=[])
@triton.jit
def dice_loss(logits_ptr, label_ptr, loss_ptr, CLASSES, PIXELS, smooth, BLOCK: tl.constexpr):
    """One less the overlap of each class's probabilities with the pixels that have its label."""
    image = tl.program_id(0)
    which = tl.program_id(1)
    logits = logits_ptr + (image * CLASSES + which) * PIXELS
    overlap = tl.zeros((BLOCK,), dtype=tl.float32)
    sizes = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, PIXELS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < PIXELS
        probability = tl.sigmoid(tl.load(logits + at, mask=mask, other=float("-inf")))
        label = tl.load(label_ptr + image * PIXELS + at, mask=mask, other=255)
        truth = (label == which).to(tl.float32)
        overlap += probability * truth
        sizes += probability + truth
    share = (2.0 * tl.sum(overlap, axis=0) + smooth) / (tl.sum(sizes, axis=0) + smooth)
    tl.store(loss_ptr + image * CLASSES + which, 1.0 - share)


def dice_loss_arguments(IMAGES=2, CLASSES=3, PIXELS=1500):
    return {
        "logits_ptr": 3 * torch.randn(IMAGES, CLASSES, PIXELS),
        "label_ptr": torch.randint(0, CLASSES, (IMAGES, PIXELS), dtype=torch.uint8),
        "loss_ptr": torch.empty(IMAGES, CLASSES),
        "CLASSES": CLASSES,
        "PIXELS": PIXELS,
        "smooth": 1.0,
    }


def dice_loss_grid(meta):
    return (meta["IMAGES"], meta["CLASSES"])


def dice_loss_reference(logits_ptr, label_ptr, CLASSES, smooth):
    probability = logits_ptr.double().sigmoid()
    truth = (label_ptr[:, None, :] == torch.arange(CLASSES)[:, None]).double()
    overlap, sizes = (probability * truth).sum(2), (probability + truth).sum(2)
    return {"loss_ptr": 1 - (2 * overlap + smooth) / (sizes + smooth)}
