"""Attention of one new token to keys and values in pages, for groups of queries that share them."""

import torch
import triton
import triton.language as tl

PAGE = 16


@triton.autotune(
    [
        triton.Config({"BLOCK": block}, num_warps=warps, num_stages=stages)
        for block in (16, 32, 64, 128)
        for warps in (2, 4, 8)
        for stages in (1, 2, 3)
    ],
    key=["heads"],
)
@triton.jit
def paged_decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    length_ptr,
    out_ptr,
    heads,
    pages,
    scale,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    HEAD: tl.constexpr,
    PAGE_SIZE: tl.constexpr,
):
    sequence, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(length_ptr + sequence)
    row, dim, key = tl.arange(0, ROWS), tl.arange(0, HEAD), tl.arange(0, BLOCK)
    q_at = ((sequence * heads + head) * ROWS + row)[:, None] * HEAD + dim[None, :]
    q = tl.load(q_ptr + q_at)
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    weight_sum = tl.zeros((ROWS,), tl.float32)
    out = tl.zeros((ROWS, HEAD), tl.float32)
    for start in range(0, length, BLOCK):
        at = start + key
        inside = at < length
        page = tl.load(table_ptr + sequence * pages + at // PAGE_SIZE, mask=inside, other=0)
        base = ((page.to(tl.int64) * PAGE_SIZE + at % PAGE_SIZE) * heads + head) * HEAD
        where = base[:, None] + dim[None, :]
        k = tl.load(k_ptr + where, mask=inside[:, None], other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        score = tl.where(inside[None, :], score, float("-inf"))
        higher = tl.maximum(largest, tl.max(score, axis=1))
        weight = tl.exp(score - higher[:, None])
        rescale = tl.exp(largest - higher)
        v = tl.load(v_ptr + where, mask=inside[:, None], other=0.0)
        out = out * rescale[:, None] + tl.dot(weight.to(v.dtype), v)
        weight_sum = weight_sum * rescale + tl.sum(weight, axis=1)
        largest = higher
    out = out / weight_sum[:, None]
    tl.store(out_ptr + q_at, out.to(out_ptr.dtype.element_ty))


def arguments(sequences=64, heads=8, pages=128, dtype=torch.float16):
    rows, head = 16, 128
    shape = (sequences * pages, PAGE, heads, head)
    return {
        "q_ptr": torch.randn(sequences, heads, rows, head).to(dtype),
        "k_ptr": torch.randn(shape).to(dtype),
        "v_ptr": torch.randn(shape).to(dtype),
        "table_ptr": torch.randperm(sequences * pages, dtype=torch.int32).reshape(sequences, pages),
        "length_ptr": torch.randint(1, pages * PAGE + 1, (sequences,), dtype=torch.int32),
        "out_ptr": torch.empty(sequences, heads, rows, head, dtype=dtype),
        "heads": heads,
        "pages": pages,
        "scale": head**-0.5,
        "ROWS": rows,
        "HEAD": head,
        "PAGE_SIZE": PAGE,
    }


def grid(meta):
    return (meta["sequences"], meta["heads"])


def _attended(q, k, v, table, length, scale):
    pages = table.shape[1]
    order = table.long()
    k, v = (x[order].flatten(1, 2).transpose(1, 2) for x in (k, v))
    keys = torch.arange(pages * PAGE, device=q.device)
    mask = (keys[None, :] < length[:, None])[:, None, None, :]
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=mask, scale=scale)


def reference(q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, scale):
    q, k, v = q_ptr.float(), k_ptr.float(), v_ptr.float()
    return {"out_ptr": _attended(q, k, v, table_ptr, length_ptr, scale)}


def with_torch(q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, scale):
    return _attended(q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, scale)
