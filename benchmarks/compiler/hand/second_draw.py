"""More kernels as users write them, that `second_draw.c` has in RVV intrinsics.

Drawn by `random.Random(20261127).sample` from twenty names, before any of them was written.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 64), (16, 64), (1, 64))
    ],
    key=[],
)
@triton.jit
def conv3x3_channels(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    CHANNELS,
    HEIGHT,
    WIDTH,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """A 3x3 convolution over all channels of an image with a rim of zeros."""
    out = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.arange(0, BLOCK_W)
    total = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for channel in range(CHANNELS):
        for dy in tl.static_range(3):
            for dx in tl.static_range(3):
                y = rows[:, None] + dy - 1
                x = columns[None, :] + dx - 1
                inside = (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH)
                at = (channel * HEIGHT + y) * WIDTH + x
                pixels = tl.load(x_ptr + at, mask=inside, other=0.0)
                tap = ((out * CHANNELS + channel) * 3 + dy) * 3 + dx
                total += tl.load(weight_ptr + tap) * pixels
    total += tl.load(bias_ptr + out)
    target = y_ptr + (out * HEIGHT + rows[:, None]) * WIDTH + columns[None, :]
    tl.store(target, total, mask=(rows < HEIGHT)[:, None] & (columns < WIDTH)[None, :])


def conv3x3_channels_arguments(IN=8, OUT=16, H=32, W=56):
    return {
        "x_ptr": torch.randn(IN, H, W),
        "weight_ptr": torch.randn(OUT, IN, 3, 3),
        "bias_ptr": torch.randn(OUT),
        "y_ptr": torch.empty(OUT, H, W),
        "CHANNELS": IN,
        "HEIGHT": H,
        "WIDTH": W,
    }


def conv3x3_channels_grid(meta):
    return (triton.cdiv(meta["H"], meta["BLOCK_H"]), meta["OUT"])


def conv3x3_channels_reference(x_ptr, weight_ptr, bias_ptr):
    image, weight, bias = (each.double() for each in (x_ptr, weight_ptr, bias_ptr))
    return {"y_ptr": torch.nn.functional.conv2d(image[None], weight, bias, padding=1)[0]}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 128), (16, 64), (2, 512))
    ],
    key=[],
)
@triton.jit
def box_blur_bytes(x_ptr, y_ptr, HEIGHT, WIDTH, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    """The rounded mean of the 3x3 square from each pixel on, of a grey image of bytes."""
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows < HEIGHT - 2)[:, None] & (columns < WIDTH - 2)[None, :]
    total = tl.zeros((BLOCK_H, BLOCK_W), tl.int32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            at = (rows + dy)[:, None] * WIDTH + (columns + dx)[None, :]
            total += tl.load(x_ptr + at, mask=mask, other=0).to(tl.int32)
    mean = ((total + 4) // 9).to(tl.uint8)
    tl.store(y_ptr + rows[:, None] * (WIDTH - 2) + columns[None, :], mean, mask=mask)


def box_blur_bytes_arguments(H=66, W=514):
    return {
        "x_ptr": torch.randint(0, 256, (H, W), dtype=torch.uint8),
        "y_ptr": torch.empty(H - 2, W - 2, dtype=torch.uint8),
        "HEIGHT": H,
        "WIDTH": W,
    }


def box_blur_bytes_grid(meta):
    return (
        triton.cdiv(meta["H"] - 2, meta["BLOCK_H"]),
        triton.cdiv(meta["W"] - 2, meta["BLOCK_W"]),
    )


def box_blur_bytes_reference(x_ptr):
    squares = x_ptr.int().unfold(0, 3, 1).unfold(1, 3, 1).sum((2, 3))
    return {"y_ptr": ((squares + 4) // 9).to(torch.uint8)}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024, 128)], key=[])
@triton.jit
def colours_to_planes(
    image_ptr,
    planes_ptr,
    PIXELS,
    red_mean,
    green_mean,
    blue_mean,
    red_scale,
    green_scale,
    blue_scale,
    BLOCK: tl.constexpr,
):
    """Pixels of three bytes as three planes of normalised floats, as networks read them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < PIXELS
    red = tl.load(image_ptr + 3 * at, mask=mask, other=0).to(tl.float32)
    green = tl.load(image_ptr + 3 * at + 1, mask=mask, other=0).to(tl.float32)
    blue = tl.load(image_ptr + 3 * at + 2, mask=mask, other=0).to(tl.float32)
    tl.store(planes_ptr + at, (red / 255.0 - red_mean) * red_scale, mask=mask)
    tl.store(planes_ptr + PIXELS + at, (green / 255.0 - green_mean) * green_scale, mask=mask)
    tl.store(planes_ptr + 2 * PIXELS + at, (blue / 255.0 - blue_mean) * blue_scale, mask=mask)


