"""Operators of FlagGems, against those of torch with the same name."""

import os

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_with_gradients, randint, randn

PACKAGE = "flag_gems"


@pytest.fixture(scope="module")
def gems(load):
    import triton_rvv.flag_gems

    triton_rvv.flag_gems.register(os.environ.get("TRITON_RVV_TARGET") or "host")
    return load("flag_gems")


def torch_function(name):
    """Torch's function of this name; an operator that ends in _ writes over its input."""
    plain = name.removesuffix("_")
    for module in (torch, F, torch.special):
        if hasattr(module, plain):
            return getattr(module, plain)
    raise AttributeError(name)


# Values from which the function is defined everywhere.
POSITIVE = ["log", "log10", "log1p_", "rsqrt", "sqrt", "digamma_"]
BELOW_ONE = ["acos", "arctanh_"]
UNARY = [
    *("abs", "angle", "asinh_", "atan", "ceil", "celu", "cos", "cosh", "elu", "erf", "exp", "exp2"),
    *("expm1", "floor_", "gelu", "hardsigmoid", "hardswish_", "i0", "isfinite", "isinf", "isnan"),
    *("isneginf", "logical_not", "nan_to_num", "neg", "reciprocal", "relu", "relu6", "round"),
    *("selu", "sgn_", "sigmoid", "signbit", "silu", "sin", "sinh_", "softplus", "softshrink"),
    *("square", "tan", "tanh"),
]


@pytest.mark.parametrize("name", [*UNARY, *POSITIVE, *BELOW_ONE])
def test_unary(gems, name):
    x = randn(5, 70) * 2
    x = x.abs() + 0.1 if name in POSITIVE else x.tanh() * 0.9 if name in BELOW_ONE else x
    if name.startswith("is"):
        x[0, :4] = torch.tensor([torch.inf, -torch.inf, torch.nan, 0])
    agree(getattr(gems, name)(x.clone()), torch_function(name)(x), 1e-5)


def test_log_sigmoid(gems):
    x = randn(5, 70) * 2
    agree(gems.log_sigmoid(x), F.logsigmoid(x))


BINARY = [
    *("add", "atan2", "copysign", "eq", "floor_divide", "fmin", "ge", "greater", "gt", "hypot"),
    *("isclose", "le", "logaddexp", "logical_and", "logical_or", "logical_xor", "lt", "maximum"),
    *("minimum", "mul", "ne", "remainder", "sub", "true_divide"),
]


@pytest.mark.parametrize("name", BINARY)
def test_binary(gems, name):
    x, y = randn(5, 70), randn(5, 1, seed=1)
    x[0, :3] = y[0]
    agree(getattr(gems, name)(x, y), torch_function(name)(x, y), 1e-5)


@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne", "greater"])
def test_comparison_with_a_scalar(gems, name):
    x = randint(0, 3, [300])
    agree(getattr(gems, f"{name}_scalar")(x, 1), torch_function(name)(x, 1))


@pytest.mark.parametrize("name", ["and", "or"])
def test_bits(gems, name):
    x, y = randint(0, 1000, [70], dtype=torch.int32), randint(0, 7, [70], 1, torch.int32)
    agree(getattr(gems, f"bitwise_{name}_tensor")(x, y), getattr(torch, f"bitwise_{name}")(x, y))
    agree(gems.bitwise_not(x), torch.bitwise_not(x))


def test_power(gems):
    x, y = randn(5, 70).abs() + 0.1, randn(5, 70, seed=1)
    agree(gems.pow_tensor_tensor(x, y), x**y)
    agree(gems.pow_tensor_scalar(x, 1.5), x**1.5)
    agree(gems.pow_scalar(1.5, y), 1.5**y)


def test_pointwise_of_several(gems):
    x, y, z = (randn(5, 70, seed=seed) for seed in range(3))
    mask = z > 0
    agree(gems.addcdiv(x, y, z.abs() + 1, value=0.5), x + 0.5 * y / (z.abs() + 1))
    agree(gems.addcmul(x, y, z, value=0.5), x + 0.5 * y * z)
    agree(gems.lerp_tensor(x, y, z), torch.lerp(x, y, z))
    agree(gems.lerp_scalar(x, y, 0.3), torch.lerp(x, y, 0.3))
    agree(gems.masked_fill(x, mask, 2.5), x.masked_fill(mask, 2.5))
    agree(gems.clamp(x, -0.5, 0.5), x.clamp(-0.5, 0.5))
    agree(gems.clamp_tensor(x, y, y + 1), x.clamp(y, y + 1))
    agree(gems.threshold(x, 0.2, 7.0), F.threshold(x, 0.2, 7.0))
    agree(gems.polar(x, y).real, torch.polar(x, y).real)
    agree(gems.logit(torch.sigmoid(x)), x, 1e-4)


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "pow_tensor_tensor_", "lerp_tensor_"])
def test_in_place(gems, name):
    x, y, z = (randn(5, 70, seed=seed).abs() for seed in range(3))
    given = (y, z) if name == "lerp_tensor_" else (y,)
    method = name.replace("_tensor", "")
    for _ in range(2):  # FlagGems calls a kernel that it has compiled in another way
        target = x.clone()
        getattr(gems, name)(target, *given)
        agree(target, getattr(x.clone(), method)(*given))


