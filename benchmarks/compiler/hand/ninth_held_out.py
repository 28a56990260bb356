"""The other six kernels of the ninth draw, that `ninth_held_out.c` has in RVV intrinsics.

The names, and the seed that drew them, are in `ninth_draw.py`. These six were written before
the others were worked on. Both sides were checked then, and only the intrinsics' cycles looked at:
edge_max, row_absmax_int8 and autocorrelation_lags were written in intrinsics again after that.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _normal_cdf(x):
    return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 64)], key=[])
@triton.jit
def black_scholes(
    price_ptr, strike_ptr, years_ptr, call_ptr, put_ptr, N, rate, volatility, BLOCK: tl.constexpr
):
    """What options to buy and to sell are worth."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    price = tl.load(price_ptr + at, mask=mask, other=1.0)
    strike = tl.load(strike_ptr + at, mask=mask, other=1.0)
    years = tl.load(years_ptr + at, mask=mask, other=1.0)
    spread = volatility * tl.sqrt(years)
    d1 = (tl.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * tl.exp(-rate * years)
    call = price * _normal_cdf(d1) - discounted * _normal_cdf(d2)
    put = discounted * _normal_cdf(-d2) - price * _normal_cdf(-d1)
    tl.store(call_ptr + at, call, mask=mask)
    tl.store(put_ptr + at, put, mask=mask)


def black_scholes_arguments(N=4000):
    return {
        "price_ptr": 80 + 40 * torch.rand(N),
        "strike_ptr": 80 + 40 * torch.rand(N),
        "years_ptr": 0.25 + 2 * torch.rand(N),
        "call_ptr": torch.empty(N),
        "put_ptr": torch.empty(N),
        "N": N,
        "rate": 0.03125,
        "volatility": 0.25,
    }


def black_scholes_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def black_scholes_reference(price_ptr, strike_ptr, years_ptr, rate, volatility):
    price, strike, years = price_ptr.double(), strike_ptr.double(), years_ptr.double()
    spread = volatility * years.sqrt()
    d1 = (torch.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2, discounted = d1 - spread, strike * torch.exp(-rate * years)
    cdf = torch.special.ndtr
    return {
        "call_ptr": price * cdf(d1) - discounted * cdf(d2),
        "put_ptr": discounted * cdf(-d2) - price * cdf(-d1),
    }


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 32, 16)], key=[])
@triton.jit
def edge_max(x_ptr, start_ptr, source_ptr, weight_ptr, out_ptr, D, BLOCK: tl.constexpr):
    """The largest message of each node's edges, feature by feature; 0 for a node without any."""
    node = tl.program_id(0)
    features = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = features < D
    start = tl.load(start_ptr + node)
    end = tl.load(start_ptr + node + 1)
    largest = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for edge in range(start, end):
        source = tl.load(source_ptr + edge)
        weight = tl.load(weight_ptr + edge)
        x = tl.load(x_ptr + source * D + features, mask=mask, other=0.0)
        largest = tl.maximum(largest, x * weight)
    largest = tl.where(start < end, largest, 0.0)
    tl.store(out_ptr + node * D + features, largest, mask=mask)


def edge_max_arguments(NODES=300, D=50):
    degrees = torch.randint(0, 16, (NODES,))
    edges = int(degrees.sum())
    return {
        "x_ptr": torch.randn(NODES, D),
        "start_ptr": torch.cat([torch.zeros(1), degrees.cumsum(0)]).int(),
        "source_ptr": torch.randint(0, NODES, (edges,), dtype=torch.int32),
        "weight_ptr": torch.randn(edges),
        "out_ptr": torch.empty(NODES, D),
        "D": D,
    }


def edge_max_grid(meta):
    return (meta["NODES"], triton.cdiv(meta["D"], meta["BLOCK"]))


def edge_max_reference(x_ptr, start_ptr, source_ptr, weight_ptr):
    messages = x_ptr.double()[source_ptr.long()] * weight_ptr.double()[:, None]
    degrees = start_ptr.long().diff()
    nodes = torch.repeat_interleave(torch.arange(len(degrees)), degrees)
    out = torch.zeros(len(degrees), x_ptr.shape[1], dtype=torch.double)
    at = nodes[:, None].expand_as(messages)
    return {"out_ptr": out.scatter_reduce(0, at, messages, "amax", include_self=False)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 32, 512)], key=[])
