"""Four more kernels of the twentieth draw, that `twentieth_held_out2.c` has in intrinsics.

The seed that drew them is in `twentieth_held_out.py`; the 187 names were these.

    bilateral_grid_splat anisotropic_perona_malik erode_grey_disk3 top_hat_residual_rows
    niblack_threshold_rows clahe_tile_lookup bayer_malvar_green demosaic_ahd_homogeneity
    hdr_debevec_weights yuv422_uyvy_unpack nv12_to_rgba_rows palette_nearest_web216
    ordered_bayer8_halftone porter_duff_over_rgba16 rgb565_expand_pixels bc4_alpha_block_decode
    etc1_subblock_luma haar_rect_features freak_retina_pairs gabor_bank_response
    zero_crossing_laplacian intra_planar_predict_16x16 h264_deblock_luma_edge vp9_loop_filter_flat
    hevc_sao_edge_class dct8_aan_float_rows wiener_deconvolve_spectrum radon_projection_rows
    backprojection_fan_weights mri_t2_exponential_fit ct_hounsfield_window_map
    ultrasound_das_beamform svf_state_variable_bank moog_ladder_bank comb_allpass_reverb
    compressor_envelope_db goertzel_dtmf_bank yin_difference_rows zero_crossing_rates_frames
    alac_adaptive_predict polyphase_rational_resample lms_adaptive_bank
    kalman_constant_velocity_bank alpha_beta_tracker_bank median3_impulse_reject
    cfar_cell_average_rows gold_code_correlator gmsk_phase_pulse_map
    convolutional_interleave_bytes turbo_bcjr_gamma bch_chien_search_rows crc32c_slice4_records
    chacha20_quarter_columns aes_gf_mixcolumns salsa20_doubleround keccak_theta_columns
    sm4_sbox_free_linear ascon_permute_lanes utf16_surrogate_check utf8_codepoint_counts
    ascii_case_fold_compare levenshtein_banded_row jaro_winkler_matches decimal_string_to_int64
    date_civil_from_days timestamp_floor_minute luhn_checksum_rows iban_mod97_rows
    ipv4_prefix_match dictionary_decode_gather hash_probe_linear_u32 bloom_block_split_insert
    semi_join_bitmap_test topn_heap_threshold_rows window_lag_delta_rows zigzag_varint_encode
    roaring_array_intersect hll_register_max count_min_update_rows reservoir_weight_keys
    minhash_signature_rows sabr_implied_vol_rows american_lsm_regress_sums trinomial_tree_backward
    forward_rate_bootstrap_rows portfolio_cvar_tail ewma_covariance_rows garch11_likelihood_rows
    kalman_pairs_spread rsi_wilder_rows macd_crossover_rows vwap_session_rows
    orderbook_microprice_rows zscore_rolling_rows fama_macbeth_sums xirr_newton_rows
    loan_amortise_schedule lj_cell_list_pairs stillinger_weber_triplets buckingham_pair_table
    eam_density_splines nose_hoover_kick dpd_random_pair_forces sph_viscosity_pairs
    pic_cloud_in_cell_deposit cahn_hilliard_step kuramoto_phase_step double_pendulum_ensemble
    upwind_weno3_flux euler_hllc_flux_rows kepler_universal_variable tov_polytrope_step
    schrodinger_split_phase hubbard_hop_apply spin_glass_energy_rows potts_heat_bath
    lyapunov_logistic_rows henon_map_ensemble weierstrass_gamma_lanczos_rows airy_series_rows
    clenshaw_chebyshev_rows jacobi_elliptic_rows erfcinv_rows digamma_recurrence_rows
    xoshiro128_streams pcg32_streams sobol_gray_code_points magnus_humidity_profile
    cape_parcel_lift penman_monteith_rows solar_zenith_grid ndvi_savi_bands ocean_density_unesco
    snowmelt_degree_day muskingum_route_reaches vincenty_inverse_rows lambert_conformal_points
    ecef_to_geodetic_rows geohash_neighbours maidenhead_locator oct_normal_decode sh_l2_irradiance
    tangent_space_rows dual_quaternion_skin_points frenet_frame_curve bspline_surface_points
    convex_polygon_clip_halfplane simplex_noise_grid voronoi_jump_flood_pass brdf_ggx_rows
    tonemap_hable_rows tsp_two_opt_gains bellman_ford_relax_csr triangle_count_bitmaps
    hits_authority_scores modularity_gain_edges katz_centrality_step graph_colour_conflicts
    sankoff_parsimony_sites fitch_parsimony_bits kimura_two_parameter_rows phred_merge_overlaps
    bwt_occ_rank_blocks fst_window_rows hardy_weinberg_chi2 kinship_matrix_block
    michaelis_menten_rows lotka_volterra_ensemble izhikevich_neuron_step fitzhugh_nagumo_lattice
    peptide_mass_sums tanimoto_fingerprints cell_counter_threshold_runs kmeans_minibatch_update
    logistic_newton_sums ridge_gram_rows huber_irls_weights wilcoxon_signed_ranks
    welch_t_statistics cochran_mantel_sums isolation_forest_depths adaboost_weight_update
    pca_power_iteration life_like_rule_bitboard game_2048_row_moves chess_king_ring_masks
    dice_probability_convolve
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 128, 64)], key=[])
@triton.jit
def bayer_malvar_green(raw_ptr, green_ptr, H, W, white, BLOCK: tl.constexpr):
    """The green plane of a Bayer image, RGGB, by the filter of Malvar, He and Cutler.

    At the borders the image is mirrored.
    """
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < W
    up1 = tl.abs(row - 1)
    up2 = tl.abs(row - 2)
    down1 = tl.where(row + 1 < H, row + 1, 2 * H - 3 - row)
    down2 = tl.where(row + 2 < H, row + 2, 2 * H - 4 - row)
    left1 = tl.abs(column - 1)
    left2 = tl.abs(column - 2)
    right1 = tl.where(column + 1 < W, column + 1, 2 * W - 3 - column)
    right2 = tl.where(column + 2 < W, column + 2, 2 * W - 4 - column)

    here = tl.load(raw_ptr + row * W + column, mask=mask, other=0).to(tl.int32)
    near = tl.load(raw_ptr + up1 * W + column, mask=mask, other=0).to(tl.int32)
    near += tl.load(raw_ptr + down1 * W + column, mask=mask, other=0).to(tl.int32)
    near += tl.load(raw_ptr + row * W + left1, mask=mask, other=0).to(tl.int32)
    near += tl.load(raw_ptr + row * W + right1, mask=mask, other=0).to(tl.int32)
    far = tl.load(raw_ptr + up2 * W + column, mask=mask, other=0).to(tl.int32)
    far += tl.load(raw_ptr + down2 * W + column, mask=mask, other=0).to(tl.int32)
    far += tl.load(raw_ptr + row * W + left2, mask=mask, other=0).to(tl.int32)
    far += tl.load(raw_ptr + row * W + right2, mask=mask, other=0).to(tl.int32)

    green = (4 * here + 2 * near - far + 4) >> 3
    green = tl.minimum(tl.maximum(green, 0), white)
    green = tl.where((row + column) % 2 == 1, here, green)
    tl.store(green_ptr + row * W + column, green.to(tl.uint16), mask=mask)


def bayer_malvar_green_arguments(H=120, W=170):
    smooth = torch.rand(1, 1, H // 8, W // 8)
    smooth = torch.nn.functional.interpolate(smooth, size=(H, W), mode="bilinear")[0, 0]
    raw = 4500 * (smooth + 0.05 * torch.randn(H, W)) - 150
    return {
        "raw_ptr": raw.clamp(0, 4095).to(torch.uint16),
        "green_ptr": torch.empty(H, W, dtype=torch.uint16),
        "H": H,
        "W": W,
        "white": 4095,
    }


def bayer_malvar_green_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def bayer_malvar_green_reference(raw_ptr, H, W, white):
    raw = raw_ptr.to(torch.float64)
    wide = torch.nn.functional.pad(raw[None], (2, 2, 2, 2), mode="reflect")[0].long()
    raw = raw.long()

    def at(y, x):
        return wide[2 + y : 2 + y + H, 2 + x : 2 + x + W]

    near = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)
    far = at(-2, 0) + at(2, 0) + at(0, -2) + at(0, 2)
    green = ((4 * raw + 2 * near - far + 4) >> 3).clamp(0, white)
    is_green = (torch.arange(H)[:, None] + torch.arange(W)) % 2 == 1
    return {"green_ptr": torch.where(is_green, raw, green)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 1024)], key=[])
@triton.jit
def ocean_density_unesco(
    temperature_ptr, salinity_ptr, pressure_ptr, sigma_ptr, N, BLOCK: tl.constexpr
):
    """The density of sea water less 1000 kg/m3, by the equation of state of 1980 (EOS-80).

    Temperatures are in degrees Celsius, salinities in practical units, pressures in bar.
    """
    level = tl.program_id(0)
    point = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = point < N
    t = tl.load(temperature_ptr + level * N + point, mask=mask, other=0.0)
    s = tl.load(salinity_ptr + level * N + point, mask=mask, other=0.0)
    p = tl.load(pressure_ptr + level)
    root = s * tl.sqrt(s)

    # At the surface: fresh water, less 1000, and what salt adds.
    fresh = -1.120083e-6 + t * 6.536332e-9
    fresh = 6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * fresh))
    fresh = -0.157406 + t * fresh
    a = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    b = -5.72466e-3 + t * (1.0227e-4 + t * -1.6546e-6)
    surface = fresh + a * s + b * root + 4.8314e-4 * s * s

    # The secant bulk modulus.
    modulus = 148.4206 + t * (-2.327105 + t * (1.360477e-2 + t * -5.155288e-5))
    modulus = 19652.21 + t * modulus
    modulus += s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 + t * -6.1670e-5)))
    modulus += root * (7.944e-2 + t * (1.6483e-2 + t * -5.3009e-4))
    a = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 + t * -5.77905e-7))
    a += s * (2.2838e-3 + t * (-1.0981e-5 + t * -1.6078e-6)) + 1.91075e-4 * root
    b = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8)
    b += s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    modulus += p * (a + p * b)

    # (1000 + surface) / (1 - p / modulus) - 1000
    sigma = (surface * modulus + 1000.0 * p) / (modulus - p)
    tl.store(sigma_ptr + level * N + point, sigma, mask=mask)


def ocean_density_unesco_arguments(LEVELS=24, N=700):
    depth = torch.arange(LEVELS)[:, None] / LEVELS
    warm = 26 * torch.rand(N) * (1 - depth) ** 3
    return {
        "temperature_ptr": warm + 1 + torch.rand(LEVELS, N),
        "salinity_ptr": 33 + 3 * torch.rand(N) + 0.3 * torch.rand(LEVELS, N),
        "pressure_ptr": 500 * depth[:, 0] ** 2 + 5 * depth[:, 0],
        "sigma_ptr": torch.empty(LEVELS, N),
        "N": N,
    }


ocean_density_unesco_kept_inputs = ["salinity_ptr", "pressure_ptr"]


def ocean_density_unesco_grid(meta):
    return (meta["LEVELS"], triton.cdiv(meta["N"], meta["BLOCK"]))


def ocean_density_unesco_reference(temperature_ptr, salinity_ptr, pressure_ptr):
    t, s, p = temperature_ptr, salinity_ptr, pressure_ptr[:, None]

    def powers(*terms):
        return sum(term * t**power for power, term in enumerate(terms))

    density = powers(999.842594, 6.793952e-2, -9.095290e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9)
    density = density + s * powers(8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9)
    density = density + s**1.5 * powers(-5.72466e-3, 1.0227e-4, -1.6546e-6) + 4.8314e-4 * s**2
    modulus = powers(19652.21, 148.4206, -2.327105, 1.360477e-2, -5.155288e-5)
    modulus = modulus + s * powers(54.6746, -0.603459, 1.09987e-2, -6.1670e-5)
    modulus = modulus + s**1.5 * powers(7.944e-2, 1.6483e-2, -5.3009e-4)
    a = powers(3.239908, 1.43713e-3, 1.16092e-4, -5.77905e-7) + 1.91075e-4 * s**1.5
    a = a + s * powers(2.2838e-3, -1.0981e-5, -1.6078e-6)
    b = powers(8.50935e-5, -6.12293e-6, 5.2787e-8)
    b = b + s * powers(-9.9348e-7, 2.0816e-8, 9.1697e-10)
    return {"sigma_ptr": density / (1 - p / (modulus + a * p + b * p**2)) - 1000}


@triton.autotune(
    [triton.Config({"BLOCK_Y": y, "BLOCK_X": x}) for y, x in ((1, 256), (1, 64), (4, 64), (8, 32))],
    key=[],
)
@triton.jit
def demosaic_ahd_homogeneity(
    lab_ptr, homogeneity_ptr, H, W, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr
):
    """How many of four neighbours are like a pixel, in either of two candidates of an image.

    Candidates, which were interpolated along rows and along columns, are three planes of Lab. What
    is alike, in lightness and in colour, is told by the pixels along the candidate's own direction.
    """
    row = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    column = tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    inner = (row > 0) & (row < H - 1) & (column > 0) & (column < W - 1)
    at = row * W + column
    plane = H * W
    # Differences of lightness and of colour, to the left, right, upper and lower neighbours.
    l0 = tl.load(lab_ptr + at, mask=inner, other=0).to(tl.int32)
    a0 = tl.load(lab_ptr + plane + at, mask=inner, other=0).to(tl.int32)
    b0 = tl.load(lab_ptr + 2 * plane + at, mask=inner, other=0).to(tl.int32)
    l1 = tl.load(lab_ptr + 3 * plane + at, mask=inner, other=0).to(tl.int32)
    a1 = tl.load(lab_ptr + 4 * plane + at, mask=inner, other=0).to(tl.int32)
    b1 = tl.load(lab_ptr + 5 * plane + at, mask=inner, other=0).to(tl.int32)
    left0, left_colour0 = _apart(lab_ptr, l0, a0, b0, at - 1, plane, inner)
    right0, right_colour0 = _apart(lab_ptr, l0, a0, b0, at + 1, plane, inner)
    up0, up_colour0 = _apart(lab_ptr, l0, a0, b0, at - W, plane, inner)
    down0, down_colour0 = _apart(lab_ptr, l0, a0, b0, at + W, plane, inner)
    other_ptr = lab_ptr + 3 * plane
    left1, left_colour1 = _apart(other_ptr, l1, a1, b1, at - 1, plane, inner)
    right1, right_colour1 = _apart(other_ptr, l1, a1, b1, at + 1, plane, inner)
    up1, up_colour1 = _apart(other_ptr, l1, a1, b1, at - W, plane, inner)
    down1, down_colour1 = _apart(other_ptr, l1, a1, b1, at + W, plane, inner)

    most = tl.minimum(tl.maximum(left0, right0), tl.maximum(up1, down1))
    most_colour = tl.minimum(
        tl.maximum(left_colour0, right_colour0), tl.maximum(up_colour1, down_colour1)
    )
    count0 = ((left0 <= most) & (left_colour0 <= most_colour)).to(tl.int32)
    count0 += ((right0 <= most) & (right_colour0 <= most_colour)).to(tl.int32)
    count0 += ((up0 <= most) & (up_colour0 <= most_colour)).to(tl.int32)
    count0 += ((down0 <= most) & (down_colour0 <= most_colour)).to(tl.int32)
    count1 = ((left1 <= most) & (left_colour1 <= most_colour)).to(tl.int32)
    count1 += ((right1 <= most) & (right_colour1 <= most_colour)).to(tl.int32)
    count1 += ((up1 <= most) & (up_colour1 <= most_colour)).to(tl.int32)
    count1 += ((down1 <= most) & (down_colour1 <= most_colour)).to(tl.int32)
    inside = (row < H) & (column < W)
    count0 = tl.where(inner, count0, 0)
    count1 = tl.where(inner, count1, 0)
    tl.store(homogeneity_ptr + at, count0.to(tl.uint8), mask=inside)
    tl.store(homogeneity_ptr + plane + at, count1.to(tl.uint8), mask=inside)


@triton.jit
def _apart(lab_ptr, light, a, b, at, plane, mask):
    """How far colours are from those at a neighbour: in lightness, and the square of the rest."""
    light -= tl.load(lab_ptr + at, mask=mask, other=0).to(tl.int32)
    a -= tl.load(lab_ptr + plane + at, mask=mask, other=0).to(tl.int32)
    b -= tl.load(lab_ptr + 2 * plane + at, mask=mask, other=0).to(tl.int32)
    return tl.abs(light), a * a + b * b


def demosaic_ahd_homogeneity_arguments(H=72, W=110):
    smooth = torch.rand(1, 3, H // 6, W // 6)
    smooth = torch.nn.functional.interpolate(smooth, size=(H, W), mode="bilinear")
    planes = torch.tensor([6400, 8000, 8000])[:, None, None] * smooth
    planes = planes - torch.tensor([0, 4000, 4000])[:, None, None]
    return {
        "lab_ptr": (planes + 120 * torch.randn(2, 3, H, W)).to(torch.int16),
        "homogeneity_ptr": torch.empty(2, H, W, dtype=torch.uint8),
        "H": H,
        "W": W,
    }


demosaic_ahd_homogeneity_kept_inputs = ["lab_ptr"]


def demosaic_ahd_homogeneity_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_Y"]), triton.cdiv(meta["W"], meta["BLOCK_X"]))


def demosaic_ahd_homogeneity_reference(lab_ptr, H, W):
    lab = lab_ptr.long()
    here = lab[:, :, 1:-1, 1:-1]
    places = ((0, -1), (0, 1), (-1, 0), (1, 0))
    away = torch.stack([lab[:, :, 1 + y : H - 1 + y, 1 + x : W - 1 + x] for y, x in places])
    lightness = (here - away)[:, :, 0].abs()
    colour = (here - away)[:, :, 1:].square().sum(dim=2)
    alike = torch.tensor(True)
    for apart in (lightness, colour):
        most = torch.minimum(apart[:2, 0].amax(dim=0), apart[2:, 1].amax(dim=0))
        alike = alike & (apart <= most)
    return {"homogeneity_ptr": torch.nn.functional.pad(alike.sum(dim=0), (1, 1, 1, 1))}


@triton.autotune(
    [
        triton.Config({"LAGS": lags, "BLOCK": block})
        for lags, block in ((64, 16), (64, 1), (32, 32), (16, 64))
    ],
    key=[],
)
@triton.jit
def gold_code_correlator(
    i_ptr, q_ptr, code_ptr, power_ptr, N, MOST, LAGS: tl.constexpr, BLOCK: tl.constexpr
):
    """How strong each satellite's Gold code is in a signal, for lags of 0 up to MOST, exclusive."""
    satellite = tl.program_id(0)
    lag = tl.program_id(1) * LAGS + tl.arange(0, LAGS)
    sum_i = tl.zeros((LAGS,), dtype=tl.int32)
    sum_q = tl.zeros((LAGS,), dtype=tl.int32)
    for start in range(0, N, BLOCK):
        chip = start + tl.arange(0, BLOCK)
        code = tl.load(code_ptr + satellite * N + chip, mask=chip < N, other=0).to(tl.int32)
        at = chip[:, None] + lag[None, :]
        mask = (chip < N)[:, None] & (lag < MOST)[None, :]
        i = tl.load(i_ptr + at, mask=mask, other=0).to(tl.int32)
        q = tl.load(q_ptr + at, mask=mask, other=0).to(tl.int32)
        sum_i += tl.sum(code[:, None] * i, axis=0)
        sum_q += tl.sum(code[:, None] * q, axis=0)
    real = sum_i.to(tl.float32)
    imaginary = sum_q.to(tl.float32)
    power = real * real + imaginary * imaginary
    tl.store(power_ptr + satellite * MOST + lag, power, mask=lag < MOST)


def gold_code_correlator_arguments(SATELLITES=9, N=1023, MOST=64):
    code = 2 * torch.randint(0, 2, (SATELLITES, N), dtype=torch.int8) - 1
    signal = 12 * torch.randn(2, N + MOST - 1)
    for satellite in range(0, SATELLITES, 2):
        lag = int(torch.randint(0, MOST, ()))
        signal[:, lag : lag + N] += 2 * torch.randn(2, 1) * code[satellite]
    i, q = signal.round().clamp(-127, 127).to(torch.int8)
    return {
        "i_ptr": i.clone(),
        "q_ptr": q.clone(),
        "code_ptr": code,
        "power_ptr": torch.empty(SATELLITES, MOST),
        "N": N,
        "MOST": MOST,
    }


gold_code_correlator_kept_inputs = ["code_ptr"]


def gold_code_correlator_grid(meta):
    return (meta["SATELLITES"], triton.cdiv(meta["MOST"], meta["LAGS"]))


def gold_code_correlator_reference(i_ptr, q_ptr, code_ptr, N):
    sums = [(x.double().unfold(0, N, 1) @ code_ptr.double().T).T for x in (i_ptr, q_ptr)]
    return {"power_ptr": sums[0].square() + sums[1].square()}
