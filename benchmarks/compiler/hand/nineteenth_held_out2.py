"""Four more kernels of the nineteenth draw, that `nineteenth_held_out2.c` has in intrinsics.

The seed that drew them is in `nineteenth_held_out.py`; the 111 names were these.

    median5x5_histogram_rows total_variation_chambolle sauvola_binarise_windows
    richardson_lucy_update white_balance_gains_raw12 filmic_aces_tone_map xyz_to_lab_planes
    dxt1_block_decode h264_halfpel_six_tap av1_cdef_direction dct32_partial_butterfly satd8x8_blocks
    scharr_structure_tensor brief_pairs_descriptor disparity_left_right_check
    phase_correlate_normalise kspace_coil_combine polar_scan_convert label_equivalence_min
    chessboard_distance_pass halfband_decimate_fir levinson_durbin_rows line_spectral_evaluate
    g722_subband_split true_peak_oversample chroma_fold_bins karplus_strong_bank
    wavetable_oscillator_bank doa_music_spectrum range_doppler_window viterbi_k7_acs
    polar_sc_f_g_step scrambler_lfsr_rows psk8_llr_max_log sha256_message_schedule
    poly1305_limb_products blake2s_g_columns kyber_poly_compress isbn_checksum_rows
    iso8601_digits_parse url_decode_bytes csv_quote_parity aho_corasick_table_rows damerau_osa_rows
    tf_idf_score_rows simhash_sign_sums quotient_fingerprints bitmap_andnot_popcount
    hash_partition_offsets date_range_join_counts asof_join_backward quantile_sketch_buckets
    rle_bitpack_hybrid_decode streamvbyte_decode_groups chimp_leading_classes lz4_token_lengths
    garman_kohlhagen_deltas variance_swap_strip merton_jump_series nig_density_rows
    kelly_fraction_rows ichimoku_lines_rows hurst_rescaled_range copula_clayton_pairs
    almgren_chriss_trajectory dihedral_torsion_energy shake_constraint_step born_radius_sums
    stokes_drag_particles lax_wendroff_rows lid_cavity_vorticity crank_nicolson_rows
    legendre_associated_rows bessel_j0_rows elliptic_agm_rows halton_points_base3 splitmix_uniforms
    julian_sidereal_angles planck_radiance_bands wind_chill_heat_index richardson_number_levels
    green_ampt_infiltration utm_transverse_mercator albers_equal_area convex_hull_side_tests
    sphere_tree_refit quad_bilinear_inverse hermite_tangent_samples slerp_quaternion_pairs
    homography_reproject_error fundamental_eight_rows voxel_grid_hash_points normals_from_depth
    fresnel_schlick_rows fog_exponential_blend julia_orbit_trap langton_rule_cells lenia_growth_step
    sir_epidemic_step hodgkin_huxley_gates stdp_trace_update gotoh_traceback_bits suffix_rank_double
    gc_skew_windows tajima_d_windows haplotype_pbwt_step spectrum_peak_match
    isotope_envelope_convolve solvent_access_points phylip_neighbour_q tpm_normalise_counts
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (4, 1, 8)], key=[])
@triton.jit
def variance_swap_strip(
    strike_ptr,
    call_bid_ptr,
    call_ask_ptr,
    put_bid_ptr,
    put_ask_ptr,
    forward_ptr,
    rate_ptr,
    years_ptr,
    count_ptr,
    variance_ptr,
    R,
    S,
    ROWS: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """The variance that each strip of options out of the money is worth, as the VIX has it.

    Quotes without a bid do not count; at the last strike below the forward, both options do.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < R
    count = tl.load(count_ptr + row, mask=inside, other=0)[:, None]
    forward = tl.load(forward_ptr + row, mask=inside, other=1.0)
    rate = tl.load(rate_ptr + row, mask=inside, other=0.0)
    years = tl.load(years_ptr + row, mask=inside, other=1.0)

    i = tl.arange(0, BLOCK_S)[None, :]
    mask = i < count
    at = row[:, None] * S + i
    strike = tl.load(strike_ptr + at, mask=mask, other=1.0)
    below = tl.load(strike_ptr + at - 1, mask=mask & (i > 0), other=0.0)
    above = tl.load(strike_ptr + at + 1, mask=mask & (i + 1 < count), other=0.0)
    below = tl.where(i > 0, below, strike)
    above = tl.where(i + 1 < count, above, strike)
    both = (i > 0) & (i + 1 < count)
    width = tl.where(both, (above - below) * 0.5, above - below)

    is_below = mask & (strike <= forward[:, None])
    middle = tl.max(tl.where(is_below, strike, 0.0), axis=1)

    call_bid = tl.load(call_bid_ptr + at, mask=mask, other=0.0)
    call_ask = tl.load(call_ask_ptr + at, mask=mask, other=0.0)
    put_bid = tl.load(put_bid_ptr + at, mask=mask, other=0.0)
    put_ask = tl.load(put_ask_ptr + at, mask=mask, other=0.0)
    call = tl.where(call_bid > 0, (call_bid + call_ask) * 0.5, 0.0)
    put = tl.where(put_bid > 0, (put_bid + put_ask) * 0.5, 0.0)
    quote = tl.where(strike < middle[:, None], put, call)
    quote = tl.where(strike == middle[:, None], (put + call) * 0.5, quote)
    share = tl.where(mask, width / (strike * strike) * quote, 0.0)

    off = forward / middle - 1.0
    variance = (2.0 * tl.exp(rate * years) * tl.sum(share, axis=1) - off * off) / years
    tl.store(variance_ptr + row, variance, mask=inside)


