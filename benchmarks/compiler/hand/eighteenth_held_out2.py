"""Four more kernels of the eighteenth draw, that `eighteenth_held_out2.c` has in intrinsics.

The seed that drew them is in `eighteenth_held_out.py`; the 112 names were these.

    horn_schunck_iterate box_blur_sliding_rows laplacian_pyramid_blend hog_cell_histograms
    hamming_match_best2 jpeg_quantise_zigzag ycbcr_subsample_420 cmyk_to_rgb_bytes
    lab_delta_e_pixels reinhard_tone_map rgbe_decode_pixels radial_distort_remap
    perspective_warp_nearest fir_symmetric_taps one_pole_iir_bank cepstrum_liftering
    barker_pulse_compress cross_spectrum_coherence stft_window_frames ofdm_equalise_subcarriers
    ldpc_min_sum_checks reed_solomon_syndromes hamming74_correct_bytes convolutional_encode_bits
    sample_entropy_pairs lomb_scargle_powers cdf97_lift_rows daubechies4_lift_rows
    limiter_lookahead_peaks word_start_counts base64_decode_bytes percent_escape_lengths
    soundex_codes_names wildcard_match_rows trigram_signature_bits black76_option_chain
    bachelier_vega_rows hull_white_short_rates cds_survival_legs nelson_siegel_curve
    order_book_imbalance tick_bar_ohlc stochastic_oscillator_rows lookback_option_paths
    xy_model_metropolis heat_equation_3d_step red_black_poisson_sweep ewald_reciprocal_sums
    gravity_leaf_forces lorenz_rk4_ensemble neutron_slab_absorption percolation_site_spread
    sandpile_topple_step roe_flux_ideal_gas aabb_pair_overlaps frustum_cull_spheres
    barycentric_raster_rows incircle_delaunay_tests segment_crossing_tests icp_point_plane_sums
    signed_distance_union catmull_rom_samples mvp_transform_clip blinn_phong_shade shadow_map_pcf
    perlin_noise_2d worley_noise_cells mandelbrot_escape_counts boids_steering_rows
    sprite_blit_colourkey sudoku_candidate_masks knight_attack_bitboards othello_flip_masks
    elo_rating_updates connect4_win_test rmsd_superpose_sums profile_hmm_viterbi_row
    hydrophobicity_windows snp_linkage_r2 genotype_bed_unpack felsenstein_pruning_sites
    jukes_cantor_distances contact_map_distances bitpack_7bit_integers huffman_encode_offsets
    rans_encode_interleaved parquet_byte_stream_split lz77_hash_heads isotonic_block_means
    column_predicate_bitmap cuckoo_lookup_two_buckets skyline_dominance_flags geohash_encode_points
    mercator_tile_xy dbscan_neighbour_counts silhouette_row_means mann_whitney_counts
    theil_sen_slopes loess_tricube_weights durbin_watson_rows ljung_box_lags anova_f_groups
    probit_transform_rows decision_tree_predict boosting_gradient_histograms naive_bayes_log_scores
    random_projection_signs som_best_matching_unit particle_filter_resample dew_point_magnus
    slope_hillshade_terrain flow_direction_d8
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _gradient(hashed, x, y):
    """One of eight directions, times where a pixel lies from the corner."""
    low = hashed & 7
    u = tl.where(low < 4, x, y)
    v = tl.where(low < 4, y, x)
    u = tl.where((low & 1) == 0, u, -u)
    v = tl.where((low & 2) == 0, v, -v)
    return u + 2.0 * v


@triton.jit
def _fade(t):
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 64, 128)], key=[])
@triton.jit
def perlin_noise_2d(table_ptr, out_ptr, H, W, step, left, top, BLOCK: tl.constexpr):
    """Noise at (left + step * column, top + step * row), by a permutation of 256 bytes."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = left + step * column.to(tl.float32)
    y = top + step * row.to(tl.float32)
    x_floor = tl.floor(x)
    y_floor = tl.floor(y)
    cell_x = x_floor.to(tl.int32)
    cell_y = y_floor.to(tl.int32)
    x -= x_floor
    y -= y_floor
    u = _fade(x)
    v = _fade(y)
    a = tl.load(table_ptr + (cell_x & 255)).to(tl.int32) + cell_y
    b = tl.load(table_ptr + ((cell_x + 1) & 255)).to(tl.int32) + cell_y
    aa = tl.load(table_ptr + (a & 255)).to(tl.int32)
    ab = tl.load(table_ptr + ((a + 1) & 255)).to(tl.int32)
    ba = tl.load(table_ptr + (b & 255)).to(tl.int32)
    bb = tl.load(table_ptr + ((b + 1) & 255)).to(tl.int32)
    g00 = _gradient(aa, x, y)
    g10 = _gradient(ba, x - 1.0, y)
    g01 = _gradient(ab, x, y - 1.0)
    g11 = _gradient(bb, x - 1.0, y - 1.0)
    upper = g00 + u * (g10 - g00)
    lower = g01 + u * (g11 - g01)
    tl.store(out_ptr + row * W + column, upper + v * (lower - upper), mask=column < W)