@triton.jit
def ell_spmv(value_ptr, column_ptr, x_ptr, y_ptr, ROWS, WIDTH, BLOCK: tl.constexpr):
    """A sparse matrix in ELLPACK's form, filled up with columns of -1, times a vector."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < ROWS
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(WIDTH):
        column = tl.load(column_ptr + k * ROWS + rows, mask=mask, other=-1)
        value = tl.load(value_ptr + k * ROWS + rows, mask=mask, other=0.0)
        total += value * tl.load(x_ptr + column, mask=column >= 0, other=0.0)
    tl.store(y_ptr + rows, total, mask=mask)


def ell_spmv_arguments(ROWS=1500, WIDTH=9, COLUMNS=1200):
    used = torch.arange(WIDTH)[:, None] < torch.randint(1, WIDTH + 1, (1, ROWS))
    columns = torch.randint(0, COLUMNS, (WIDTH, ROWS), dtype=torch.int32)
    return {
        "value_ptr": torch.randn(WIDTH, ROWS) * used,
        "column_ptr": torch.where(used, columns, -1).int(),
        "x_ptr": torch.randn(COLUMNS),
        "y_ptr": torch.empty(ROWS),
        "ROWS": ROWS,
        "WIDTH": WIDTH,
    }


def ell_spmv_grid(meta):
    return (triton.cdiv(meta["ROWS"], meta["BLOCK"]),)


def ell_spmv_reference(value_ptr, column_ptr, x_ptr):
    x = x_ptr.double()[column_ptr.clamp(min=0).long()]
    return {"y_ptr": (value_ptr.double() * x).sum(0)}


@triton.autotune([triton.Config({"ROWS": rows}) for rows in (1, 2, 4)], key=[])
@triton.jit
def row_absmax_int8(
    x_ptr, smooth_ptr, q_ptr, scale_ptr, M, N, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    """Activations as bytes, with a scale for each token, after factors that even out channels."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    at = rows[:, None] * N + columns[None, :]
    smooth = tl.load(smooth_ptr + columns, mask=columns < N, other=0.0)
    x = tl.load(x_ptr + at, mask=mask, other=0.0) * smooth[None, :]
    largest = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-8)
    q = tl.floor(x * (127.0 / largest)[:, None] + 0.5)
    tl.store(q_ptr + at, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + rows, largest / 127.0, mask=rows < M)


def row_absmax_int8_arguments(M=48, N=600):
    return {
        "x_ptr": torch.randn(M, N),
        "smooth_ptr": torch.rand(N) + 0.5,
        "q_ptr": torch.empty(M, N, dtype=torch.int8),
        "scale_ptr": torch.empty(M),
        "M": M,
        "N": N,
        "BLOCK": triton.next_power_of_2(N),
    }


def row_absmax_int8_grid(meta):
    return (triton.cdiv(meta["M"], meta["ROWS"]),)


def row_absmax_int8_reference(x_ptr, smooth_ptr):
    x = x_ptr * smooth_ptr
    largest = x.abs().amax(1).clamp_min(1e-8)
    q = torch.floor(x * (127.0 / largest)[:, None] + 0.5)
    return {"q_ptr": q.to(torch.int8), "scale_ptr": largest / 127}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (1024, 4096, 256)], key=[])
@triton.jit
def lowercase_ascii(text_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Text with its capital letters made small; other bytes stay."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    c = tl.load(text_ptr + at, mask=mask, other=0)
    is_capital = (c >= 65) & (c <= 90)
    tl.store(out_ptr + at, tl.where(is_capital, c + 32, c), mask=mask)


def lowercase_ascii_arguments(N=100000):
    return {
        "text_ptr": torch.randint(0, 256, (N,), dtype=torch.uint8),
        "out_ptr": torch.empty(N, dtype=torch.uint8),
        "N": N,
    }


def lowercase_ascii_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def lowercase_ascii_reference(text_ptr):
    is_capital = (text_ptr >= 65) & (text_ptr <= 90)
    return {"out_ptr": torch.where(is_capital, text_ptr + 32, text_ptr)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (512, 256, 128)], key=[])
@triton.jit
def autocorrelation_lags(x_ptr, r_ptr, SAMPLES, LAGS, BLOCK: tl.constexpr):
    """Products of each frame with itself some samples later, as linear prediction needs them."""
    lag = tl.program_id(0)
    frame = tl.program_id(1)
    x = x_ptr + frame * SAMPLES
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, SAMPLES - lag, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < SAMPLES - lag
        now = tl.load(x + at, mask=mask, other=0.0)
        total += now * tl.load(x + at + lag, mask=mask, other=0.0)
    tl.store(r_ptr + frame * LAGS + lag, tl.sum(total, axis=0))


def autocorrelation_lags_arguments(FRAMES=20, SAMPLES=470, LAGS=17):
    return {
        "x_ptr": torch.randn(FRAMES, SAMPLES),
        "r_ptr": torch.empty(FRAMES, LAGS),
        "SAMPLES": SAMPLES,
        "LAGS": LAGS,
    }


def autocorrelation_lags_grid(meta):
    return (meta["LAGS"], meta["FRAMES"])


def autocorrelation_lags_reference(x_ptr, LAGS):
    x, n = x_ptr.double(), x_ptr.shape[1]
    sums = [(x[:, : n - lag] * x[:, lag:]).sum(1) for lag in range(LAGS)]
    return {"r_ptr": torch.stack(sums, 1)}