# -- reductions and scans --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "all", "any", "amax"])
def test_reduction(gems, name):
    x = randn(40, 130) * 0.5 + 1
    x = x > 0 if name in ("all", "any") else x[0, :36] if name == "prod" else x
    agree(getattr(gems, name)(x), getattr(torch, name)(x), 1e-4)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "all", "any"])
def test_reduction_of_a_dimension(gems, name, dim):
    x = randn(6, 40, 33) * 0.2 + 1
    x = x > 0.9 if name in ("all", "any") else x
    result = getattr(gems, f"{name}_dim")(x, [dim] if name in ("sum", "mean") else dim)
    agree(tuple(result) if name in ("max", "min") else result, getattr(torch, name)(x, dim), 1e-4)


def test_mean_of_many(gems):
    x = randn(3, 50_000)
    agree(gems.mean_dim(x, [1]), x.mean(1), 1e-4)
    agree(gems.mean_dim(x.T.contiguous(), [0]), x.mean(1), 1e-4)


@pytest.mark.parametrize("name", ["argmax", "argmin", "amax", "cumsum", "cummax", "cummin"])
def test_order_in_a_dimension(gems, name):
    x = randn(8, 200)  # argmin writes whole blocks of rows
    result = getattr(gems, name)(x, [1] if name == "amax" else 1)
    agree(tuple(result) if name.startswith("cumm") else result, getattr(torch, name)(x, 1), 1e-5)


def test_spread(gems):
    x = randn(6, 200)
    agree(gems.var_mean(x, [1]), torch.var_mean(x, 1))
    agree(gems.std(x, [1]), torch.std(x, 1))
    agree(gems.vector_norm(x, 2, [1]), torch.linalg.vector_norm(x, 2, 1))
    agree(gems.count_nonzero(x > 0), torch.count_nonzero(x > 0))
    agree(gems.trace(x[:, :6].contiguous()), torch.trace(x[:, :6]))
    agree(gems.quantile(x, 0.3, 1), torch.quantile(x, 0.3, 1))
    agree(gems.isin(randint(0, 9, [50]), torch.tensor([2, 5])), randint(0, 9, [50]) % 3 == 2, 1.0)


@pytest.mark.parametrize("descending", [False, True])
def test_sort(gems, descending):
    x = randn(4, 300)
    agree(tuple(gems.sort(x, -1, descending)), x.sort(-1, descending))
    agree(tuple(gems.topk(x, 7, -1, descending)), x.topk(7, -1, descending))


def test_search(gems):
    x = randint(0, 4, [200])
    agree(gems.nonzero(x > 1), torch.nonzero(x > 1))
    agree(gems.masked_select(x, x > 1), x[x > 1])
    agree(gems.unique_consecutive(x)[0], torch.unique_consecutive(x))


# -- products --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_matrix_products(gems, dtype):
    a, b, c = randn(40, 70, dtype=dtype), randn(70, 50, seed=1, dtype=dtype), randn(50, dtype=dtype)
    product = a.float() @ b.float()
    agree(gems.mm(a, b), product)
    agree(gems.addmm(c, a, b), product + c)
    agree(gems.bmm(a.expand(2, 40, 70), b.expand(2, 70, 50)), product.expand(2, 40, 50))
    agree(gems.mv(b.T.contiguous(), a[0].contiguous()), product[0])
    agree(gems.addmv(c, b.T.contiguous(), a[0].contiguous()), product[0] + c)
    agree(gems.baddbmm(c.expand(2, 40, 50), a.expand(2, 40, 70), b.expand(2, 70, 50)),
          (product + c).expand(2, 40, 50))  # fmt: skip