def perlin_noise_2d_arguments(H=96, W=300):
    return {
        "table_ptr": torch.randperm(256).to(torch.uint8),
        "out_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
        "step": 0.0625,
        "left": -3.21875,
        "top": 7.15625,
    }


perlin_noise_2d_kept_inputs = ["table_ptr", "step", "left", "top"]


def perlin_noise_2d_grid(meta):
    return (meta["H"], triton.cdiv(meta["W"], meta["BLOCK"]))


def perlin_noise_2d_reference(table_ptr, H, W, step, left, top):
    table = table_ptr.long()
    x = left + step * torch.arange(W).double()[None, :].expand(H, W)
    y = top + step * torch.arange(H).double()[:, None].expand(H, W)
    cell_x, cell_y = x.floor().long(), y.floor().long()
    x, y = x - x.floor(), y - y.floor()
    ways = torch.tensor(
        [(1, 2), (-1, 2), (1, -2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1)],
        dtype=torch.float64,
    )

    def corner(right, down):
        hashed = table[(table[(cell_x + right) & 255] + cell_y + down) & 255] & 7
        way = ways[hashed]
        return way[..., 0] * (x - right) + way[..., 1] * (y - down)

    u, v = (6 * t**5 - 15 * t**4 + 10 * t**3 for t in (x, y))
    upper = torch.lerp(corner(0, 0), corner(1, 0), u)
    lower = torch.lerp(corner(0, 1), corner(1, 1), u)
    return {"out_ptr": torch.lerp(upper, lower, v)}


@triton.jit
def _average(flow_ptr, up, row, down, left, column, right, W, mask):
    """The mean of a pixel's neighbours: a sixth of the near ones, a twelfth of those at corners."""
    near = tl.load(flow_ptr + up * W + column, mask=mask, other=0.0)
    near += tl.load(flow_ptr + down * W + column, mask=mask, other=0.0)
    near += tl.load(flow_ptr + row * W + left, mask=mask, other=0.0)
    near += tl.load(flow_ptr + row * W + right, mask=mask, other=0.0)
    far = tl.load(flow_ptr + up * W + left, mask=mask, other=0.0)
    far += tl.load(flow_ptr + up * W + right, mask=mask, other=0.0)
    far += tl.load(flow_ptr + down * W + left, mask=mask, other=0.0)
    far += tl.load(flow_ptr + down * W + right, mask=mask, other=0.0)
    return near / 6.0 + far / 12.0


