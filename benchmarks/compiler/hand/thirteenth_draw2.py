"""Three more kernels of the thirteenth draw to work on, that `thirteenth_draw2.c` has.

The names, and the seed that drew them, are in `thirteenth_draw.py`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def arcface_margin_logits(
    dot_ptr,
    row_scale_ptr,
    class_scale_ptr,
    label_ptr,
    logit_ptr,
    N,
    margin_cos,
    margin_sin,
    least,
    linear,
    scale,
    BLOCK: tl.constexpr,
):
    """Cosines of faces and classes times a scale; its own class gets a margin of angle."""
    row = tl.program_id(0)
    label = tl.load(label_ptr + row)
    row_scale = tl.load(row_scale_ptr + row)
    own = tl.load(dot_ptr + row * N + label) * row_scale * tl.load(class_scale_ptr + label)
    own = tl.clamp(own, -1.0, 1.0)
    moved = own * margin_cos - tl.sqrt(1.0 - own * own) * margin_sin
    moved = tl.where(own > least, moved, own - linear)
    for start in range(0, N, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < N
        dot = tl.load(dot_ptr + row * N + column, mask=mask, other=0.0)
        cosine = dot * row_scale * tl.load(class_scale_ptr + column, mask=mask, other=0.0)
        cosine = tl.where(column == label, moved, tl.clamp(cosine, -1.0, 1.0))
        tl.store(logit_ptr + row * N + column, cosine * scale, mask=mask)


def arcface_margin_logits_arguments(M=31, N=1500, D=64, MARGIN_DEGREES=30):
    face, weight, label = torch.randn(M, D), torch.randn(N, D), torch.randint(0, N, (M,))
    face += 0.5 * weight[label]
    margin = torch.tensor(MARGIN_DEGREES).deg2rad()
    return {
        "dot_ptr": face @ weight.T,
        "row_scale_ptr": 1 / face.norm(dim=1),
        "class_scale_ptr": 1 / weight.norm(dim=1),
        "label_ptr": label.int(),
        "logit_ptr": torch.empty(M, N),
        "N": N,
        "margin_cos": margin.cos().item(),
        "margin_sin": margin.sin().item(),
        "least": -margin.cos().item(),
        "linear": (margin * margin.sin()).item(),
        "scale": 64.0,
    }


def arcface_margin_logits_grid(meta):
    return (meta["M"],)


def arcface_margin_logits_reference(
    dot_ptr,
    row_scale_ptr,
    class_scale_ptr,
    label_ptr,
    margin_cos,
    margin_sin,
    least,
    linear,
    scale,
):
    cosine = dot_ptr.double() * row_scale_ptr.double()[:, None] * class_scale_ptr.double()
    cosine = cosine.clamp(-1, 1)
    at = label_ptr.long()[:, None]
    own = cosine.gather(1, at)
    moved = own * margin_cos - (1 - own.square()).sqrt() * margin_sin
    moved = torch.where(own > least, moved, own - linear)
    return {"logit_ptr": cosine.scatter(1, at, moved) * scale}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 2048, 128)], key=[])
@triton.jit
def beam_search_reorder(
    cache_ptr,
    parent_ptr,
    length_ptr,
    out_ptr,
    BEAMS,
    HEADS,
    ROOM,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Keys that each beam takes from the one that it continues, as many tokens as there are."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    request = row // BEAMS
    parent = tl.load(parent_ptr + row)
    size = tl.load(length_ptr + request) * D
    source = cache_ptr + ((request * BEAMS + parent) * HEADS + head) * ROOM * D
    target = out_ptr + (row * HEADS + head) * ROOM * D
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < size
        tl.store(target + at, tl.load(source + at, mask=mask), mask=mask)


def beam_search_reorder_arguments(REQUESTS=3, BEAMS=4, HEADS=4, ROOM=64, D=32):
    cache = torch.randn(REQUESTS * BEAMS, HEADS, ROOM, D).half()
    return {
        "cache_ptr": cache,
        "parent_ptr": torch.randint(0, BEAMS, (REQUESTS, BEAMS), dtype=torch.int32),
        "length_ptr": torch.randint(ROOM // 2, ROOM + 1, (REQUESTS,), dtype=torch.int32),
        "out_ptr": torch.zeros_like(cache),
        "BEAMS": BEAMS,
        "HEADS": HEADS,
        "ROOM": ROOM,
        "D": D,
    }


def beam_search_reorder_grid(meta):
    return (meta["REQUESTS"] * meta["BEAMS"], meta["HEADS"])


def beam_search_reorder_reference(cache_ptr, parent_ptr, length_ptr, out_ptr, BEAMS):
    out = out_ptr.clone()
    first = torch.arange(len(length_ptr))[:, None] * BEAMS
    sources = (first + parent_ptr).flatten()
    lengths = length_ptr.repeat_interleave(BEAMS)
    for row, (source, length) in enumerate(zip(sources, lengths, strict=True)):
        out[row, :, :length] = cache_ptr[source, :, :length]
    return {"out_ptr": out}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 4, 64)], key=[])
@triton.jit
def poisson_irls_weights(
    x_ptr,
    beta_ptr,
    offset_ptr,
    count_ptr,
    weight_ptr,
    response_ptr,
    deviance_ptr,
    N,
    P,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A step of a Poisson regression: weights, responses to fit next, and how far off it is."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, WIDTH)
    mask = row < N
    exists = mask[:, None] & (column < P)[None, :]
    x = tl.load(x_ptr + row[:, None] * P + column[None, :], mask=exists, other=0.0)
    beta = tl.load(beta_ptr + column, mask=column < P, other=0.0)
    linear = tl.sum(x * beta[None, :], axis=1)
    count = tl.load(count_ptr + row, mask=mask, other=0).to(tl.float32)
    eta = tl.clamp(linear + tl.load(offset_ptr + row, mask=mask, other=0.0), -20.0, 20.0)
    mu = tl.exp(eta)
    tl.store(weight_ptr + row, mu, mask=mask)
    tl.store(response_ptr + row, linear + (count - mu) / mu, mask=mask)
    deviance = count * (tl.log(tl.maximum(count, 1.0)) - eta) - (count - mu)
    tl.store(deviance_ptr + row, 2.0 * deviance, mask=mask)


def poisson_irls_weights_arguments(N=1500, P=20):
    x, beta = torch.randn(N, P), 0.2 * torch.randn(P)
    offset = 1.0 + 0.5 * torch.randn(N)
    return {
        "x_ptr": x,
        "beta_ptr": beta + 0.05 * torch.randn(P),
        "offset_ptr": offset,
        "count_ptr": torch.poisson((x @ beta + offset).exp()).to(torch.int16),
        "weight_ptr": torch.empty(N),
        "response_ptr": torch.empty(N),
        "deviance_ptr": torch.empty(N),
        "N": N,
        "P": P,
        "WIDTH": triton.next_power_of_2(P),
    }


def poisson_irls_weights_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def poisson_irls_weights_reference(x_ptr, beta_ptr, offset_ptr, count_ptr):
    linear = x_ptr.double() @ beta_ptr.double()
    eta = (linear + offset_ptr.double()).clamp(-20, 20)
    mu, count = eta.exp(), count_ptr.double()
    deviance = count * (count.clamp_min(1).log() - eta) - (count - mu)
    response = linear + (count - mu) / mu
    return {"weight_ptr": mu, "response_ptr": response, "deviance_ptr": 2 * deviance}
