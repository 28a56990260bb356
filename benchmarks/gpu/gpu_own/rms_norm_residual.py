"""RMS normalisation of the sum of a layer's input and its residual, which is stored too."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_ROWS": rows}, num_warps=warps)
        for rows in (1, 2, 4, 8)
        for warps in (1, 2, 4, 8, 16, 32)
    ],
    key=["columns"],
)
@triton.heuristics({"BLOCK_COLUMNS": lambda given: triton.next_power_of_2(given["columns"])})
@triton.jit
def rms_norm_residual_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    sum_ptr,
    out_ptr,
    rows,
    columns,
    eps,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)).to(tl.int64)[:, None]
    column = tl.arange(0, BLOCK_COLUMNS)[None, :]
    mask = (row < rows) & (column < columns)
    at = row * columns + column
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(sum_ptr + at, x.to(sum_ptr.dtype.element_ty), mask=mask)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / columns + eps)
    weight = tl.load(weight_ptr + column, mask=column < columns, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (x * scale[:, None] * weight).to(out_ptr.dtype.element_ty), mask=mask)


def arguments(rows=8192, columns=5120, dtype=torch.bfloat16):
    return {
        "x_ptr": torch.randn(rows, columns).to(dtype),
        "residual_ptr": torch.randn(rows, columns).to(dtype),
        "weight_ptr": torch.rand(columns).to(dtype),
        "sum_ptr": torch.empty(rows, columns, dtype=dtype),
        "out_ptr": torch.empty(rows, columns, dtype=dtype),
        "rows": rows,
        "columns": columns,
        "eps": 1e-6,
    }


def grid(meta):
    return (triton.cdiv(meta["rows"], meta["BLOCK_ROWS"]),)


def reference(x_ptr, residual_ptr, weight_ptr, columns, eps):
    total = x_ptr.float() + residual_ptr.float()
    normal = torch.nn.functional.rms_norm(total, (columns,), weight_ptr.float(), eps)
    return {"sum_ptr": total, "out_ptr": normal}


def with_torch(x_ptr, residual_ptr, weight_ptr, columns, eps):
    total = x_ptr + residual_ptr
    return total, torch.nn.functional.rms_norm(total, (columns,), weight_ptr, eps)