def test_vector_products(gems):
    x, y = randn(3000), randn(3000, seed=1)
    agree(gems.dot(x, y), torch.dot(x, y), 1e-4)
    agree(gems.vdot(x, y), torch.vdot(x, y), 1e-4)
    agree(gems.outer(x[:40], y[:30]), torch.outer(x[:40], y[:30]))
    agree(gems.kron(x[:12].view(3, 4), y[:6].view(2, 3)),
          torch.kron(x[:12].view(3, 4), y[:6].view(2, 3)))  # fmt: skip
    agree(gems.addr(x[:20].view(4, 5), x[:4], y[:5]),
          torch.addr(x[:20].view(4, 5), x[:4], y[:5]))  # fmt: skip


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(gems, groups):
    x, weight, bias = randn(2, 4, 12, 11), randn(6, 4 // groups, 3, 3, seed=1), randn(6, seed=2)
    agree_with_gradients(
        lambda x, w, b: gems.conv2d(x, w, b, 1, 1, 1, groups),
        lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, groups),
        x, weight, bias, tolerance=1e-4,
    )  # fmt: skip
    agree(gems.conv1d(x[0], weight[:, :, 0], bias, 2, 1, 1, groups),
          F.conv1d(x[0], weight[:, :, 0], bias, 2, 1, 1, groups), 1e-4)  # fmt: skip
    y, cube = randn(1, 4, 5, 6, 7), randn(6, 4 // groups, 3, 3, 3, seed=1)
    agree(
        gems.conv3d(y, cube, bias, 1, 1, 1, groups), F.conv3d(y, cube, bias, 1, 1, 1, groups), 1e-4
    )


# -- layers ----------------------------------------------------------------------------------------


def test_norms(gems):
    x, weight, bias = randn(6, 4, 96), randn(96, seed=1), randn(96, seed=2)
    agree(gems.layer_norm(x, (96,), weight, bias)[0], F.layer_norm(x, (96,), weight, bias))
    agree(gems.rms_norm(x, (96,), weight), F.rms_norm(x, (96,), weight, 1e-5), 1e-4)
    few = weight[:4].contiguous(), bias[:4].contiguous()
    agree(gems.group_norm(x, *few, 6, 4, 96, 2)[0], F.group_norm(x, 2, *few), 1e-4)
    mean, var = torch.zeros(4), torch.ones(4)
    agree(
        gems.batch_norm(x, *few, mean, var, True)[0], F.batch_norm(x, None, None, *few, True), 1e-4
    )


def test_norm_gradients(gems):
    x, weight, bias, upstream = randn(24, 96), randn(96), randn(96, seed=2), randn(24, 96, seed=3)
    _, mean, rstd = gems.layer_norm(x, (96,), weight, bias)
    got = gems.layer_norm_backward(upstream, x, [96], mean, rstd, weight, bias, [True] * 3)
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    agree(got, torch.autograd.grad(F.layer_norm(x, (96,), weight, bias), leaves, upstream), 1e-4)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(gems, name, dim):
    x, upstream = randn(20, 300), randn(20, 300, seed=1)
    out = getattr(gems, name)(x, dim, False)
    agree(out, getattr(torch, name)(x, dim))
    got = getattr(gems, f"{name}_backward")(upstream, out, dim, torch.float32)
    x.requires_grad_()
    agree(got, torch.autograd.grad(getattr(torch, name)(x, dim), x, upstream)[0])


def test_losses(gems):
    x, y, target = randn(30, 50), randn(30, 50, seed=1), randint(0, 50, [30])
    logs = torch.log_softmax(x, 1)
    agree(gems.nll_loss_forward(logs, target)[0], F.nll_loss(logs, target))
    agree(gems.mse_loss(x, y, 1), F.mse_loss(x, y))
    agree(gems.cross_entropy_loss(x, target), F.cross_entropy(x, target))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(gems, causal):
    q, k, v = (randn(2, 4, 70, 64, seed=seed, dtype=torch.float16) for seed in range(3))
    out = gems.scaled_dot_product_attention(q, k, v, is_causal=causal)
    expected = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    agree(out, expected)


def test_activations_with_gates(gems):
    x, y = randn(20, 300), randn(20, 300, seed=1)
    agree(gems.silu_and_mul(x, y), F.silu(x) * y)
    agree(gems.gelu_and_mul(x, y), F.gelu(x) * y)
    agree(gems.glu(x, 1), F.glu(x, 1))
    both = torch.cat([x, y], 1)
    agree(gems.geglu(both), F.gelu(x) * y, 1e-3)
    agree(gems.reglu(both), F.relu(x) * y)


def test_pooling(gems):
    x = randn(2, 3, 12, 14)
    agree(gems.avg_pool2d(x, [3, 3], [2, 2], [1, 1]), F.avg_pool2d(x, 3, 2, 1))
    agree(tuple(gems.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])),
          F.max_pool2d(x, 3, 2, 1, return_indices=True))  # fmt: skip


