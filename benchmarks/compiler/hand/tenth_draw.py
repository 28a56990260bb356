"""Six of the twelve kernels of the tenth draw, that `tenth_draw.c` has in RVV intrinsics.

`random.Random(20261130).sample(names, 12)` drew twelve of these 50 names before any was written;
the first six were to be worked on. Kernels are as users write them.

    bilateral_filter3 rgb_to_hsv lbp_codes ordered_dither gamma_table_bytes screen_blend_argb
    overlap_add compressor_gain crossfade_pcm16 mel_energies_log zero_crossings
    walsh_hadamard_rows bsr_spmv4 sddmm csr_row_softmax dia_spmv coo_spmv_atomic
    mahalanobis_rows gmm_responsibilities bootstrap_means contingency_table ewma_variance
    implied_volatility asian_option_paths bond_present_value rolling_vwap life_step_bytes
    ray_sphere_hits skin_vertices value_noise dequantise_zigzag hex_encode adpcm_decode
    paeth_filter run_start_flags kmer_hashes hamming_dna gc_content_windows occupancy_log_odds
    kalman_predict euler_to_quaternion label_propagation_min gat_edge_scores repetition_penalty
    kv_cache_append token_shift_mix moe_combine entropy_rows bloom_filter_test days_to_dates
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def _mixed(x):
    """The end of MurmurHash3: each bit of the result depends on all bits of x."""
    x ^= x >> 16
    x *= 0x85EBCA6B
    x ^= x >> 13
    x *= 0xC2B2AE35
    return x ^ (x >> 16)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def bloom_filter_test(
    key_ptr, word_ptr, found_ptr, N, BITS, HASHES: tl.constexpr, BLOCK: tl.constexpr
):
    """1 for the keys that may be in a set, by a filter of bits; the probes are as LevelDB's."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    key = tl.load(key_ptr + at, mask=mask, other=0)
    bit = _mixed(key.to(tl.uint32, bitcast=True))
    delta = (bit >> 17) | (bit << 15)
    found = tl.full((BLOCK,), 1, dtype=tl.int32)
    for _ in tl.static_range(HASHES):
        place = bit & (BITS - 1)
        word = tl.load(word_ptr + (place >> 5), mask=mask, other=0)
        found &= word >> (place & 31)
        bit += delta
    tl.store(found_ptr + at, found.to(tl.uint8), mask=mask)


def _places(keys, bits, hashes):
    """The bits of each key, a row for each probe."""
    x = keys.astype(np.uint32)
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    x ^= x >> 16
    delta = (x >> 17) | (x << 15)
    probes = np.arange(hashes, dtype=np.uint32)[:, None]
    return (x + probes * delta) & np.uint32(bits - 1)


def bloom_filter_test_arguments(N=6000, BITS=1 << 16, HASHES=4):
    keys = torch.randint(-(2**31), 2**31, (N,), dtype=torch.int32)
    words = np.zeros(BITS // 32, dtype=np.uint32)
    places = _places(keys[::2].numpy(), BITS, HASHES).ravel()
    np.bitwise_or.at(words, places >> 5, np.uint32(1) << (places & 31))
    return {
        "key_ptr": keys,
        "word_ptr": torch.from_numpy(words.view(np.int32)),
        "found_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
        "BITS": BITS,
        "HASHES": HASHES,
    }


def bloom_filter_test_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def bloom_filter_test_reference(key_ptr, word_ptr, BITS, HASHES):
    places = _places(key_ptr.numpy(), BITS, HASHES)
    words = word_ptr.numpy().view(np.uint32)[places >> 5]
    found = ((words >> (places & 31)) & 1).all(0)
    return {"found_ptr": torch.from_numpy(found).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 128, 2048)], key=[])