def variance_swap_strip_arguments(R=200, S=100):
    count = torch.randint(S // 2, S + 1, (R,), dtype=torch.int32)
    forward = 50 + 100 * torch.rand(R)
    years = 0.05 + torch.rand(R)
    step = forward / S * (1 + 0.5 * torch.rand(R))
    place = torch.arange(S) + 0.6 * torch.rand(R, S)
    strike = 0.35 * forward[:, None] + step[:, None] * place
    deviation = 0.3 * years.sqrt()[:, None] * forward[:, None]
    time_value = 0.4 * deviation * torch.exp(-(((strike - forward[:, None]) / deviation) ** 2))
    call = (forward[:, None] - strike).clamp(min=0) + time_value
    put = (strike - forward[:, None]).clamp(min=0) + time_value
    # Cheap options have no bid.
    call_bid, put_bid = (torch.where(p > 0.3, 0.98 * p, 0) for p in (call, put))
    return {
        "strike_ptr": strike,
        "call_bid_ptr": call_bid,
        "call_ask_ptr": 1.02 * call,
        "put_bid_ptr": put_bid,
        "put_ask_ptr": 1.02 * put,
        "forward_ptr": forward,
        "rate_ptr": 0.05 * torch.rand(R),
        "years_ptr": years,
        "count_ptr": count,
        "variance_ptr": torch.empty(R),
        "R": R,
        "S": S,
        "BLOCK_S": triton.next_power_of_2(S),
    }


variance_swap_strip_kept_inputs = ["strike_ptr", "forward_ptr", "years_ptr", "count_ptr"]


def variance_swap_strip_grid(meta):
    return (triton.cdiv(meta["R"], meta["ROWS"]),)


def variance_swap_strip_reference(
    strike_ptr,
    call_bid_ptr,
    call_ask_ptr,
    put_bid_ptr,
    put_ask_ptr,
    forward_ptr,
    rate_ptr,
    years_ptr,
    count_ptr,
):
    variances = []
    for row, count in enumerate(count_ptr.tolist()):
        strike, forward, years = strike_ptr[row, :count], forward_ptr[row], years_ptr[row]
        (width,) = torch.gradient(torch.arange(count, dtype=strike.dtype))
        width[1:-1] = (strike[2:] - strike[:-2]) / 2
        width[0], width[-1] = strike[1] - strike[0], strike[-1] - strike[-2]
        call, put = (
            torch.where(bid[row, :count] > 0, (bid + ask)[row, :count] / 2, 0)
            for bid, ask in ((call_bid_ptr, call_ask_ptr), (put_bid_ptr, put_ask_ptr))
        )
        middle = strike[strike <= forward].max()
        quote = torch.where(strike < middle, put, call)
        quote = torch.where(strike == middle, (put + call) / 2, quote)
        total = (width / strike.square() * quote).sum()
        total = 2 * (rate_ptr[row] * years).exp() * total - (forward / middle - 1).square()
        variances.append(total / years)
    return {"variance_ptr": torch.stack(variances)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 64, 512)], key=[])