def test_resampling(gems):
    x = randn(2, 3, 12, 14)
    agree(gems.upsample_nearest2d(x, [24, 20]), F.interpolate(x, (24, 20)))
    agree(gems.upsample_nearest1d(x[0], [33]), F.interpolate(x[0], 33))
    agree(gems.upsample_linear1d(x[0], [33], False), F.interpolate(x[0], 33, mode="linear"))
    agree(gems.upsample_nearest3d(x[None], [5, 20, 21]), F.interpolate(x[None], (5, 20, 21)))


# -- moving elements -------------------------------------------------------------------------------


def test_joining(gems):
    x, y = randn(6, 40), randn(6, 40, seed=1)
    for name in ("cat", "stack", "hstack", "vstack"):
        agree(getattr(gems, name)([x, y]), getattr(torch, name)([x, y]))
    agree(gems.repeat(x, (2, 3)), x.repeat(2, 3))
    agree(gems.tile(x, (2, 3)), x.tile(2, 3))
    agree(gems.repeat_interleave_self_int(x, 3, 1), x.repeat_interleave(3, 1))


def test_shapes(gems):
    x = randn(6, 40)
    agree(gems.flip(x, [0, 1]), x.flip(0, 1))
    agree(gems.roll(x, 3, 1), x.roll(3, 1))
    agree(gems.tril(x, 1), x.tril(1))
    agree(gems.triu(x, -1), x.triu(-1))
    agree(gems.diag(x), x.diag())
    agree(gems.diag_embed(x), x.diag_embed())
    agree(gems.constant_pad_nd(x, [1, 2, 3, 4], 0.5), F.pad(x, (1, 2, 3, 4), value=0.5))
    agree(gems.pad(x[None], [1, 2], "reflect"), F.pad(x[None], (1, 2), "reflect"))
    agree(gems.reflection_pad1d(x, [2, 3]), F.pad(x, (2, 3), "reflect"))
    agree(gems.replication_pad1d(x, [2, 3]), F.pad(x, (2, 3), "replicate"))
    agree(gems.pixel_unshuffle(x[None, None], 2), F.pixel_unshuffle(x[None, None], 2))


def test_indices(gems):
    x, at = randn(20, 40), randint(0, 20, [9])
    there = randint(0, 20, [9, 40], 1)
    y = randn(9, 40, seed=1)
    agree(gems.index_select(x, 0, at), x[at])
    agree(gems.gather(x, 0, there), x.gather(0, there))
    agree(gems.index_add(x.clone(), 0, at, y), x.index_add(0, at, y))
    agree(gems.embedding(x, at), F.embedding(at, x))
    agree(gems.scatter(x.clone(), 0, there[:1], y[:1]), x.scatter(0, there[:1], y[:1]))
    agree(gems.scatter_add_(x.clone(), 0, there, y), x.scatter_add(0, there, y), 1e-4)
    agree(gems.index(x, (at,)), x[at])
    agree(gems.index_put(x.clone(), (at,), y[0].contiguous()), x.index_put((at,), y[0]))
    agree(gems.select_scatter(x, y[0].contiguous(), 0, 4), x.select_scatter(y[0], 0, 4))
    agree(gems.slice_scatter(x, y, 0, 2, 11, 1), x.slice_scatter(y, 0, 2, 11))
    agree(gems.one_hot(at, 20), F.one_hot(at, 20))


def test_filling(gems):
    assert gems.ones((5, 70)).eq(1).all()
    assert gems.zeros((5, 70)).eq(0).all()
    assert gems.full((5, 70), 3.5).eq(3.5).all()
    agree(gems.arange_start(3, 60, 2), torch.arange(3, 60, 2))
    agree(gems.linspace(0, 1, 50), torch.linspace(0, 1, 50), 1e-5)
    agree(gems.logspace(0, 1, 50), torch.logspace(0, 1, 50), 1e-4)
    agree(gems.eye(9), torch.eye(9))


# -- randomness ------------------------------------------------------------------------------------


def test_random_numbers(gems):
    torch.manual_seed(4)
    uniform, normal = gems.rand((100, 100)), gems.randn((100, 100))
    torch.manual_seed(4)
    assert torch.equal(uniform, gems.rand((100, 100)))
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    kept, mask = gems.dropout(torch.ones(10_000), 0.3, True)
    assert abs(mask.float().mean() - 0.7) < 0.03
    agree(kept, mask / 0.7)
    assert sorted(gems.randperm(50).tolist()) == list(range(50))
    values = torch.empty(10_000)
    assert abs(gems.exponential_(values, 2.0).mean() - 0.5) < 0.05
    assert abs(gems.uniform_(values, 1.0, 3.0).mean() - 2) < 0.05