def colours_to_planes_arguments(P=16000):
    return {
        "image_ptr": torch.randint(0, 256, (P, 3), dtype=torch.uint8),
        "planes_ptr": torch.empty(3, P),
        "PIXELS": P,
        "red_mean": 0.485,
        "green_mean": 0.456,
        "blue_mean": 0.406,
        "red_scale": 4.367,
        "green_scale": 4.464,
        "blue_scale": 4.444,
    }


def colours_to_planes_grid(meta):
    return (triton.cdiv(meta["P"], meta["BLOCK"]),)


def colours_to_planes_reference(
    image_ptr, red_mean, green_mean, blue_mean, red_scale, green_scale, blue_scale
):
    means = torch.tensor([red_mean, green_mean, blue_mean], dtype=torch.float64)
    scales = torch.tensor([red_scale, green_scale, blue_scale], dtype=torch.float64)
    return {"planes_ptr": ((image_ptr.double() / 255 - means) * scales).T.contiguous()}


@triton.autotune([triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def add_layer_norm(
    x_ptr, residual_ptr, weight_ptr, bias_ptr, sum_ptr, y_ptr, N, epsilon, BLOCK: tl.constexpr
):
    """The sum of a block's input and output, which is kept, and its layer norm."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    at = row * N + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    x += tl.load(residual_ptr + at, mask=mask, other=0.0)
    tl.store(sum_ptr + at, x, mask=mask)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / N
    inverse = 1 / tl.sqrt(variance + epsilon)
    weight = tl.load(weight_ptr + columns, mask=mask)
    bias = tl.load(bias_ptr + columns, mask=mask)
    tl.store(y_ptr + at, centred * inverse * weight + bias, mask=mask)


def add_layer_norm_arguments(M=64, N=480):
    return {
        "x_ptr": torch.randn(M, N),
        "residual_ptr": torch.randn(M, N),
        "weight_ptr": torch.randn(N),
        "bias_ptr": torch.randn(N),
        "sum_ptr": torch.empty(M, N),
        "y_ptr": torch.empty(M, N),
        "N": N,
        "epsilon": 1e-5,
    }


def add_layer_norm_grid(meta):
    return (meta["M"],)


def add_layer_norm_reference(x_ptr, residual_ptr, weight_ptr, bias_ptr, epsilon):
    total = x_ptr.double() + residual_ptr.double()
    weight, bias = weight_ptr.double(), bias_ptr.double()
    normal = torch.nn.functional.layer_norm(total, (total.shape[1],), weight, bias, epsilon)
    return {"sum_ptr": total, "y_ptr": normal}


@triton.autotune([triton.Config({"BLOCK": block}) for block in (16, 4, 64)], key=[])
@triton.jit
def nearest_centroid(
    points_ptr, centroids_ptr, nearest_ptr, K: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr
):
    """Which of K centroids is nearest to each point, by squared distance."""
    points = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    centroids = tl.arange(0, K)
    distance = tl.zeros((BLOCK, K), tl.float32)
    for d in range(D):
        point = tl.load(points_ptr + points * D + d)
        centroid = tl.load(centroids_ptr + centroids * D + d)
        difference = point[:, None] - centroid[None, :]
        distance += difference * difference
    tl.store(nearest_ptr + points, tl.argmin(distance, axis=1))


def nearest_centroid_arguments(N=512, K=32, D=16):
    return {
        "points_ptr": torch.randn(N, D),
        "centroids_ptr": torch.randn(K, D),
        "nearest_ptr": torch.empty(N, dtype=torch.int32),
        "K": K,
        "D": D,
    }


def nearest_centroid_grid(meta):
    return (meta["N"] // meta["BLOCK"],)


def nearest_centroid_reference(points_ptr, centroids_ptr):
    distances = torch.cdist(points_ptr.double(), centroids_ptr.double())
    return {"nearest_ptr": distances.argmin(1).int()}


@triton.autotune(
    [
        triton.Config({"BLOCK_H": rows, "BLOCK_W": columns})
        for rows, columns in ((4, 128), (1, 128), (8, 32))
    ],
    key=[],
)
@triton.jit
def bilinear_upsample(
    x_ptr,
    y_ptr,
    HEIGHT,
    WIDTH,
    OUT_HEIGHT,
    OUT_WIDTH,
    row_step,
    column_step,
    BLOCK_H: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """Planes at another size, with pixels' centres as corners and weights of four neighbours."""
    plane = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    columns = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    mask = (rows < OUT_HEIGHT)[:, None] & (columns < OUT_WIDTH)[None, :]
    y = tl.maximum((rows.to(tl.float32) + 0.5) * row_step - 0.5, 0.0)
    x = tl.maximum((columns.to(tl.float32) + 0.5) * column_step - 0.5, 0.0)
    above = tl.minimum(y.to(tl.int32), HEIGHT - 1)
    left = tl.minimum(x.to(tl.int32), WIDTH - 1)
    below, right = tl.minimum(above + 1, HEIGHT - 1), tl.minimum(left + 1, WIDTH - 1)
    down, across = (y - above)[:, None], (x - left)[None, :]
    source = x_ptr + plane * HEIGHT * WIDTH
    upper, lower = source + above[:, None] * WIDTH, source + below[:, None] * WIDTH
    top_left = tl.load(upper + left[None, :], mask=mask)
    top_right = tl.load(upper + right[None, :], mask=mask)
    bottom_left = tl.load(lower + left[None, :], mask=mask)
    bottom_right = tl.load(lower + right[None, :], mask=mask)
    top = top_left + (top_right - top_left) * across
    bottom = bottom_left + (bottom_right - bottom_left) * across
    target = (plane * OUT_HEIGHT + rows)[:, None] * OUT_WIDTH + columns[None, :]
    tl.store(y_ptr + target, top + (bottom - top) * down, mask=mask)


def bilinear_upsample_arguments(C=4, H=30, W=50, OUT_H=60, OUT_W=100):
    return {
        "x_ptr": torch.randn(C, H, W),
        "y_ptr": torch.empty(C, OUT_H, OUT_W),
        "HEIGHT": H,
        "WIDTH": W,
        "OUT_HEIGHT": OUT_H,
        "OUT_WIDTH": OUT_W,
        "row_step": H / OUT_H,
        "column_step": W / OUT_W,
    }


def bilinear_upsample_grid(meta):
    return (
        triton.cdiv(meta["OUT_H"], meta["BLOCK_H"]),
        triton.cdiv(meta["OUT_W"], meta["BLOCK_W"]),
        meta["C"],
    )


def bilinear_upsample_reference(x_ptr, OUT_HEIGHT, OUT_WIDTH):
    planes = x_ptr.double()[None]
    size = (OUT_HEIGHT, OUT_WIDTH)
    return {"y_ptr": torch.nn.functional.interpolate(planes, size, mode="bilinear")[0]}