@triton.autotune(
    [triton.Config({"BLOCK_Y": y, "BLOCK_X": x}) for y, x in ((8, 32), (1, 256), (4, 64))], key=[]
)
@triton.jit
def horn_schunck_iterate(
    ix_ptr,
    iy_ptr,
    it_ptr,
    u_ptr,
    v_ptr,
    new_u_ptr,
    new_v_ptr,
    H,
    W,
    alpha,
    BLOCK_Y: tl.constexpr,
    BLOCK_X: tl.constexpr,
):
    """New flow: the neighbours' mean, moved along the image's gradient to where it fits better."""
    row = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    column = tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    mask = (row < H) & (column < W)
    up = tl.maximum(row - 1, 0)
    down = tl.minimum(row + 1, H - 1)
    left = tl.maximum(column - 1, 0)
    right = tl.minimum(column + 1, W - 1)
    u = _average(u_ptr, up, row, down, left, column, right, W, mask)
    v = _average(v_ptr, up, row, down, left, column, right, W, mask)
    at = row * W + column
    ix = tl.load(ix_ptr + at, mask=mask, other=0.0)
    iy = tl.load(iy_ptr + at, mask=mask, other=0.0)
    it = tl.load(it_ptr + at, mask=mask, other=0.0)
    t = (ix * u + iy * v + it) / (alpha * alpha + ix * ix + iy * iy)
    tl.store(new_u_ptr + at, u - ix * t, mask=mask)
    tl.store(new_v_ptr + at, v - iy * t, mask=mask)


def horn_schunck_iterate_arguments(H=90, W=160):
    ix, iy, it, u, v = torch.randn(5, H, W)
    return {
        "ix_ptr": ix.clone(),
        "iy_ptr": iy.clone(),
        "it_ptr": it.clone(),
        "u_ptr": u.clone(),
        "v_ptr": v.clone(),
        "new_u_ptr": torch.empty(H, W),
        "new_v_ptr": torch.empty(H, W),
        "H": H,
        "W": W,
        "alpha": 0.75,
    }


def horn_schunck_iterate_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_Y"]), triton.cdiv(meta["W"], meta["BLOCK_X"]))


def horn_schunck_iterate_reference(ix_ptr, iy_ptr, it_ptr, u_ptr, v_ptr, alpha):
    flow = torch.stack([u_ptr, v_ptr])[:, None]
    flow = torch.nn.functional.pad(flow, (1, 1, 1, 1), mode="replicate")
    weights = torch.tensor([[1, 2, 1], [2, 0, 2], [1, 2, 1]]).to(flow.dtype) / 12
    u, v = torch.nn.functional.conv2d(flow, weights[None, None])[:, 0]
    t = (ix_ptr * u + iy_ptr * v + it_ptr) / (alpha**2 + ix_ptr.square() + iy_ptr.square())
    return {"new_u_ptr": u - ix_ptr * t, "new_v_ptr": v - iy_ptr * t}


