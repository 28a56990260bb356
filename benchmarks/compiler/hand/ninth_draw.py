"""Six of the twelve kernels of the ninth draw, that `ninth_draw.c` has in RVV intrinsics.

`random.Random(20261128).sample` drew twelve of these 53 names before any was written; the first six
were to be worked on. Kernels are as users write them. welford_merge and dilate_bytes were written
in intrinsics again after a run had shown the cycles of both sides.

    goertzel_bank biquad_channels fft_radix4_stage autocorrelation_lags polyphase_decimate
    sobel_magnitude bayer_to_rgb dilate_bytes integral_image_rows rotate_quarter_bytes
    harris_response group_norm depthwise3x3_stride2 mish pixel_shuffle max_pool_indices
    softmax_backward swiglu_backward rms_norm_backward focal_loss kl_rows int4_dequantise
    fp8_encode row_absmax_int8 ell_spmv edge_max pagerank_step covariance rank_by_counting
    welford_merge dct8x8 sad_search delta_decode base64_encode count_newlines lowercase_ascii
    adler32 box_iou point_in_polygon quaternion_rotate black_scholes nbody_forces
    lattice_boltzmann binomial_option running_max segmented_scan cholesky4 jacobi_step
    alibi_softmax merge_attention_parts sliding_window_attention lion_step adagrad_step
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128, 256)], key=[])
@triton.jit
def welford_merge(
    count_ptr, mean_ptr, m2_ptr, out_mean_ptr, out_var_ptr, PARTS, C, BLOCK: tl.constexpr
):
    """Counts, means and sums of squared deviations of parts become each channel's statistics."""
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = channels < C
    count = tl.load(count_ptr)
    mean = tl.load(mean_ptr + channels, mask=mask, other=0.0)
    m2 = tl.load(m2_ptr + channels, mask=mask, other=0.0)
    for part in range(1, PARTS):
        other_count = tl.load(count_ptr + part)
        other_mean = tl.load(mean_ptr + part * C + channels, mask=mask, other=0.0)
        other_m2 = tl.load(m2_ptr + part * C + channels, mask=mask, other=0.0)
        total = count + other_count
        delta = other_mean - mean
        mean += delta * (other_count / total)
        m2 += other_m2 + delta * delta * (count * other_count / total)
        count = total
    tl.store(out_mean_ptr + channels, mean, mask=mask)
    tl.store(out_var_ptr + channels, m2 / count, mask=mask)


def welford_merge_arguments(PARTS=40, C=500):
    return {
        "count_ptr": torch.randint(20, 200, (PARTS,)).float(),
        "mean_ptr": torch.randn(PARTS, C),
        "m2_ptr": 100 * torch.rand(PARTS, C),
        "out_mean_ptr": torch.empty(C),
        "out_var_ptr": torch.empty(C),
        "PARTS": PARTS,
        "C": C,
    }


def welford_merge_grid(meta):
    return (triton.cdiv(meta["C"], meta["BLOCK"]),)


def welford_merge_reference(count_ptr, mean_ptr, m2_ptr):
    count, mean, m2 = count_ptr.double()[:, None], mean_ptr.double(), m2_ptr.double()
    total = count.sum()
    whole = (count * mean).sum(0) / total
    return {
        "out_mean_ptr": whole,
        "out_var_ptr": (m2 + count * (mean - whole).square()).sum(0) / total,
    }


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": c}) for r, c in ((4, 128), (8, 64), (1, 512))], key=[]
)
@triton.jit
def dilate_bytes(x_ptr, y_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The brightest of the nine pixels around each; there is nothing outside the picture."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    brightest = tl.zeros((ROWS, BLOCK), dtype=tl.uint8)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            inside = (y + dy >= 0) & (y + dy < H) & (x + dx >= 0) & (x + dx < W)
            pixel = tl.load(x_ptr + (y + dy) * W + x + dx, mask=inside, other=0)
            brightest = tl.maximum(brightest, pixel)
    tl.store(y_ptr + y * W + x, brightest, mask=(y < H) & (x < W))


def dilate_bytes_arguments(H=240, W=350):
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "y_ptr": torch.empty(H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
    }


def dilate_bytes_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK"]), triton.cdiv(meta["H"], meta["ROWS"]))


def dilate_bytes_reference(x_ptr):
    padded = torch.nn.functional.pad(x_ptr, (1, 1, 1, 1))
    return {"y_ptr": padded.unfold(0, 3, 1).unfold(1, 3, 1).flatten(2).amax(2)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64, 16)], key=[])