@triton.jit
def crossfade_pcm16(a_ptr, b_ptr, out_ptr, N, step, BLOCK: tl.constexpr):
    """Stereo sound that gives way to other sound; the weights of frames rise in Q15, by Q30."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    gain = ((at // 2) * step) >> 15
    a = tl.load(a_ptr + at, mask=mask, other=0).to(tl.int32)
    b = tl.load(b_ptr + at, mask=mask, other=0).to(tl.int32)
    mixed = (a * (32768 - gain) + b * gain + 16384) >> 15
    tl.store(out_ptr + at, mixed.to(tl.int16), mask=mask)


def crossfade_pcm16_arguments(FRAMES=24000):
    sound = torch.randint(-32768, 32768, (2, 2 * FRAMES), dtype=torch.int16)
    return {
        "a_ptr": sound[0].clone(),
        "b_ptr": sound[1].clone(),
        "out_ptr": torch.empty(2 * FRAMES, dtype=torch.int16),
        "N": 2 * FRAMES,
        "step": (1 << 30) // FRAMES,
    }


def crossfade_pcm16_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def crossfade_pcm16_reference(a_ptr, b_ptr, step):
    gain = (torch.arange(len(a_ptr)) // 2 * step) >> 15
    mixed = (a_ptr.long() * (32768 - gain) + b_ptr.long() * gain + 16384) >> 15
    return {"out_ptr": mixed.to(torch.int16)}


@triton.autotune([triton.Config({"WINDOWS": windows}) for windows in (4, 1, 16)], key=[])
@triton.jit
def gc_content_windows(
    text_ptr, share_ptr, COUNT, STEP, LENGTH, BLOCK: tl.constexpr, WINDOWS: tl.constexpr
):
    """The share of G and C in each window of a strand of DNA; windows overlap."""
    window = tl.program_id(0) * WINDOWS + tl.arange(0, WINDOWS)
    base = tl.arange(0, BLOCK)
    mask = (window < COUNT)[:, None] & (base < LENGTH)[None, :]
    text = tl.load(text_ptr + window[:, None] * STEP + base[None, :], mask=mask, other=0)
    is_gc = (text == 71) | (text == 67)
    share = tl.sum(is_gc.to(tl.int32), axis=1).to(tl.float32) / LENGTH
    tl.store(share_ptr + window, share, mask=window < COUNT)


def gc_content_windows_arguments(COUNT=999, STEP=100, LENGTH=200):
    letters = torch.tensor(list(b"ACGTN"), dtype=torch.uint8)
    return {
        "text_ptr": letters[torch.randint(0, 5, ((COUNT - 1) * STEP + LENGTH,))],
        "share_ptr": torch.empty(COUNT),
        "COUNT": COUNT,
        "STEP": STEP,
        "LENGTH": LENGTH,
        "BLOCK": triton.next_power_of_2(LENGTH),
    }


def gc_content_windows_grid(meta):
    return (triton.cdiv(meta["COUNT"], meta["WINDOWS"]),)


def gc_content_windows_reference(text_ptr, STEP, LENGTH):
    is_gc = (text_ptr == ord("G")) | (text_ptr == ord("C"))
    return {"share_ptr": is_gc.double().unfold(0, LENGTH, STEP).mean(1)}


@triton.autotune(
    [triton.Config({"ROWS": r, "BLOCK": c}) for r, c in ((4, 128), (1, 512), (8, 64))], key=[]
)
@triton.jit
def ordered_dither(x_ptr, threshold_ptr, y_ptr, H, W, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A grey picture in black and white, by thresholds of Bayer that repeat every eight pixels."""
    y = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (y < H) & (x < W)
    grey = tl.load(x_ptr + y * W + x, mask=mask, other=0)
    threshold = tl.load(threshold_ptr + (y % 8) * 8 + x % 8)
    dithered = tl.where(grey > threshold, 255, 0)
    tl.store(y_ptr + y * W + x, dithered.to(tl.uint8), mask=mask)


def ordered_dither_arguments(H=240, W=630):
    ranks = torch.zeros(1, 1, dtype=torch.int32)
    for _ in range(3):
        upper, lower = [4 * ranks, 4 * ranks + 2], [4 * ranks + 3, 4 * ranks + 1]
        ranks = torch.cat([torch.cat(upper, 1), torch.cat(lower, 1)])
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "threshold_ptr": (4 * ranks + 2).to(torch.uint8),
        "y_ptr": torch.empty(H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
    }


def ordered_dither_grid(meta):
    return (triton.cdiv(meta["W"], meta["BLOCK"]), triton.cdiv(meta["H"], meta["ROWS"]))


def ordered_dither_reference(x_ptr, threshold_ptr, H, W):
    threshold = threshold_ptr[torch.arange(H)[:, None] % 8, torch.arange(W)[None, :] % 8]
    return {"y_ptr": torch.where(x_ptr > threshold, 255, 0).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 32, 256)], key=[])
@triton.jit
def ewma_variance(price_ptr, variance_ptr, DAYS, ASSETS, alpha, BLOCK: tl.constexpr):
    """The variance of each asset's daily returns, of which the past counts less and less."""
    assets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = assets < ASSETS
    mean = tl.zeros((BLOCK,), dtype=tl.float32)
    variance = tl.zeros((BLOCK,), dtype=tl.float32)
    before = tl.load(price_ptr + assets, mask=mask, other=1.0)
    for day in range(1, DAYS):
        price = tl.load(price_ptr + day * ASSETS + assets, mask=mask, other=1.0)
        surprise = price / before - 1.0 - mean
        step = alpha * surprise
        mean += step
        variance = (1.0 - alpha) * (variance + surprise * step)
        tl.store(variance_ptr + (day - 1) * ASSETS + assets, variance, mask=mask)
        before = price