@triton.autotune(
    [triton.Config({"FRAMES": f, "BLOCK": n}) for f, n in ((1, 512), (4, 128), (8, 64))], key=[]
)
@triton.jit
def stft_window_frames(
    x_ptr, window_ptr, out_ptr, SAMPLES, COUNT, SIZE, HOP, FRAMES: tl.constexpr, BLOCK: tl.constexpr
):
    """out[b, t, i] = window[i] * x[b, t * HOP + i - SIZE // 2], mirrored at both ends."""
    signal = tl.program_id(0)
    frame = tl.program_id(1) * FRAMES + tl.arange(0, FRAMES)
    for start in range(0, SIZE, BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = (frame < COUNT)[:, None] & (i < SIZE)[None, :]
        at = frame[:, None] * HOP + i[None, :] - SIZE // 2
        at = tl.abs(at)
        at = tl.where(at >= SAMPLES, 2 * SAMPLES - 2 - at, at)
        x = tl.load(x_ptr + signal * SAMPLES + at, mask=mask, other=0.0)
        window = tl.load(window_ptr + i, mask=i < SIZE, other=0.0)
        to = (signal * COUNT + frame)[:, None] * SIZE + i[None, :]
        tl.store(out_ptr + to, x * window[None, :], mask=mask)


def stft_window_frames_arguments(B=3, SAMPLES=8000, SIZE=400, HOP=160):
    count = SAMPLES // HOP + 1
    return {
        "x_ptr": torch.randn(B, SAMPLES),
        "window_ptr": torch.hann_window(SIZE),
        "out_ptr": torch.empty(B, count, SIZE),
        "SAMPLES": SAMPLES,
        "COUNT": count,
        "SIZE": SIZE,
        "HOP": HOP,
    }


def stft_window_frames_grid(meta):
    return (meta["B"], triton.cdiv(meta["COUNT"], meta["FRAMES"]))


def stft_window_frames_reference(x_ptr, window_ptr, SIZE, HOP):
    padded = torch.nn.functional.pad(x_ptr[:, None], (SIZE // 2, SIZE // 2), mode="reflect")[:, 0]
    return {"out_ptr": padded.unfold(1, SIZE, HOP) * window_ptr}


@triton.autotune(
    [triton.Config({"REFERENCES": r, "BLOCK": n}) for r, n in ((8, 128), (1, 1024), (4, 256))],
    key=[],
)
@triton.jit
def jukes_cantor_distances(
    query_ptr,
    reference_ptr,
    out_ptr,
    M,
    SITES,
    most,
    REFERENCES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """-3/4 log(1 - 4/3 p), where p is the share of sites that differ; 4 is a gap in either."""
    query = tl.program_id(0)
    other = tl.program_id(1) * REFERENCES + tl.arange(0, REFERENCES)
    differ = tl.zeros((REFERENCES, BLOCK), dtype=tl.int32)
    both = tl.zeros((REFERENCES, BLOCK), dtype=tl.int32)
    for start in range(0, SITES, BLOCK):
        site = start + tl.arange(0, BLOCK)
        inside = site < SITES
        a = tl.load(query_ptr + query * SITES + site, mask=inside, other=4)[None, :]
        mask = (other < M)[:, None] & inside[None, :]
        b = tl.load(reference_ptr + other[:, None] * SITES + site[None, :], mask=mask, other=4)
        known = (a < 4) & (b < 4)
        both += known.to(tl.int32)
        differ += (known & (a != b)).to(tl.int32)
    sites = tl.maximum(tl.sum(both, axis=1), 1)
    p = tl.sum(differ, axis=1).to(tl.float32) / sites.to(tl.float32)
    distance = -0.75 * tl.log(tl.maximum(1.0 - p * (4.0 / 3.0), 1e-6))
    tl.store(out_ptr + query * M + other, tl.minimum(distance, most), mask=other < M)


def jukes_cantor_distances_arguments(Q=24, M=80, SITES=700):
    ancestor = torch.randint(0, 4, (SITES,))
    sequences = ancestor.expand(Q + M, SITES).clone()
    changed = torch.rand(Q + M, SITES) < torch.rand(Q + M, 1) * 0.4
    sequences[changed] = torch.randint(0, 4, (int(changed.sum()),))
    sequences[torch.rand(Q + M, SITES) < 0.04] = 4
    sequences = sequences.to(torch.uint8)
    return {
        "query_ptr": sequences[:Q].clone(),
        "reference_ptr": sequences[Q:].clone(),
        "out_ptr": torch.empty(Q, M),
        "M": M,
        "SITES": SITES,
        "most": 5.0,
    }


def jukes_cantor_distances_grid(meta):
    return (meta["Q"], triton.cdiv(meta["M"], meta["REFERENCES"]))


def jukes_cantor_distances_reference(query_ptr, reference_ptr, most):
    a, b = query_ptr[:, None], reference_ptr[None]
    known = (a < 4) & (b < 4)
    p = (known & (a != b)).sum(dim=2).double() / known.sum(dim=2).clamp(min=1)
    return {"out_ptr": (-0.75 * (1 - 4 * p / 3).clamp(min=1e-6).log()).clamp(max=most)}