@triton.jit
def cholesky4(a_ptr, l_ptr, N, BLOCK: tl.constexpr):
    """The Cholesky factors of many symmetric matrices of 4x4, with zeros above the diagonal."""
    matrix = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = matrix < N
    a = a_ptr + matrix * 16
    l00 = tl.sqrt(tl.load(a, mask=mask, other=1.0))
    l10 = tl.load(a + 4, mask=mask, other=0.0) / l00
    l20 = tl.load(a + 8, mask=mask, other=0.0) / l00
    l30 = tl.load(a + 12, mask=mask, other=0.0) / l00
    l11 = tl.sqrt(tl.load(a + 5, mask=mask, other=1.0) - l10 * l10)
    l21 = (tl.load(a + 9, mask=mask, other=0.0) - l20 * l10) / l11
    l31 = (tl.load(a + 13, mask=mask, other=0.0) - l30 * l10) / l11
    l22 = tl.sqrt(tl.load(a + 10, mask=mask, other=1.0) - l20 * l20 - l21 * l21)
    l32 = (tl.load(a + 14, mask=mask, other=0.0) - l30 * l20 - l31 * l21) / l22
    l33 = tl.sqrt(tl.load(a + 15, mask=mask, other=1.0) - l30 * l30 - l31 * l31 - l32 * l32)
    zero = tl.zeros((BLOCK,), dtype=tl.float32)
    out = l_ptr + matrix * 16
    tl.store(out, l00, mask=mask)
    tl.store(out + 1, zero, mask=mask)
    tl.store(out + 2, zero, mask=mask)
    tl.store(out + 3, zero, mask=mask)
    tl.store(out + 4, l10, mask=mask)
    tl.store(out + 5, l11, mask=mask)
    tl.store(out + 6, zero, mask=mask)
    tl.store(out + 7, zero, mask=mask)
    tl.store(out + 8, l20, mask=mask)
    tl.store(out + 9, l21, mask=mask)
    tl.store(out + 10, l22, mask=mask)
    tl.store(out + 11, zero, mask=mask)
    tl.store(out + 12, l30, mask=mask)
    tl.store(out + 13, l31, mask=mask)
    tl.store(out + 14, l32, mask=mask)
    tl.store(out + 15, l33, mask=mask)


def cholesky4_arguments(N=1000):
    b = torch.randn(N, 4, 4)
    return {
        "a_ptr": b @ b.mT + 2 * torch.eye(4),
        "l_ptr": torch.empty(N, 4, 4),
        "N": N,
    }


def cholesky4_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def cholesky4_reference(a_ptr):
    lower = a_ptr.double().tril()
    return {"l_ptr": torch.linalg.cholesky(lower + lower.tril(-1).mT)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 16)], key=[])
@triton.jit
def merge_attention_parts(part_ptr, lse_ptr, out_ptr, out_lse_ptr, PARTS, D, BLOCK: tl.constexpr):
    """Each head's output of attention, of parts whose keys were split between programs."""
    head = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < D
    largest = -float("inf")
    total = 0.0
    out = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in range(PARTS):
        lse = tl.load(lse_ptr + head * PARTS + part)
        value = tl.load(part_ptr + (head * PARTS + part) * D + columns, mask=mask, other=0.0)
        new_largest = tl.maximum(largest, lse)
        old_scale = tl.exp(largest - new_largest)
        weight = tl.exp(lse - new_largest)
        out = out * old_scale + weight * value
        total = total * old_scale + weight
        largest = new_largest
    tl.store(out_ptr + head * D + columns, out / total, mask=mask)
    tl.store(out_lse_ptr + head, largest + tl.log(total), mask=tl.program_id(1) == 0)


def merge_attention_parts_arguments(HEADS=40, PARTS=12, D=80):
    return {
        "part_ptr": torch.randn(HEADS, PARTS, D),
        "lse_ptr": 2 * torch.randn(HEADS, PARTS) + 5,
        "out_ptr": torch.empty(HEADS, D),
        "out_lse_ptr": torch.empty(HEADS),
        "PARTS": PARTS,
        "D": D,
    }


def merge_attention_parts_grid(meta):
    return (meta["HEADS"], triton.cdiv(meta["D"], meta["BLOCK"]))


