"""Three held-out kernels of the fourteenth draw, that `fourteenth_held_out.c` has in intrinsics.

The names, and the seed that drew them, are in `fourteenth_draw.py`, and three more are in
`fourteenth_held_out2.py`. When these six were written, outputs of both sides were checked, and of
cycles only the hand's were looked at.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_M": rows, "BLOCK_C": columns})
        for rows, columns in ((4, 128), (1, 1024), (16, 64))
    ],
    key=[],
)
@triton.jit
def bce_logits_backward(
    logits_ptr,
    label_ptr,
    weight_ptr,
    out_ptr,
    M,
    C,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Gradient of the binary cross-entropy with logits, where positive labels have weights."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
    mask = (row < M) & (column < C)
    at = row * C + column
    x = tl.load(logits_ptr + at, mask=mask, other=0.0).to(tl.float32)
    label = tl.load(label_ptr + at, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=column < C, other=1.0)
    positive = weight * label
    grad = (positive + 1.0 - label) * tl.sigmoid(x) - positive
    tl.store(out_ptr + at, (scale * grad).to(out_ptr.dtype.element_ty), mask=mask)


def bce_logits_backward_arguments(M=40, C=527):
    smooth = 0.05
    label = (torch.rand(M, C) < 0.1).float() * (1 - smooth) + smooth / 2
    logits = (2 * torch.randn(M, C)).bfloat16()
    return {
        "logits_ptr": logits,
        "label_ptr": label.bfloat16(),
        "weight_ptr": 1 + 4 * torch.rand(C),
        "out_ptr": torch.empty_like(logits),
        "M": M,
        "C": C,
        "scale": 1.0 / 64,
    }


def bce_logits_backward_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["C"], meta["BLOCK_C"]))


def bce_logits_backward_reference(logits_ptr, label_ptr, weight_ptr, scale):
    x, label, weight = logits_ptr.double(), label_ptr.double(), weight_ptr.double()
    positive = weight * label
    return {"out_ptr": scale * ((positive + 1 - label) * x.sigmoid() - positive)}


@triton.autotune([triton.Config({"HEADS": heads}) for heads in (1, 2, 4)], key=[])
@triton.jit
def qk_norm_rope(
    qkv_ptr,
    q_weight_ptr,
    k_weight_ptr,
    position_ptr,
    cos_sin_ptr,
    Q_HEADS,
    K_HEADS,
    STRIDE,
    eps,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
):
    """Each head of queries and keys, by its root mean square and then turned, in place."""
    token = tl.program_id(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None]
    d = tl.arange(0, HALF)[None, :]
    mask = (head < Q_HEADS + K_HEADS) & (d < HALF)
    table = cos_sin_ptr + tl.load(position_ptr + token) * (2 * HALF)
    cos = tl.load(table + d)
    sin = tl.load(table + HALF + d)
    is_query = head < Q_HEADS
    first_weight = tl.where(is_query, tl.load(q_weight_ptr + d), tl.load(k_weight_ptr + d))
    second_weight = tl.where(
        is_query, tl.load(q_weight_ptr + HALF + d), tl.load(k_weight_ptr + HALF + d)
    )
    at = qkv_ptr + token * STRIDE + head * (2 * HALF) + d
    first = tl.load(at, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(at + HALF, mask=mask, other=0.0).to(tl.float32)
    squares = tl.sum(first * first + second * second, axis=1)[:, None]
    scale = tl.rsqrt(squares / (2 * HALF) + eps)
    first = first * scale * first_weight
    second = second * scale * second_weight
    tl.store(at, (first * cos - second * sin).to(qkv_ptr.dtype.element_ty), mask=mask)
    tl.store(at + HALF, (second * cos + first * sin).to(qkv_ptr.dtype.element_ty), mask=mask)


def qk_norm_rope_arguments(T=40, Q_HEADS=8, K_HEADS=2, HALF=64):
    angles = torch.arange(256)[:, None] * 10000.0 ** -(torch.arange(HALF) / HALF)
    stride = (Q_HEADS + 2 * K_HEADS) * 2 * HALF
    return {
        "qkv_ptr": torch.randn(T, stride).bfloat16(),
        "q_weight_ptr": 0.5 + torch.rand(2 * HALF),
        "k_weight_ptr": 0.5 + torch.rand(2 * HALF),
        "position_ptr": torch.randint(0, 256, (T,)),
        "cos_sin_ptr": torch.cat([angles.cos(), angles.sin()], 1),
        "Q_HEADS": Q_HEADS,
        "K_HEADS": K_HEADS,
        "STRIDE": stride,
        "eps": 1e-6,
        "HALF": HALF,
    }


def qk_norm_rope_grid(meta):
    return (meta["T"], triton.cdiv(meta["Q_HEADS"] + meta["K_HEADS"], meta["HEADS"]))


def qk_norm_rope_reference(
    qkv_ptr, q_weight_ptr, k_weight_ptr, position_ptr, cos_sin_ptr, Q_HEADS, K_HEADS, eps, HALF
):
    heads = qkv_ptr.double().unflatten(1, (-1, 2 * HALF))
    turned = heads[:, : Q_HEADS + K_HEADS]
    weight = torch.cat([q_weight_ptr.expand(Q_HEADS, -1), k_weight_ptr.expand(K_HEADS, -1)])
    scale = (turned.square().mean(2, keepdim=True) + eps).rsqrt()
    first, second = (turned * scale * weight.double()).chunk(2, 2)
    cos, sin = cos_sin_ptr.double()[position_ptr][:, None].chunk(2, 2)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], 2)
    return {"qkv_ptr": torch.cat([turned, heads[:, Q_HEADS + K_HEADS :]], 1).flatten(1)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 4096)], key=[])
@triton.jit
def frequency_penalty_counts(
    logits_ptr,
    count_ptr,
    prompt_ptr,
    repetition_ptr,
    frequency_ptr,
    presence_ptr,
    V,
    WORDS,
    BLOCK: tl.constexpr,
):
    """Logits lowered in place for words of the output, that are counted, and of the prompt."""
    row = tl.program_id(0)
    word = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = word < V
    logits = tl.load(logits_ptr + row * V + word, mask=mask, other=0.0)
    count = tl.load(count_ptr + row * V + word, mask=mask, other=0)
    bits = tl.load(prompt_ptr + row * WORDS + word // 32, mask=mask, other=0)
    in_prompt = ((bits >> (word % 32)) & 1) != 0
    in_output = count > 0
    repetition = tl.load(repetition_ptr + row)
    factor = tl.where(logits > 0, 1.0 / repetition, repetition)
    logits *= tl.where(in_prompt | in_output, factor, 1.0)
    logits -= tl.load(frequency_ptr + row) * count
    logits -= tl.load(presence_ptr + row) * in_output
    tl.store(logits_ptr + row * V + word, logits, mask=mask)


def frequency_penalty_counts_arguments(B=8, V=4000):
    words = (V + 31) // 32
    count = torch.randint(1, 6, (B, V), dtype=torch.int32) * (torch.rand(B, V) < 0.05)
    few = torch.randint(0, 2**31 - 1, (3, B, words), dtype=torch.int32)
    return {
        "logits_ptr": 3 * torch.randn(B, V),
        "count_ptr": count.int(),
        "prompt_ptr": few[0] & few[1] & few[2],
        "repetition_ptr": 1 + 0.5 * torch.rand(B),
        "frequency_ptr": torch.rand(B),
        "presence_ptr": torch.rand(B),
        "V": V,
        "WORDS": words,
    }


def frequency_penalty_counts_grid(meta):
    return (meta["B"], triton.cdiv(meta["V"], meta["BLOCK"]))


def frequency_penalty_counts_reference(
    logits_ptr, count_ptr, prompt_ptr, repetition_ptr, frequency_ptr, presence_ptr, V
):
    bits = prompt_ptr[:, :, None] >> torch.arange(32) & 1
    seen = (bits.flatten(1)[:, :V] != 0) | (count_ptr > 0)
    logits, repetition = logits_ptr.double(), repetition_ptr.double()[:, None]
    changed = torch.where(logits > 0, logits / repetition, logits * repetition)
    logits = torch.where(seen, changed, logits)
    logits = logits - frequency_ptr.double()[:, None] * count_ptr
    return {"logits_ptr": logits - presence_ptr.double()[:, None] * (count_ptr > 0)}
