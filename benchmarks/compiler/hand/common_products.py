"""Convolutions as products whose rows are never stored, as users write them; not in C."""

import torch
import triton
import triton.language as tl

BLOCKS = ((64, 32, 32), (64, 64, 32), (128, 64, 32))


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}) for m, n, k in BLOCKS], key=[])
@triton.jit
def conv2d_flat(
    x_ptr,
    w_ptr,
    y_ptr,
    N,
    C,
    H,
    W,
    K,
    P,
    Q,
    R,
    S,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """NCHW implicit GEMM: rows are N*P*Q, depth is C*R*S."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    gemm_i = pid_m * BM + tl.arange(0, BM)
    gemm_j = pid_n * BN + tl.arange(0, BN)
    n = gemm_i // (P * Q)
    pq = gemm_i % (P * Q)
    p = pq // Q
    q = pq % Q
    k = gemm_j
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    GK = C * R * S
    for step in range(0, tl.cdiv(GK, BK)):
        gemm_k = step * BK + tl.arange(0, BK)
        c = gemm_k // (R * S)
        rs = gemm_k % (R * S)
        r = rs // S
        s = rs % S
        h = p[:, None] * STRIDE + r[None, :] - PAD
        w = q[:, None] * STRIDE + s[None, :] - PAD
        mask_x = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (n[:, None] < N) & (gemm_k[None, :] < GK)
        offs_x = n[:, None] * C * H * W + c[None, :] * H * W + h * W + w
        x = tl.load(x_ptr + offs_x, mask=mask_x, other=0.0)
        offs_w = k[None, :] * GK + gemm_k[:, None]
        mask_w = (k[None, :] < K) & (gemm_k[:, None] < GK)
        wt = tl.load(w_ptr + offs_w, mask=mask_w, other=0.0)
        acc += tl.dot(x, wt)
    offs_y = n[:, None] * K * P * Q + k[None, :] * P * Q + p[:, None] * Q + q[:, None]
    tl.store(y_ptr + offs_y, acc, mask=(gemm_i[:, None] < N * P * Q) & (k[None, :] < K))


def conv2d_flat_arguments(N=1, C=32, H=28, W=28, K=32, R=3, STRIDE=1):
    PAD = R // 2
    P, Q = (H + 2 * PAD - R) // STRIDE + 1, (W + 2 * PAD - R) // STRIDE + 1
    return {
        "x_ptr": torch.randn(N, C, H, W),
        "w_ptr": torch.randn(K, C, R, R) / (C * R * R) ** 0.5,
        "y_ptr": torch.empty(N, K, P, Q),
        "N": N,
        "C": C,
        "H": H,
        "W": W,
        "K": K,
        "P": P,
        "Q": Q,
        "R": R,
        "S": R,
        "STRIDE": STRIDE,
        "PAD": PAD,
    }


def conv2d_flat_grid(meta):
    return (
        triton.cdiv(meta["N"] * meta["P"] * meta["Q"], meta["BM"]),
        triton.cdiv(meta["K"], meta["BN"]),
    )


def conv2d_flat_reference(x_ptr, w_ptr, STRIDE, PAD):
    return {"y_ptr": torch.nn.functional.conv2d(x_ptr, w_ptr, stride=STRIDE, padding=PAD)}


@triton.autotune(
    [triton.Config({"BLOCK_NI_HO_WO": m, "BLOCK_CO": n, "BLOCK_CI": k}) for m, n, k in BLOCKS],
    key=[],
)
@triton.jit
def conv2d_taps(
    input_pointer,
    weight_pointer,
    output_pointer,
    in_n,
    input_height,
    input_width,
    out_c,
    out_height,
    out_width,
    input_n_stride,
    input_c_stride,
    input_height_stride,
    input_width_stride,
    weight_n_stride,
    weight_c_stride,
    weight_height_stride,
    weight_width_stride,
    output_n_stride,
    output_c_stride,
    output_height_stride,
    output_width_stride,
    weight_c: tl.constexpr,
    weight_height: tl.constexpr,
    weight_width: tl.constexpr,
    stride_height: tl.constexpr,
    stride_width: tl.constexpr,
    padding_height: tl.constexpr,
    padding_width: tl.constexpr,
    BLOCK_NI_HO_WO: tl.constexpr,
    BLOCK_CI: tl.constexpr,
    BLOCK_CO: tl.constexpr,
):
    """One loop over taps and blocks of channels, with the strides of all axes as arguments."""
    pid_ni_ho_wo = tl.program_id(0)
    pid_co = tl.program_id(1)
    ni_ho_wo_offset = pid_ni_ho_wo * BLOCK_NI_HO_WO + tl.arange(0, BLOCK_NI_HO_WO)
    ni_ho_offset = ni_ho_wo_offset // out_width
    in_n_point_value = ni_ho_offset // out_height
    output_height_point_value = ni_ho_offset % out_height
    output_width_point_value = ni_ho_wo_offset % out_width
    output_c_offset = pid_co * BLOCK_CO + tl.arange(0, BLOCK_CO)
    input_pointer += (input_n_stride * in_n_point_value)[:, None]
    weight_pointer += (weight_n_stride * output_c_offset)[None, :]
    accum = tl.zeros((BLOCK_NI_HO_WO, BLOCK_CO), dtype=tl.float32)
    BLOCK_CI_COUNT = (weight_c + BLOCK_CI - 1) // BLOCK_CI
    for hwc in range(weight_height * weight_width * BLOCK_CI_COUNT):
        c = (hwc % BLOCK_CI_COUNT) * BLOCK_CI
        hw = hwc // BLOCK_CI_COUNT
        h = hw // weight_width
        w = hw % weight_width
        input_c_offset = c + tl.arange(0, BLOCK_CI)
        input_height_offset = h - padding_height + stride_height * output_height_point_value
        input_width_offset = w - padding_width + stride_width * output_width_point_value
        curr_input_pointer = (
            input_pointer
            + (input_c_stride * input_c_offset)[None, :]
            + (input_height_stride * input_height_offset)[:, None]
            + (input_width_stride * input_width_offset)[:, None]
        )
        curr_weight_pointer = (
            weight_pointer
            + (weight_c_stride * input_c_offset)[:, None]
            + (weight_height_stride * h)
            + (weight_width_stride * w)
        )
        input_mask = (
            (in_n_point_value < in_n)[:, None]
            & (input_c_offset < weight_c)[None, :]
            & (input_height_offset >= 0)[:, None]
            & (input_height_offset < input_height)[:, None]
            & (input_width_offset >= 0)[:, None]
            & (input_width_offset < input_width)[:, None]
        )
        weight_mask = (input_c_offset < weight_c)[:, None] & (output_c_offset < out_c)[None, :]
        input_block = tl.load(curr_input_pointer, mask=input_mask)
        weight_block = tl.load(curr_weight_pointer, mask=weight_mask)
        accum += tl.dot(input_block, weight_block, allow_tf32=False)
    output_pointer += (
        (output_n_stride * in_n_point_value)[:, None]
        + (output_c_stride * output_c_offset)[None, :]
        + (output_height_stride * output_height_point_value)[:, None]
        + (output_width_stride * output_width_point_value)[:, None]
    )
    output_mask = (
        (in_n_point_value < in_n)[:, None]
        & (output_c_offset < out_c)[None, :]
        & (output_height_point_value < out_height)[:, None]
        & (output_width_point_value < out_width)[:, None]
    )
    tl.store(output_pointer, accum, mask=output_mask)


def conv2d_taps_arguments(N=1, C=32, H=28, W=28, K=32, R=3, STRIDE=1):
    PAD = R // 2
    P, Q = (H + 2 * PAD - R) // STRIDE + 1, (W + 2 * PAD - R) // STRIDE + 1
    xs, ws, ys = (C * H * W, H * W, W, 1), (C * R * R, R * R, R, 1), (K * P * Q, P * Q, Q, 1)
    given = {
        "input_pointer": torch.randn(N * C * H * W),
        "weight_pointer": torch.randn(K * C * R * R) / (C * R * R) ** 0.5,
        "output_pointer": torch.empty(N * K * P * Q),
        "in_n": N,
        "input_height": H,
        "input_width": W,
        "out_c": K,
        "out_height": P,
        "out_width": Q,
    }
    for name, strides in (("input", xs), ("weight", ws), ("output", ys)):
        for axis, stride in zip(("n", "c", "height", "width"), strides, strict=True):
            given[f"{name}_{axis}_stride"] = stride
    given |= {
        "weight_c": C,
        "weight_height": R,
        "weight_width": R,
        "stride_height": STRIDE,
        "stride_width": STRIDE,
        "padding_height": PAD,
        "padding_width": PAD,
    }
    return given


def conv2d_taps_grid(meta):
    return (
        triton.cdiv(meta["in_n"] * meta["out_height"] * meta["out_width"], meta["BLOCK_NI_HO_WO"]),
        triton.cdiv(meta["out_c"], meta["BLOCK_CO"]),
    )


def conv2d_taps_reference(
    input_pointer,
    weight_pointer,
    in_n,
    out_c,
    weight_c,
    weight_height,
    input_height,
    input_width,
    stride_height,
    padding_height,
):
    x = input_pointer.reshape(in_n, weight_c, input_height, input_width)
    w = weight_pointer.reshape(out_c, weight_c, weight_height, weight_height)
    y = torch.nn.functional.conv2d(x, w, stride=stride_height, padding=padding_height)
    return {"output_pointer": y.reshape(-1)}


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}) for m, n, k in BLOCKS], key=[])
@triton.jit
def conv2d_nhwc(
    x_ptr,
    weight_ptr,
    out_ptr,
    images,
    height,
    width,
    channels,
    filters,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SIDE_LENGTH: tl.constexpr,
):
    place = tl.program_id(0) * BM + tl.arange(0, BM)
    out_column = tl.program_id(1) * BN + tl.arange(0, BN)
    column, row, image = place % width, place // width % height, place // (width * height)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    steps = tl.cdiv(channels, BK)
    for step in range(0, SIDE_LENGTH * SIDE_LENGTH * steps):
        tap, channel = step // steps, step % steps * BK + depth
        y = row + tap // SIDE_LENGTH - SIDE_LENGTH // 2
        x = column + tap % SIDE_LENGTH - SIDE_LENGTH // 2
        inside = (image < images) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        at = ((image * height + y) * width + x) * channels
        mask = inside[:, None] & (channel < channels)[None, :]
        pixels = tl.load(x_ptr + at[:, None] + channel[None, :], mask=mask, other=0.0)
        weight_at = (tap * channels + channel)[:, None] * filters + out_column[None, :]
        weight_mask = (channel < channels)[:, None] & (out_column < filters)[None, :]
        weights = tl.load(weight_ptr + weight_at, mask=weight_mask, other=0.0)
        total = tl.dot(pixels, weights, total)
    mask = (image < images)[:, None] & (out_column < filters)[None, :]
    out_at = out_ptr + place[:, None] * filters + out_column[None, :]
    tl.store(out_at, total.to(out_ptr.dtype.element_ty), mask=mask)


def conv2d_nhwc_arguments(N=1, H=28, W=28, C=32, K=32, R=3):
    return {
        "x_ptr": torch.randn(N, H, W, C),
        "weight_ptr": torch.randn(R * R, C, K) / (R * R * C) ** 0.5,
        "out_ptr": torch.empty(N, H, W, K),
        "images": N,
        "height": H,
        "width": W,
        "channels": C,
        "filters": K,
        "SIDE_LENGTH": R,
    }


def conv2d_nhwc_grid(meta):
    return (
        triton.cdiv(meta["images"] * meta["height"] * meta["width"], meta["BM"]),
        triton.cdiv(meta["filters"], meta["BN"]),
    )


def conv2d_nhwc_reference(x_ptr, weight_ptr, SIDE_LENGTH):
    w = weight_ptr.reshape(SIDE_LENGTH, SIDE_LENGTH, *weight_ptr.shape[1:]).permute(3, 2, 0, 1)
    y = torch.nn.functional.conv2d(x_ptr.permute(0, 3, 1, 2), w, padding=SIDE_LENGTH // 2)
    return {"out_ptr": y.permute(0, 2, 3, 1)}
