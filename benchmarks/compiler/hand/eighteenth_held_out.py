"""Four held-out kernels of the eighteenth draw, that `eighteenth_held_out.c` has in intrinsics.

`random.Random(20261401)` drew four of these 76 names, which are of deep learning, and four of
the 112 in `eighteenth_held_out2.py`, before any was written. All eight are held out. Kernels are
as users write them.

    swish_beta_learned_grad rms_norm_int8_out evo_norm_planes deepnorm_scaled_residual
    fused_gate_up_gemv rwkv6_data_decay_step lora_down_up_rows bitlinear_ternary_matmul
    linear_cross_entropy_tiles dora_column_norms rope_neox_cache_write local_block_mask_attention
    talking_heads_mix t5_bucket_bias_softmax performer_feature_map axial_position_add
    patch_embed_project deformable_sample_points upsample_bilinear_backward
    max_pool2d_backward_scatter avg_pool3d_volume dilated_depthwise_planes conv_transpose2d_stride2
    global_response_norm bilinear_head_scores center_loss_rows supervised_contrastive_rows
    circle_loss_pairs ctc_beta_step crf_forward_step ssim_loss_windows iou_matching_costs
    nms_suppress_mask anchor_box_decode adam_atan2_step sam_perturb_rows shampoo_precond_update
    galore_project_back dino_center_softmax int8_conv1x1_requant q8_0_gemv_blocks iq4_nl_lookup_dot
    fp8_kv_decode_rows int5_group_gemv_rows llm_int8_outlier_split moe_aux_balance_loss
    soft_moe_dispatch mirostat_truncate tail_free_second_diffs contrastive_decode_logits
    token_logprob_ranks ngram_block_mask gin_aggregate_csr edge_softmax_csr graph_norm_segments
    distmult_triple_scores dlrm_dot_interactions din_attention_pool bpr_pair_loss lstm_cell_backward
    sru_cell_scan s4d_kernel_generate hyena_short_conv_gate mlp_mixer_token_mix
    nerf_positional_encode nerf_alpha_composite hash_grid_trilinear gaussian_splat_blend
    vq_commitment_grads vae_reparam_kl ddpm_v_prediction edm_precondition vtrace_targets
    c51_projection_rows quantile_huber_td sac_tanh_logprob
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK_N": n, "BLOCK_C": c}) for n, c in ((16, 64), (4, 128), (8, 32))], key=[]
)
@triton.jit
def graph_norm_segments(
    x_ptr,
    offsets_ptr,
    weight_ptr,
    bias_ptr,
    mean_scale_ptr,
    out_ptr,
    C,
    eps,
    BLOCK_N: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Each channel of each graph without a learned share of its mean, over its deviation."""
    graph = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = channel < C
    start = tl.load(offsets_ptr + graph)
    end = tl.load(offsets_ptr + graph + 1)
    count = (end - start).to(tl.float32)

    total = tl.zeros((BLOCK_N, BLOCK_C), dtype=tl.float32)
    for first in range(start, end, BLOCK_N):
        node = first + tl.arange(0, BLOCK_N)
        mask = (node < end)[:, None] & inside[None, :]
        total += tl.load(x_ptr + node[:, None] * C + channel[None, :], mask=mask, other=0.0)
    mean_scale = tl.load(mean_scale_ptr + channel, mask=inside, other=0.0)
    shift = mean_scale * tl.sum(total, axis=0) / count

    total = tl.zeros((BLOCK_N, BLOCK_C), dtype=tl.float32)
    for first in range(start, end, BLOCK_N):
        node = first + tl.arange(0, BLOCK_N)
        mask = (node < end)[:, None] & inside[None, :]
        x = tl.load(x_ptr + node[:, None] * C + channel[None, :], mask=mask, other=0.0)
        off = tl.where(mask, x - shift[None, :], 0.0)
        total += off * off
    variance = tl.sum(total, axis=0) / count

    weight = tl.load(weight_ptr + channel, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + channel, mask=inside, other=0.0)
    scale = weight / tl.sqrt(variance + eps)
    for first in range(start, end, BLOCK_N):
        node = first + tl.arange(0, BLOCK_N)
        mask = (node < end)[:, None] & inside[None, :]
        at = node[:, None] * C + channel[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        y = (x - shift[None, :]) * scale[None, :] + bias[None, :]
        tl.store(out_ptr + at, y, mask=mask)


def graph_norm_segments_arguments(GRAPHS=32, C=128):
    # Molecules of 8 to 40 atoms.
    counts = torch.randint(8, 41, (GRAPHS,), generator=torch.Generator().manual_seed(0))
    offsets = torch.zeros(GRAPHS + 1, dtype=torch.int32)
    offsets[1:] = counts.cumsum(0)
    nodes = int(offsets[-1])
    return {
        "x_ptr": torch.randn(nodes, C) + torch.randn(C),
        "offsets_ptr": offsets,
        "weight_ptr": torch.randn(C),
        "bias_ptr": torch.randn(C),
        "mean_scale_ptr": 1 + 0.2 * torch.randn(C),
        "out_ptr": torch.empty(nodes, C),
        "C": C,
        "eps": 1e-5,
    }


graph_norm_segments_kept_inputs = ["offsets_ptr"]


def graph_norm_segments_grid(meta):
    return (meta["GRAPHS"], triton.cdiv(meta["C"], meta["BLOCK_C"]))


def graph_norm_segments_reference(x_ptr, offsets_ptr, weight_ptr, bias_ptr, mean_scale_ptr, eps):
    outs = []
    for x in x_ptr.float().split(offsets_ptr.diff().tolist()):
        off = x - mean_scale_ptr * x.mean(dim=0)
        outs.append(weight_ptr * off / (off.square().mean(dim=0) + eps).sqrt() + bias_ptr)
    return {"out_ptr": torch.cat(outs)}


@triton.autotune(
    [
        triton.Config({"BLOCK_M": m, "BLOCK_K": k, "BLOCK_N": n})
        for m, k, n in ((16, 64, 64), (16, 32, 32), (32, 64, 64))
    ],
    key=[],
)
@triton.jit
def lora_down_up_rows(
    x_ptr,
    base_ptr,
    a_ptr,
    b_ptr,
    out_ptr,
    M,
    K,
    N,
    scale,
    R: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """out = base + scale * (x @ a.T) @ b.T; a is (R, K) and b (N, R), as in checkpoints."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rank = tl.arange(0, R)
    inside = (row < M)[:, None]

    low = tl.zeros((BLOCK_M, R), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + row[:, None] * K + k[None, :], mask=inside & (k < K)[None, :], other=0.0
        )
        a = tl.load(a_ptr + rank[None, :] * K + k[:, None], mask=(k < K)[:, None], other=0.0)
        low = tl.dot(x, a, acc=low)
    low *= scale

    for start in range(0, N, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        b = tl.load(
            b_ptr + column[None, :] * R + rank[:, None], mask=(column < N)[None, :], other=0.0
        )
        at = row[:, None] * N + column[None, :]
        mask = inside & (column < N)[None, :]
        y = tl.load(base_ptr + at, mask=mask, other=0.0)
        y = tl.dot(low, b, acc=y)
        tl.store(out_ptr + at, y, mask=mask)


def lora_down_up_rows_arguments(M=64, K=768, N=768, R=16):
    return {
        "x_ptr": torch.randn(M, K),
        "base_ptr": torch.randn(M, N),
        "a_ptr": torch.randn(R, K) / K**0.5,
        "b_ptr": 0.5 * torch.randn(N, R),
        "out_ptr": torch.empty(M, N),
        "M": M,
        "K": K,
        "N": N,
        "scale": 2.0,
        "R": R,
    }


def lora_down_up_rows_grid(meta):
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]),)


def lora_down_up_rows_reference(x_ptr, base_ptr, a_ptr, b_ptr, scale):
    return {"out_ptr": base_ptr + scale * (x_ptr @ a_ptr.T) @ b_ptr.T}


VALUES = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]


@triton.autotune([triton.Config({"BLOCKS": blocks}) for blocks in (16, 4, 64)], key=[])
@triton.jit
def iq4_nl_lookup_dot(q_ptr, d_ptr, x_ptr, dx_ptr, table_ptr, y_ptr, NB, BLOCKS: tl.constexpr):
    """y[row] = the sum over blocks of d * dx * (32 values that nibbles look up, times bytes of x).

    Low nibbles are a block's first 16 elements, high nibbles are its other 16.
    """
    row = tl.program_id(0)
    byte = tl.arange(0, 16)
    total = tl.zeros((BLOCKS,), dtype=tl.float32)
    for start in range(0, NB, BLOCKS):
        block = start + tl.arange(0, BLOCKS)
        inside = block < NB
        mask = inside[:, None]
        at = row * NB + block
        q = tl.load(q_ptr + at[:, None] * 16 + byte[None, :], mask=mask, other=0)
        low = tl.load(table_ptr + (q & 15)).to(tl.int32)
        high = tl.load(table_ptr + (q >> 4)).to(tl.int32)
        x_at = block[:, None] * 32 + byte[None, :]
        x_low = tl.load(x_ptr + x_at, mask=mask, other=0).to(tl.int32)
        x_high = tl.load(x_ptr + x_at + 16, mask=mask, other=0).to(tl.int32)
        dot = tl.sum(low * x_low + high * x_high, axis=1)
        d = tl.load(d_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dx = tl.load(dx_ptr + block, mask=inside, other=0.0).to(tl.float32)
        total += dot.to(tl.float32) * (d * dx)
    tl.store(y_ptr + row, tl.sum(total, axis=0))


def iq4_nl_lookup_dot_arguments(N=384, K=1536):
    return {
        "q_ptr": torch.randint(0, 256, (N, K // 2), dtype=torch.uint8),
        "d_ptr": (0.01 * torch.randn(N, K // 32)).half(),
        "x_ptr": torch.randint(-127, 128, (K,), dtype=torch.int8),
        "dx_ptr": (0.01 + 0.01 * torch.rand(K // 32)).half(),
        "table_ptr": torch.tensor(VALUES, dtype=torch.int8),
        "y_ptr": torch.empty(N),
        "NB": K // 32,
    }


iq4_nl_lookup_dot_kept_inputs = ["table_ptr"]


def iq4_nl_lookup_dot_grid(meta):
    return (meta["N"],)


def iq4_nl_lookup_dot_reference(q_ptr, d_ptr, x_ptr, dx_ptr, table_ptr):
    rows, blocks = d_ptr.shape
    q = q_ptr.view(rows, blocks, 16).long()
    weights = table_ptr.double()[torch.cat([q & 15, q >> 4], dim=2)]
    dots = (weights * x_ptr.double().view(blocks, 32)).sum(dim=2)
    return {"y_ptr": (dots * d_ptr.double() * dx_ptr.double()).sum(dim=1)}


@triton.autotune([triton.Config({"BLOCK_T": block}) for block in (32, 16, 64)], key=[])
@triton.jit
def fp8_kv_decode_rows(
    q_ptr,
    k_ptr,
    v_ptr,
    k_scale_ptr,
    v_scale_ptr,
    lengths_ptr,
    out_ptr,
    HEADS,
    T,
    softmax_scale,
    D: tl.constexpr,
    BLOCK_T: tl.constexpr,
):
    """softmax(q @ k.T) @ v of a head of a sequence; k and v are e4m3 with a scale for each head."""
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    column = tl.arange(0, D)
    row = sequence * HEADS + head
    length = tl.load(lengths_ptr + sequence)
    k_scale = tl.load(k_scale_ptr + head)
    v_scale = tl.load(v_scale_ptr + head)
    q = tl.load(q_ptr + row * D + column) * (softmax_scale * k_scale)

    largest = -float("inf")
    bottom = 0.0
    total = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, length, BLOCK_T):
        token = start + tl.arange(0, BLOCK_T)
        inside = token < length
        at = (row * T + token)[:, None] * D + column[None, :]
        k = tl.load(k_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
        score = tl.sum(q[None, :] * k, axis=1)
        score = tl.where(inside, score, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(score, axis=0))
        weight = tl.exp(score - new_largest)
        correction = tl.exp(largest - new_largest)
        v = tl.load(v_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
        total = total * correction + tl.sum(weight[:, None] * v, axis=0)
        bottom = bottom * correction + tl.sum(weight, axis=0)
        largest = new_largest
    tl.store(out_ptr + row * D + column, total / bottom * v_scale)


def fp8_kv_decode_rows_arguments(B=4, HEADS=8, T=256, D=64):
    lengths = torch.tensor([T, T - 37, T // 2 + 5, T - 101][:B], dtype=torch.int32)
    return {
        "q_ptr": torch.randn(B, HEADS, D),
        "k_ptr": (8 * torch.randn(B, HEADS, T, D)).to(torch.float8_e4m3fn),
        "v_ptr": (8 * torch.randn(B, HEADS, T, D)).to(torch.float8_e4m3fn),
        "k_scale_ptr": 0.1 + 0.05 * torch.rand(HEADS),
        "v_scale_ptr": 0.1 + 0.05 * torch.rand(HEADS),
        "lengths_ptr": lengths,
        "out_ptr": torch.empty(B, HEADS, D),
        "HEADS": HEADS,
        "T": T,
        "softmax_scale": D**-0.5,
        "D": D,
    }


fp8_kv_decode_rows_kept_inputs = ["lengths_ptr"]


def fp8_kv_decode_rows_grid(meta):
    return (meta["B"], meta["HEADS"])


def fp8_kv_decode_rows_reference(
    q_ptr, k_ptr, v_ptr, k_scale_ptr, v_scale_ptr, lengths_ptr, T, softmax_scale
):
    k = k_ptr.float() * k_scale_ptr[:, None, None]
    v = v_ptr.float() * v_scale_ptr[:, None, None]
    scores = softmax_scale * (k @ q_ptr[..., None])[..., 0]
    outside = torch.arange(T) >= lengths_ptr[:, None, None]
    weights = scores.masked_fill(outside, -torch.inf).softmax(dim=-1)
    return {"out_ptr": (weights[..., None, :] @ v)[..., 0, :]}
