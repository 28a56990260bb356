"""Kernels as programs have them that compute with numbers from which a mask chooses."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def penalize_seen(
    logits_ptr, seen_ptr, penalty_ptr, out_ptr, VOCABULARY, stride, BLOCK: tl.constexpr
):
    """Logits of tokens that a sequence has, by a byte for each, come nearer to being unlikely."""
    row = tl.program_id(0)
    penalty = tl.load(penalty_ptr + row)
    for start in range(tl.program_id(1) * BLOCK, VOCABULARY, tl.num_programs(1) * BLOCK):
        token = start + tl.arange(0, BLOCK)
        mask = token < VOCABULARY
        seen = tl.load(seen_ptr + row * VOCABULARY + token, mask=mask, other=0).to(tl.int1)
        logits = tl.load(logits_ptr + row * stride + token, mask=mask, other=0.0).to(tl.float32)
        scale = tl.where(seen, penalty, 1.0)
        logits *= tl.where(logits > 0, 1.0 / scale, scale)
        tl.store(out_ptr + row * stride + token, logits, mask=mask)


def penalize_seen_arguments(ROWS=4, VOCABULARY=8000):
    return {
        "logits_ptr": (3 * torch.randn(ROWS, VOCABULARY)).to(torch.bfloat16),
        "seen_ptr": torch.randint(0, 2, (ROWS, VOCABULARY), dtype=torch.uint8),
        "penalty_ptr": 1 + 0.5 * torch.rand(ROWS),
        "out_ptr": torch.empty(ROWS, VOCABULARY),
        "VOCABULARY": VOCABULARY,
        "stride": VOCABULARY,
    }


def penalize_seen_grid(meta):
    return (meta["ROWS"], 2)


def penalize_seen_reference(logits_ptr, seen_ptr, penalty_ptr):
    logits, penalty = logits_ptr.double(), penalty_ptr.double()[:, None]
    changed = torch.where(logits > 0, logits / penalty, logits * penalty)
    return {"out_ptr": torch.where(seen_ptr.bool(), changed, logits)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256)], key=[])
@triton.jit
def mean_of_neighbours(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Means of three neighbours; of two at the ends of a signal."""
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
    total += tl.load(x_ptr + row * N + at - 1, mask=(at > 0) & (at <= N), other=0.0)
    total += tl.load(x_ptr + row * N + at + 1, mask=at < N - 1, other=0.0)
    count = tl.where((at == 0) | (at == N - 1), 2.0, 3.0)
    tl.store(out_ptr + row * N + at, total / count, mask=at < N)


def mean_of_neighbours_arguments(ROWS=8, N=4000):
    return {"x_ptr": torch.randn(ROWS, N), "out_ptr": torch.empty(ROWS, N), "N": N}


def mean_of_neighbours_grid(meta):
    return (meta["ROWS"], triton.cdiv(meta["N"], meta["BLOCK"]))


def mean_of_neighbours_reference(x_ptr):
    x = torch.nn.functional.pad(x_ptr.double(), (1, 1))
    count = torch.full((x_ptr.shape[1],), 3.0)
    count[0] = count[-1] = 2
    return {"out_ptr": (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / count}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 4, 16)], key=[])
@triton.jit
def cross_entropy_by_mask(x_ptr, label_ptr, loss_ptr, N, C: tl.constexpr, ROWS: tl.constexpr):
    """Losses of labels, whose logits a comparison with all classes picks."""
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, C)
    label = tl.load(label_ptr + row, mask=row < N, other=0)
    at = row[:, None] * C + column[None, :]
    x = tl.load(x_ptr + at, mask=(row < N)[:, None], other=0.0)
    most = tl.max(x, axis=1)
    total = tl.sum(tl.exp(x - most[:, None]), axis=1)
    own = tl.sum(tl.where(label[:, None] == column[None, :], x, 0.0), axis=1)
    tl.store(loss_ptr + row, tl.log(total) + most - own, mask=row < N)


def cross_entropy_by_mask_arguments(N=256, C=128):
    return {
        "x_ptr": torch.randn(N, C),
        "label_ptr": torch.randint(0, C, (N,), dtype=torch.int32),
        "loss_ptr": torch.empty(N),
        "N": N,
        "C": C,
    }


cross_entropy_by_mask_kept_inputs = ["label_ptr"]


def cross_entropy_by_mask_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]),)


def cross_entropy_by_mask_reference(x_ptr, label_ptr):
    losses = torch.nn.functional.cross_entropy(x_ptr, label_ptr.long(), reduction="none")
    return {"loss_ptr": losses}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 16, 256)], key=[])
@triton.jit
def scale_by_kind(x_ptr, kind_ptr, scale_ptr, y_ptr, N, KINDS: tl.constexpr, BLOCK: tl.constexpr):
    """Numbers times the scale of their kind, which a comparison with all kinds picks."""
    at, kinds = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, KINDS)
    kind = tl.load(kind_ptr + at, mask=at < N, other=0)
    scales = tl.load(scale_ptr + kinds)
    own = tl.sum(tl.where(kind[:, None] == kinds[None, :], scales[None, :], 0.0), axis=1)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < N) * own, mask=at < N)


def scale_by_kind_arguments(N=4096, KINDS=16):
    return {
        "x_ptr": torch.randn(N),
        "kind_ptr": torch.randint(0, KINDS, (N,), dtype=torch.int32),
        "scale_ptr": torch.randn(KINDS),
        "y_ptr": torch.empty(N),
        "N": N,
        "KINDS": KINDS,
    }


scale_by_kind_kept_inputs = ["kind_ptr"]


def scale_by_kind_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def scale_by_kind_reference(x_ptr, kind_ptr, scale_ptr):
    return {"y_ptr": x_ptr * scale_ptr[kind_ptr.long()]}
