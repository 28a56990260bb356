"""Four held-out kernels of the twentieth draw, that `twentieth_held_out.c` has in intrinsics.

`random.Random(20261601)` drew four of these 83 names, which are of deep learning, and four of
the 187 in `twentieth_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    softplus_threshold_rows tanhshrink_planes layer_norm_no_bias_fp16 group_norm_silu_nhwc
    weight_norm_rows_g adaptive_instance_norm_stats switchable_norm_mix ada_group_norm_scale
    retnet_decay_recurrence rwkv7_state_update mamba2_chunk_state deltanet_wy_prepare
    minimal_gru_scan lstm_pointwise_cell qrnn_fo_pool sliding_chunk_qk_band
    alibi_decode_single_query nsa_block_compress_mean streaming_llm_rope_shift
    kv_int4_per_token_pack kv_cache_transpose_pages lightning_indexer_scores qkv_split_heads_bias
    gptq_w3_unpack_rows awq_int4_reorder_gemv bnb_nf4_dequant_absmax ternary_tq1_unpack
    e8m0_block_scale_gemv fp6_e3m2_decode_rows int8_symmetric_per_channel_gemm
    dynamic_quant_per_token_asym fake_quant_learned_step_grads gemm_relu_square_epilogue
    gemm_nt_bf16_accumulate block_sparse_gemm_bsr bmm_outer_accumulate lora_multi_adapter_shrink
    moe_histogram_sorted_ids moe_swiglu_expert_pack conv2d_5x5_stride2_nchw
    conv_int8_depthwise_3x3 involution_kernel_apply dynamic_filter_rows pixel_unshuffle_conv_pack
    unpool_max_indices cbam_channel_stats eca_channel_conv_gate patch_merging_concat_norm
    token_drop_gather_rows mixup_cutmix_blend random_erasing_planes label_smooth_bce_logits
    dice_loss_sums tversky_focal_loss lovasz_hinge_grad_rows triplet_semihard_rows
    soft_dtw_diagonal_step wasserstein_sinkhorn_rows adamw_8bit_blockwise_step sophia_clip_step
    adafactor_row_col_factors ademamix_double_ema gradient_clip_by_value_accum
    gae_reverse_scan_rows td_lambda_returns ppo_value_clip_loss prioritised_replay_weights
    rope_token_penalty_repeat gumbel_max_sample_rows beam_score_length_norm
    watermark_greenlist_bias gat_v2_attention_logits pna_aggregate_moments
    schnet_cosine_cutoff_filter egnn_coordinate_update rotate_complex_triple_scores
    poincare_distance_pairs unigram_negative_sgns time2vec_features fourier_feature_mapping
    siren_layer_forward kan_bspline_basis maxout_groups_rows
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCKS": blocks}) for blocks in (1, 2, 4)], key=[])
@triton.jit
def adamw_8bit_blockwise_step(
    param_ptr,
    grad_ptr,
    mean_ptr,
    mean_scale_ptr,
    square_ptr,
    square_scale_ptr,
    N,
    rate,
    beta1,
    beta2,
    eps,
    decay,
    correction1,
    correction2,
    BLOCKS: tl.constexpr,
):
    """A step of AdamW whose states are of eight bits, e4m3, with a scale for each block of 256."""
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    inside = block * 256 < N
    at = block[:, None] * 256 + tl.arange(0, 256)[None, :]
    mask = at < N
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    mean_scale = tl.load(mean_scale_ptr + block, mask=inside, other=0.0)
    square_scale = tl.load(square_scale_ptr + block, mask=inside, other=0.0)
    mean = tl.load(mean_ptr + at, mask=mask, other=0.0).to(tl.float32) * mean_scale[:, None]
    square = tl.load(square_ptr + at, mask=mask, other=0.0).to(tl.float32) * square_scale[:, None]
    mean = beta1 * mean + (1.0 - beta1) * grad
    square = beta2 * square + (1.0 - beta2) * grad * grad

    param = tl.load(param_ptr + at, mask=mask, other=0.0)
    update = (mean / correction1) / (tl.sqrt(square / correction2) + eps)
    tl.store(param_ptr + at, param - rate * (update + decay * param), mask=mask)

    mean_scale = tl.maximum(tl.max(tl.abs(mean), axis=1), 1e-12) / 448.0
    square_scale = tl.maximum(tl.max(square, axis=1), 1e-12) / 448.0
    tl.store(mean_ptr + at, (mean / mean_scale[:, None]).to(tl.float8e4nv), mask=mask)
    tl.store(square_ptr + at, (square / square_scale[:, None]).to(tl.float8e4nv), mask=mask)
    tl.store(mean_scale_ptr + block, mean_scale, mask=inside)
    tl.store(square_scale_ptr + block, square_scale, mask=inside)


def adamw_8bit_blockwise_step_arguments(N=16000):
    blocks = triton.cdiv(N, 256)
    return {
        "param_ptr": torch.randn(N),
        "grad_ptr": 0.2 * torch.randn(N),
        "mean_ptr": (150 * torch.randn(N)).clamp(-448, 448).to(torch.float8_e4m3fn),
        "mean_scale_ptr": 1e-3 * (0.5 + torch.rand(blocks)),
        "square_ptr": (5 + 440 * torch.rand(N) ** 2).to(torch.float8_e4m3fn),
        "square_scale_ptr": 3e-4 * (0.5 + torch.rand(blocks)),
        "N": N,
        "rate": 0.001,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "decay": 0.1,
        "correction1": 1 - 0.9**20,
        "correction2": 1 - 0.999**20,
    }


def adamw_8bit_blockwise_step_grid(meta):
    return (triton.cdiv(meta["N"], 256 * meta["BLOCKS"]),)


def adamw_8bit_blockwise_step_reference(
    param_ptr,
    grad_ptr,
    mean_ptr,
    mean_scale_ptr,
    square_ptr,
    square_scale_ptr,
    rate,
    beta1,
    beta2,
    eps,
    decay,
    correction1,
    correction2,
):
    def scales(x):
        blocks = torch.nn.functional.pad(x.abs(), (0, -len(x) % 256)).reshape(-1, 256)
        return blocks.amax(dim=1).clamp(min=1e-12) / 448

    def spread(scale):
        return scale.repeat_interleave(256)[: len(param_ptr)]

    dtype = param_ptr.dtype
    mean = beta1 * mean_ptr.to(dtype) * spread(mean_scale_ptr) + (1 - beta1) * grad_ptr
    square = square_ptr.to(dtype) * spread(square_scale_ptr)
    square = beta2 * square + (1 - beta2) * grad_ptr.square()
    update = (mean / correction1) / ((square / correction2).sqrt() + eps)
    mean_scale, square_scale = scales(mean), scales(square)
    return {
        "param_ptr": param_ptr - rate * (update + decay * param_ptr),
        "mean_ptr": mean / spread(mean_scale),
        "mean_scale_ptr": mean_scale,
        "square_ptr": square / spread(square_scale),
        "square_scale_ptr": square_scale,
    }


@triton.autotune([triton.Config({"PAIRS": pairs}) for pairs in (16, 1, 4, 64)], key=[])
@triton.jit
def poincare_distance_pairs(
    table_ptr, left_ptr, right_ptr, distance_ptr, P, D, PAIRS: tl.constexpr, BLOCK_D: tl.constexpr
):
    """The hyperbolic distance of pairs of embeddings in the Poincare ball, which are rows."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
    inside = pair < P
    d = tl.arange(0, BLOCK_D)[None, :]
    mask = inside[:, None] & (d < D)
    left = tl.load(left_ptr + pair, mask=inside, other=0)
    right = tl.load(right_ptr + pair, mask=inside, other=0)
    u = tl.load(table_ptr + left[:, None] * D + d, mask=mask, other=0.0)
    v = tl.load(table_ptr + right[:, None] * D + d, mask=mask, other=0.0)
    apart = tl.sum((u - v) * (u - v), axis=1)
    u_room = 1.0 - tl.sum(u * u, axis=1)
    v_room = 1.0 - tl.sum(v * v, axis=1)
    more = 2.0 * apart / (u_room * v_room)
    # acosh(1 + more)
    distance = tl.log(1.0 + more + tl.sqrt(more * (more + 2.0)))
    tl.store(distance_ptr + pair, distance, mask=inside)