@triton.jit
def kspace_coil_combine(data_ptr, map_ptr, out_ptr, COILS, N, floor, BLOCK: tl.constexpr):
    """out = the sum over coils of conj(map) * data, over that of |map|^2; numbers are complex."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    real = tl.zeros((BLOCK,), dtype=tl.float32)
    imaginary = tl.zeros((BLOCK,), dtype=tl.float32)
    power = tl.zeros((BLOCK,), dtype=tl.float32)
    for coil in range(COILS):
        at = 2 * (coil * N + i)
        a = tl.load(data_ptr + at, mask=mask, other=0.0)
        b = tl.load(data_ptr + at + 1, mask=mask, other=0.0)
        c = tl.load(map_ptr + at, mask=mask, other=0.0)
        d = tl.load(map_ptr + at + 1, mask=mask, other=0.0)
        real += c * a + d * b
        imaginary += c * b - d * a
        power += c * c + d * d
    scale = 1.0 / tl.maximum(power, floor)
    tl.store(out_ptr + 2 * i, real * scale, mask=mask)
    tl.store(out_ptr + 2 * i + 1, imaginary * scale, mask=mask)


def kspace_coil_combine_arguments(COILS=8, H=80, W=96):
    return {
        "data_ptr": torch.randn(COILS, H, W, 2),
        "map_ptr": 0.5 * torch.randn(COILS, 1, 1, 2) + 0.2 * torch.randn(COILS, H, W, 2),
        "out_ptr": torch.empty(H, W, 2),
        "COILS": COILS,
        "N": H * W,
        "floor": 1e-6,
    }


def kspace_coil_combine_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def kspace_coil_combine_reference(data_ptr, map_ptr, floor):
    data, maps = (torch.view_as_complex(x.contiguous()) for x in (data_ptr, map_ptr))
    power = map_ptr.square().sum(dim=(0, 3)).clamp(min=floor)
    return {"out_ptr": torch.view_as_real((maps.conj() * data).sum(dim=0) / power)}


@triton.jit
def _rest(px_ptr, py_ptr, image_ptr, row, column, H, W, inverse, mask):
    """The divergence of (px, py) less the image over lambda, at pixels of the image."""
    at = row * W + column
    x = tl.load(px_ptr + at, mask=mask & (column < W - 1), other=0.0)
    x -= tl.load(px_ptr + at - 1, mask=mask & (column > 0), other=0.0)
    y = tl.load(py_ptr + at, mask=mask & (row < H - 1), other=0.0)
    y -= tl.load(py_ptr + at - W, mask=mask & (row > 0), other=0.0)
    image = tl.load(image_ptr + at, mask=mask, other=0.0)
    return x + y - image * inverse


@triton.autotune(
    [triton.Config({"BLOCK_Y": y, "BLOCK_X": x}) for y, x in ((1, 256), (8, 32), (4, 64))], key=[]
)
@triton.jit
def total_variation_chambolle(
    px_ptr,
    py_ptr,
    image_ptr,
    new_px_ptr,
    new_py_ptr,
    H,
    W,
    inverse,
    tau,
    BLOCK_Y: tl.constexpr,
    BLOCK_X: tl.constexpr,
):
    """An iteration of Chambolle's: p = (p + tau g) / (1 + tau |g|), g the gradient of the rest."""
    row = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    column = tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    mask = (row < H) & (column < W)
    has_right = mask & (column < W - 1)
    has_below = mask & (row < H - 1)
    here = _rest(px_ptr, py_ptr, image_ptr, row, column, H, W, inverse, mask)
    right = _rest(px_ptr, py_ptr, image_ptr, row, column + 1, H, W, inverse, has_right)
    below = _rest(px_ptr, py_ptr, image_ptr, row + 1, column, H, W, inverse, has_below)
    gx = tl.where(has_right, right - here, 0.0)
    gy = tl.where(has_below, below - here, 0.0)
    bottom = 1.0 + tau * tl.sqrt(gx * gx + gy * gy)
    at = row * W + column
    px = tl.load(px_ptr + at, mask=mask, other=0.0)
    py = tl.load(py_ptr + at, mask=mask, other=0.0)
    tl.store(new_px_ptr + at, (px + tau * gx) / bottom, mask=mask)
    tl.store(new_py_ptr + at, (py + tau * gy) / bottom, mask=mask)


def total_variation_chambolle_arguments(H=90, W=150):
    px, py = 0.5 * torch.randn(2, H, W)
    return {
        "px_ptr": px.clone(),
        "py_ptr": py.clone(),
        "image_ptr": torch.rand(H, W),
        "new_px_ptr": torch.empty(H, W),
        "new_py_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
        "inverse": 8.0,
        "tau": 0.248,
    }