def ewma_variance_arguments(DAYS=120, ASSETS=200):
    returns = 0.02 * torch.randn(DAYS, ASSETS) + 0.001
    return {
        "price_ptr": 100 * torch.exp(returns.cumsum(0)),
        "variance_ptr": torch.empty(DAYS - 1, ASSETS),
        "DAYS": DAYS,
        "ASSETS": ASSETS,
        "alpha": 0.0625,
    }


def ewma_variance_grid(meta):
    return (triton.cdiv(meta["ASSETS"], meta["BLOCK"]),)


def ewma_variance_reference(price_ptr, alpha):
    prices = price_ptr.double()
    mean = variance = torch.zeros(prices.shape[1], dtype=torch.double)
    rows = []
    for day in range(1, len(prices)):
        surprise = prices[day] / prices[day - 1] - 1 - mean
        mean = mean + alpha * surprise
        variance = (1 - alpha) * (variance + alpha * surprise.square())
        rows.append(variance)
    return {"variance_ptr": torch.stack(rows)}


@triton.jit
def _normal_cdf(x):
    return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 16)], key=[])
@triton.jit
def implied_volatility(
    price_ptr, strike_ptr, years_ptr, call_ptr, out_ptr, N, rate, STEPS, BLOCK: tl.constexpr
):
    """The volatility that makes options to buy worth what they cost, by steps of Newton."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    price = tl.load(price_ptr + at, mask=mask, other=1.0)
    strike = tl.load(strike_ptr + at, mask=mask, other=1.0)
    years = tl.load(years_ptr + at, mask=mask, other=1.0)
    call = tl.load(call_ptr + at, mask=mask, other=0.5)
    root = tl.sqrt(years)
    discounted = strike * tl.exp(-rate * years)
    volatility = tl.full((BLOCK,), 0.3, dtype=tl.float32)
    for _ in range(STEPS):
        spread = volatility * root
        d1 = tl.log(price / discounted) / spread + 0.5 * spread
        value = price * _normal_cdf(d1) - discounted * _normal_cdf(d1 - spread)
        vega = price * root * 0.3989422804014327 * tl.exp(-0.5 * d1 * d1)
        volatility -= (value - call) / tl.maximum(vega, 1e-6)
        volatility = tl.minimum(tl.maximum(volatility, 0.01), 3.0)
    tl.store(out_ptr + at, volatility, mask=mask)


def _value_and_vega(price, discounted, root, volatility):
    spread, cdf = volatility * root, torch.special.ndtr
    d1 = torch.log(price / discounted) / spread + 0.5 * spread
    vega = price * root * torch.exp(-0.5 * d1 * d1) / (2 * torch.pi) ** 0.5
    return price * cdf(d1) - discounted * cdf(d1 - spread), vega


def implied_volatility_arguments(N=1000, STEPS=5):
    strike, years = 90 + 20 * torch.rand(N), 0.5 + 2 * torch.rand(N)
    volatility, rate = 0.2 + 0.3 * torch.rand(N), 0.03125
    price = torch.full((N,), 100.0)
    call, _ = _value_and_vega(price, strike * torch.exp(-rate * years), years.sqrt(), volatility)
    return {
        "price_ptr": price,
        "strike_ptr": strike,
        "years_ptr": years,
        "call_ptr": call,
        "out_ptr": torch.empty(N),
        "N": N,
        "rate": rate,
        "STEPS": STEPS,
    }


# A call price belongs to its strike and time. Changed alone, they have no volatility.
implied_volatility_kept_inputs = ["price_ptr", "strike_ptr", "years_ptr", "call_ptr", "rate"]


def implied_volatility_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def implied_volatility_reference(price_ptr, strike_ptr, years_ptr, call_ptr, rate, STEPS):
    price, years = price_ptr.double(), years_ptr.double()
    discounted, root = strike_ptr.double() * torch.exp(-rate * years), years.sqrt()
    volatility = torch.full_like(price, 0.3)
    for _ in range(STEPS):
        value, vega = _value_and_vega(price, discounted, root, volatility)
        volatility = (volatility - (value - call_ptr) / vega.clamp_min(1e-6)).clamp(0.01, 3)
    return {"out_ptr": volatility}