def merge_attention_parts_reference(part_ptr, lse_ptr):
    lse = lse_ptr.double()
    weights = lse.softmax(1)[:, :, None]
    return {
        "out_ptr": (weights * part_ptr.double()).sum(1),
        "out_lse_ptr": torch.logsumexp(lse, 1),
    }


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": c}) for r, c in ((2, 64), (1, 128), (4, 32))], key=[]
)
@triton.jit
def bayer_to_rgb(x_ptr, rgb_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Colours of a sensor with red, green, green and blue pixels, by the mean of neighbours."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None] + 1
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :] + 1
    mask = (y < H - 1) & (x < W - 1)
    at = x_ptr + y * W + x
    centre = tl.load(at, mask=mask, other=0).to(tl.int32)
    left = tl.load(at - 1, mask=mask, other=0).to(tl.int32)
    right = tl.load(at + 1, mask=mask, other=0).to(tl.int32)
    up = tl.load(at - W, mask=mask, other=0).to(tl.int32)
    down = tl.load(at + W, mask=mask, other=0).to(tl.int32)
    corners = tl.load(at - W - 1, mask=mask, other=0).to(tl.int32)
    corners += tl.load(at - W + 1, mask=mask, other=0).to(tl.int32)
    corners += tl.load(at + W - 1, mask=mask, other=0).to(tl.int32)
    corners += tl.load(at + W + 1, mask=mask, other=0).to(tl.int32)
    beside = (left + right + 1) >> 1
    above = (up + down + 1) >> 1
    cross = (left + right + up + down + 2) >> 2
    diagonal = (corners + 2) >> 2
    even_row = y % 2 == 0
    even_column = x % 2 == 0
    red = tl.where(
        even_row, tl.where(even_column, centre, beside), tl.where(even_column, above, diagonal)
    )
    green = tl.where(even_row == even_column, cross, centre)
    blue = tl.where(
        even_row, tl.where(even_column, diagonal, above), tl.where(even_column, beside, centre)
    )
    out = rgb_ptr + ((y - 1) * (W - 2) + x - 1) * 3
    tl.store(out, red.to(tl.uint8), mask=mask)
    tl.store(out + 1, green.to(tl.uint8), mask=mask)
    tl.store(out + 2, blue.to(tl.uint8), mask=mask)


def bayer_to_rgb_arguments(H=82, W=250):
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "rgb_ptr": torch.empty(H - 2, W - 2, 3, dtype=torch.uint8),
        "H": H,
        "W": W,
    }


def bayer_to_rgb_grid(meta):
    return (
        triton.cdiv(meta["W"] - 2, meta["BLOCK"]),
        triton.cdiv(meta["H"] - 2, meta["ROWS"]),
    )


def bayer_to_rgb_reference(x_ptr, H, W):
    x = x_ptr.int()

    def moved(dy, dx):
        return x[1 + dy : H - 1 + dy, 1 + dx : W - 1 + dx]

    centre, beside, above = moved(0, 0), moved(0, -1) + moved(0, 1), moved(-1, 0) + moved(1, 0)
    corners = moved(-1, -1) + moved(-1, 1) + moved(1, -1) + moved(1, 1)
    cross, diagonal = (beside + above + 2) // 4, (corners + 2) // 4
    beside, above = (beside + 1) // 2, (above + 1) // 2
    even_row = (torch.arange(1, H - 1) % 2 == 0)[:, None]
    even = (torch.arange(1, W - 1) % 2 == 0)[None, :]
    upper = torch.where(even, centre, beside), torch.where(even, diagonal, above)
    lower = torch.where(even, above, diagonal), torch.where(even, beside, centre)
    red, blue = (torch.where(even_row, *both) for both in zip(upper, lower, strict=True))
    green = torch.where(even_row == even, cross, centre)
    return {"rgb_ptr": torch.stack([red, green, blue], 2).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64, 128)], key=[])
@triton.jit
def goertzel_bank(x_ptr, coefficient_ptr, power_ptr, SAMPLES, TONES, BLOCK: tl.constexpr):
    """The power of chosen frequencies in each frame of samples, by Goertzel's recurrence."""
    frame = tl.program_id(1)
    tones = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = tones < TONES
    coefficient = tl.load(coefficient_ptr + tones, mask=mask, other=0.0)
    s1 = tl.zeros((BLOCK,), dtype=tl.float32)
    s2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for n in range(SAMPLES):
        s0 = tl.load(x_ptr + frame * SAMPLES + n) + coefficient * s1 - s2
        s2 = s1
        s1 = s0
    power = s1 * s1 + s2 * s2 - coefficient * s1 * s2
    tl.store(power_ptr + frame * TONES + tones, power, mask=mask)


def goertzel_bank_arguments(FRAMES=8, SAMPLES=205, TONES=90):
    return {
        "x_ptr": torch.randn(FRAMES, SAMPLES),
        "coefficient_ptr": 2 * torch.cos(0.25 + 2.5 * torch.rand(TONES)),
        "power_ptr": torch.empty(FRAMES, TONES),
        "SAMPLES": SAMPLES,
        "TONES": TONES,
    }


def goertzel_bank_grid(meta):
    return (triton.cdiv(meta["TONES"], meta["BLOCK"]), meta["FRAMES"])


def goertzel_bank_reference(x_ptr, coefficient_ptr):
    coefficient = coefficient_ptr.double()
    s1 = s2 = torch.zeros(len(x_ptr), len(coefficient), dtype=torch.double)
    for x in x_ptr.double().T:
        s1, s2 = x[:, None] + coefficient * s1 - s2, s1
    return {"power_ptr": s1.square() + s2.square() - coefficient * s1 * s2}