def poincare_distance_pairs_arguments(N=700, P=3000, D=32):
    direction = torch.nn.functional.normalize(torch.randn(N, D), dim=1)
    return {
        "table_ptr": direction * (0.1 + 0.88 * torch.rand(N, 1)),
        "left_ptr": torch.randint(0, N, (P,), dtype=torch.int32),
        "right_ptr": torch.randint(0, N, (P,), dtype=torch.int32),
        "distance_ptr": torch.empty(P),
        "P": P,
        "D": D,
        "BLOCK_D": triton.next_power_of_2(D),
    }


poincare_distance_pairs_kept_inputs = ["table_ptr", "left_ptr", "right_ptr"]


def poincare_distance_pairs_grid(meta):
    return (triton.cdiv(meta["P"], meta["PAIRS"]),)


def poincare_distance_pairs_reference(table_ptr, left_ptr, right_ptr):
    u, v = table_ptr[left_ptr.long()], table_ptr[right_ptr.long()]
    room = (1 - u.square().sum(dim=1)) * (1 - v.square().sum(dim=1))
    return {"distance_ptr": torch.acosh(1 + 2 * (u - v).square().sum(dim=1) / room)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 32, 128, 256)], key=[])
@triton.jit
def moe_histogram_sorted_ids(
    expert_ptr, count_ptr, sorted_ptr, N, E: tl.constexpr, BLOCK: tl.constexpr
):
    """Of a shard's choices, how many each expert has, and which they are, expert by expert."""
    shard = tl.program_id(0)
    expert_ptr += shard * N
    sorted_ptr += shard * N
    experts = tl.arange(0, E)
    counts = tl.zeros((E,), dtype=tl.int32)
    for start in range(0, N, BLOCK):
        choice = start + tl.arange(0, BLOCK)
        expert = tl.load(expert_ptr + choice, mask=choice < N, other=0)
        counts += tl.histogram(expert, E, mask=choice < N)
    tl.store(count_ptr + shard * E + experts, counts)

    place = tl.cumsum(counts, axis=0) - counts
    for start in range(0, N, BLOCK):
        choice = start + tl.arange(0, BLOCK)
        expert = tl.load(expert_ptr + choice, mask=choice < N, other=-1)
        is_mine = (expert[:, None] == experts[None, :]).to(tl.int32)
        before = tl.cumsum(is_mine, axis=0) - is_mine
        to = tl.sum(is_mine * (place[None, :] + before), axis=1)
        tl.store(sorted_ptr + to, choice, mask=choice < N)
        place += tl.sum(is_mine, axis=0)