def total_variation_chambolle_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_Y"]), triton.cdiv(meta["W"], meta["BLOCK_X"]))


def total_variation_chambolle_reference(px_ptr, py_ptr, image_ptr, inverse, tau):
    pad = torch.nn.functional.pad
    across = pad(px_ptr[:, :-1], (1, 1)).diff(dim=1)
    down = pad(py_ptr[:-1], (0, 0, 1, 1)).diff(dim=0)
    rest = across + down - inverse * image_ptr
    gx = pad(rest.diff(dim=1), (0, 1))
    gy = pad(rest.diff(dim=0), (0, 0, 0, 1))
    bottom = 1 + tau * (gx.square() + gy.square()).sqrt()
    return {"new_px_ptr": (px_ptr + tau * gx) / bottom, "new_py_ptr": (py_ptr + tau * gy) / bottom}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (64, 16, 128)], key=[])
@triton.jit
def isbn_checksum_rows(text_ptr, kind_ptr, N, ROWS: tl.constexpr):
    """13 or 10 where a row of CHAR(13) is such a number with its right check digit, or else 0.

    Shorter numbers end with three spaces, and their last digit may be an X.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, 16)[None, :]
    inside = row < N
    mask = inside[:, None] & (place < 13)
    text = tl.load(text_ptr + row[:, None] * 13 + place, mask=mask, other=48).to(tl.int32)
    digit = text - 48
    is_digit = (digit >= 0) & (digit <= 9)
    is_space = text == 32
    is_ten = (place == 9) & (text == 88)

    sum13 = tl.sum(digit * tl.where(place % 2 == 0, 1, 3), axis=1)
    digits13 = tl.sum((is_digit & (place < 13)).to(tl.int32), axis=1)
    value = tl.where(is_ten, 10, digit)
    sum10 = tl.sum(tl.where(place < 10, value * (10 - place), 0), axis=1)
    fits = tl.where(place < 10, is_digit | is_ten, is_space | (place >= 13))
    fits10 = tl.sum(fits.to(tl.int32), axis=1)

    right13 = (digits13 == 13) & (sum13 % 10 == 0)
    right10 = (fits10 == 16) & (sum10 % 11 == 0)
    kind = tl.where(right13, 13, tl.where(right10, 10, 0))
    tl.store(kind_ptr + row, kind.to(tl.uint8), mask=inside)


def isbn_checksum_rows_arguments(N=6000):
    text = torch.randint(48, 58, (N, 13))
    place = torch.arange(13)
    digits = text - 48
    check13 = -(digits[:, :12] * torch.where(place[:12] % 2 == 0, 1, 3)).sum(1) % 10
    check10 = -(digits[:, :9] * (10 - place[:9])).sum(1) % 11
    text[:, 12] = 48 + check13
    is_short = torch.rand(N) < 0.4
    text[is_short, 9] = torch.where(check10 == 10, 88, 48 + check10)[is_short]
    text[is_short, 10:] = 32
    # Some are mistyped.
    typo = torch.rand(N, 13) < 0.02
    text[typo] = torch.randint(32, 91, (int(typo.sum()),))
    return {
        "text_ptr": text.to(torch.uint8),
        "kind_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
    }


isbn_checksum_rows_kept_inputs = ["text_ptr"]


def isbn_checksum_rows_grid(meta):
    return (triton.cdiv(meta["N"], meta["ROWS"]),)


def isbn_checksum_rows_reference(text_ptr):
    text = text_ptr.long()
    place = torch.arange(13)
    digit = text - 48
    is_digit = (digit >= 0) & (digit <= 9)
    sum13 = (digit * torch.where(place % 2 == 0, 1, 3)).sum(dim=1)
    right13 = is_digit.all(dim=1) & (sum13 % 10 == 0)
    is_ten = text[:, 9] == 88
    value = torch.cat([digit[:, :9], torch.where(is_ten, 10, digit[:, 9])[:, None]], dim=1)
    fits = is_digit[:, :9].all(1) & (is_digit[:, 9] | is_ten) & (text[:, 10:] == 32).all(1)
    right10 = fits & ((value * (10 - place[:10])).sum(dim=1) % 11 == 0)
    return {"kind_ptr": torch.where(right13, 13, torch.where(right10, 10, 0)).to(torch.uint8)}