def moe_histogram_sorted_ids_arguments(SHARDS=16, N=600, E=16):
    # Some experts are chosen more often than others.
    liking = torch.softmax(torch.randn(E), dim=0).expand(SHARDS, E)
    return {
        "expert_ptr": torch.multinomial(liking, N, replacement=True).int(),
        "count_ptr": torch.empty(SHARDS, E, dtype=torch.int32),
        "sorted_ptr": torch.empty(SHARDS, N, dtype=torch.int32),
        "N": N,
        "E": E,
    }


moe_histogram_sorted_ids_kept_inputs = ["expert_ptr"]


def moe_histogram_sorted_ids_grid(meta):
    return (meta["SHARDS"],)


def moe_histogram_sorted_ids_reference(expert_ptr, E):
    counts = torch.stack([row.bincount(minlength=E) for row in expert_ptr.long()])
    return {"count_ptr": counts, "sorted_ptr": expert_ptr.argsort(dim=1, stable=True)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 256, 512)], key=[])
@triton.jit
def rope_token_penalty_repeat(
    logits_ptr,
    prompt_ptr,
    count_ptr,
    repetition_ptr,
    frequency_ptr,
    presence_ptr,
    out_ptr,
    V,
    WORDS,
    BLOCK: tl.constexpr,
):
    """Logits less penalties for tokens that repeat: of the prompt, a bit each, or of the output."""
    row = tl.program_id(0)
    start = tl.program_id(1) * BLOCK
    token = start + tl.arange(0, BLOCK)
    mask = token < V
    repetition = tl.load(repetition_ptr + row)
    frequency = tl.load(frequency_ptr + row)
    presence = tl.load(presence_ptr + row)
    logits = tl.load(logits_ptr + row * V + token, mask=mask, other=0.0)
    count = tl.load(count_ptr + row * V + token, mask=mask, other=0)

    word = start // 32 + tl.arange(0, BLOCK // 32)
    words = tl.load(prompt_ptr + row * WORDS + word, mask=word < WORDS, other=0)
    bits = (words[:, None] >> tl.arange(0, 32)[None, :]) & 1
    in_prompt = tl.reshape(bits, (BLOCK,)) != 0

    scale = tl.where(in_prompt | (count > 0), repetition, 1.0)
    logits = tl.where(logits > 0, logits / scale, logits * scale)
    logits -= frequency * count
    logits -= tl.where(count > 0, presence, 0.0)
    tl.store(out_ptr + row * V + token, logits, mask=mask)


def rope_token_penalty_repeat_arguments(B=6, V=5000):
    words = triton.cdiv(V, 32)
    count = torch.randint(1, 12, (B, V), dtype=torch.int32)
    seen = torch.randint(0, 1 << 31, (B, words)) & torch.randint(0, 1 << 31, (B, words))
    return {
        "logits_ptr": 3 * torch.randn(B, V),
        "prompt_ptr": seen.int(),
        "count_ptr": count * (torch.rand(B, V) < 0.1),
        "repetition_ptr": 1 + 0.3 * torch.rand(B),
        "frequency_ptr": 0.5 * torch.rand(B),
        "presence_ptr": 0.5 * torch.rand(B),
        "out_ptr": torch.empty(B, V),
        "V": V,
        "WORDS": words,
    }


def rope_token_penalty_repeat_grid(meta):
    return (meta["B"], triton.cdiv(meta["V"], meta["BLOCK"]))


def rope_token_penalty_repeat_reference(
    logits_ptr, prompt_ptr, count_ptr, repetition_ptr, frequency_ptr, presence_ptr, V
):
    bits = prompt_ptr.long()[:, :, None] >> torch.arange(32) & 1
    seen = (bits.reshape(len(bits), -1)[:, :V] == 1) | (count_ptr > 0)
    scale = torch.where(seen, repetition_ptr[:, None], 1)
    out = torch.where(logits_ptr > 0, logits_ptr / scale, logits_ptr * scale)
    out = out - frequency_ptr[:, None] * count_ptr
    return {"out_ptr": out - presence_ptr[:, None] * (count_ptr > 0)}
