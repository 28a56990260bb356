"""Kernels that take columns or rows out of a block they hold, by comparisons with places.

All are as users write them: Triton has no indices into blocks. `random.Random(20270111)` drew
three of the six to hold out, before any was compiled.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"TILE": t}) for t in (32,)], key=[])
@triton.jit
def floyd_warshall_tiles(distance_ptr, N, TILE: tl.constexpr):
    """Shortest paths between all nodes of small graphs, of which each is a tile."""
    i, j = tl.arange(0, TILE)[:, None], tl.arange(0, TILE)[None, :]
    at = distance_ptr + tl.program_id(0) * N * N + i * N + j
    inside = (i < N) & (j < N)
    distance = tl.load(at, mask=inside, other=float("inf"))
    for k in range(N):
        to = tl.min(tl.where(j == k, distance, float("inf")), axis=1)
        onwards = tl.min(tl.where(i == k, distance, float("inf")), axis=0)
        distance = tl.minimum(distance, to[:, None] + onwards[None, :])
    tl.store(at, distance, mask=inside)


def floyd_warshall_tiles_arguments(GRAPHS=12, N=30):
    weights = 1 + 9 * torch.rand(GRAPHS, N, N)
    weights[torch.rand(GRAPHS, N, N) < 0.8] = float("inf")
    weights.diagonal(dim1=1, dim2=2).zero_()
    return {"distance_ptr": weights, "N": N}


floyd_warshall_tiles_kept_inputs = ["distance_ptr"]


def floyd_warshall_tiles_grid(meta):
    return (meta["GRAPHS"],)


def floyd_warshall_tiles_reference(distance_ptr, N):
    distance = distance_ptr
    for k in range(N):
        distance = torch.minimum(distance, distance[:, :, k, None] + distance[:, None, k])
    return {"distance_ptr": distance}


@triton.autotune([triton.Config({"TILE": t}) for t in (32,)], key=[])
@triton.jit
def cholesky_of_covariances(a_ptr, l_ptr, N, TILE: tl.constexpr):
    """Lower factors of covariance matrices, column by column, by updates of what is left."""
    i, j = tl.arange(0, TILE), tl.arange(0, TILE)
    at = tl.program_id(0) * N * N + i[:, None] * N + j[None, :]
    inside = (i < N)[:, None] & (j < N)[None, :]
    left = tl.load(a_ptr + at, mask=inside, other=0.0)
    lower = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(N):
        column = tl.sum(tl.where(j[None, :] == k, left, 0.0), axis=1)
        pivot = tl.sqrt(tl.sum(tl.where(i == k, column, 0.0), axis=0))
        column = tl.where(i >= k, column / pivot, 0.0)
        lower = tl.where(j[None, :] == k, column[:, None], lower)
        left -= column[:, None] * column[None, :]
    tl.store(l_ptr + at, lower, mask=inside)


def cholesky_of_covariances_arguments(MATRICES=12, N=28):
    x = torch.randn(MATRICES, 3 * N, N)
    return {
        "a_ptr": (x.transpose(1, 2) @ x) / (3 * N),
        "l_ptr": torch.empty(MATRICES, N, N),
        "N": N,
    }


cholesky_of_covariances_kept_inputs = ["a_ptr"]


def cholesky_of_covariances_grid(meta):
    return (meta["MATRICES"],)


def cholesky_of_covariances_reference(a_ptr):
    return {"l_ptr": torch.linalg.cholesky(a_ptr)}


@triton.autotune([triton.Config({"ROWS": r, "COLUMNS": 2 * r}) for r in (16,)], key=[])
@triton.jit
def gauss_jordan_circuits(a_ptr, b_ptr, x_ptr, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Voltages of small circuits: each program eliminates one system of nodal equations."""
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    circuit = tl.program_id(0)
    inside = (row < N)[:, None] & (column < N)[None, :]
    system = tl.load(
        a_ptr + circuit * N * N + row[:, None] * N + column[None, :], mask=inside, other=0.0
    )
    right = tl.load(b_ptr + circuit * N + row, mask=row < N, other=0.0)
    system = tl.where(column[None, :] == N, right[:, None], system)
    for k in range(N):
        pivot_row = tl.sum(tl.where(row[:, None] == k, system, 0.0), axis=0)
        pivot = tl.sum(tl.where(column == k, pivot_row, 0.0), axis=0)
        pivot_row = pivot_row / pivot
        factor = tl.sum(tl.where(column[None, :] == k, system, 0.0), axis=1)
        rest = system - factor[:, None] * pivot_row[None, :]
        system = tl.where(row[:, None] == k, pivot_row[None, :], rest)
    solution = tl.sum(tl.where(column[None, :] == N, system, 0.0), axis=1)
    tl.store(x_ptr + circuit * N + row, solution, mask=row < N)


def gauss_jordan_circuits_arguments(CIRCUITS=40, N=14):
    conductance = torch.rand(CIRCUITS, N, N)
    conductance = -(conductance + conductance.transpose(1, 2)) / 2
    diagonal = 0.5 + torch.rand(CIRCUITS, N) - conductance.sum(dim=2)
    return {
        "a_ptr": conductance + torch.diag_embed(diagonal),
        "b_ptr": torch.randn(CIRCUITS, N),
        "x_ptr": torch.empty(CIRCUITS, N),
        "N": N,
    }


gauss_jordan_circuits_kept_inputs = ["a_ptr"]


def gauss_jordan_circuits_grid(meta):
    return (meta["CIRCUITS"],)


def gauss_jordan_circuits_reference(a_ptr, b_ptr):
    return {"x_ptr": torch.linalg.solve(a_ptr, b_ptr)}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (256,)], key=[])
@triton.jit
def calibration_curves(x_ptr, y_ptr, out_ptr, N, TERMS: tl.constexpr, BLOCK: tl.constexpr):
    """Fits a polynomial to each instrument's points, by Householder's reflections of its powers."""
    row, term = tl.arange(0, BLOCK), tl.arange(0, TERMS)
    first = tl.program_id(0) * N
    x = tl.load(x_ptr + first + row, mask=row < N, other=0.0)
    y = tl.load(y_ptr + first + row, mask=row < N, other=0.0)
    powers = tl.where(row < N, 1.0, 0.0)
    design = tl.zeros((BLOCK, TERMS), dtype=tl.float32)
    for k in tl.static_range(TERMS):
        design = tl.where(term[None, :] == k, powers[:, None], design)
        powers *= x
    for k in tl.static_range(TERMS):
        column = tl.sum(tl.where(term[None, :] == k, design, 0.0), axis=1)
        head = tl.sum(tl.where(row == k, column, 0.0), axis=0)
        tail = tl.where(row >= k, column, 0.0)
        norm = tl.sqrt(tl.sum(tail * tail, axis=0))
        tail += tl.where(row == k, tl.where(head < 0, -norm, norm), 0.0)
        twice = 2.0 / tl.sum(tail * tail, axis=0)
        design -= tail[:, None] * (twice * tl.sum(tail[:, None] * design, axis=0))[None, :]
        y -= tail * (twice * tl.sum(tail * y, axis=0))
    solved = tl.zeros((TERMS,), dtype=tl.float32)
    for back in tl.static_range(TERMS):
        k = TERMS - 1 - back
        of_row = tl.sum(tl.where(row[:, None] == k, design, 0.0), axis=0)
        known = tl.sum(of_row * solved, axis=0)
        pivot = tl.sum(tl.where(term == k, of_row, 0.0), axis=0)
        right = tl.sum(tl.where(row == k, y, 0.0), axis=0)
        solved = tl.where(term == k, (right - known) / pivot, solved)
    tl.store(out_ptr + tl.program_id(0) * TERMS + term, solved)


def calibration_curves_arguments(INSTRUMENTS=24, N=200, TERMS=4):
    x = 2 * torch.rand(INSTRUMENTS, N) - 1
    shape = torch.randn(INSTRUMENTS, TERMS)
    y = sum(shape[:, k, None] * x**k for k in range(TERMS)) + 0.1 * torch.randn(INSTRUMENTS, N)
    return {
        "x_ptr": x,
        "y_ptr": y,
        "out_ptr": torch.empty(INSTRUMENTS, TERMS),
        "N": N,
        "TERMS": TERMS,
    }


calibration_curves_kept_inputs = ["x_ptr"]


def calibration_curves_grid(meta):
    return (meta["INSTRUMENTS"],)


def calibration_curves_reference(x_ptr, y_ptr, TERMS):
    design = torch.stack([x_ptr**k for k in range(TERMS)], dim=2)
    return {"out_ptr": torch.linalg.lstsq(design, y_ptr[:, :, None]).solution[:, :, 0]}


@triton.autotune([triton.Config({"BLOCK": b}) for b in (128, 32, 64)], key=[])
@triton.jit
def bone_poses(local_ptr, parent_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Poses of bones in a scene, as rows of three axes and a place: parent times local."""
    bone, part = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 4)
    inside = (bone < N)[:, None]
    for line in tl.static_range(3):
        parent_at = parent_ptr + bone[:, None] * 12 + line * 4 + part[None, :]
        parent = tl.load(parent_at, mask=inside, other=0.0)
        sums = tl.where(part[None, :] == 3, parent, 0.0)
        for k in tl.static_range(3):
            factor = tl.sum(tl.where(part[None, :] == k, parent, 0.0), axis=1)
            local_at = local_ptr + bone[:, None] * 12 + k * 4 + part[None, :]
            sums += factor[:, None] * tl.load(local_at, mask=inside, other=0.0)
        tl.store(out_ptr + bone[:, None] * 12 + line * 4 + part[None, :], sums, mask=inside)


def bone_poses_arguments(N=2000):
    return {
        "local_ptr": torch.randn(N, 3, 4),
        "parent_ptr": torch.randn(N, 3, 4),
        "out_ptr": torch.empty(N, 3, 4),
        "N": N,
    }


def bone_poses_grid(meta):
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def bone_poses_reference(local_ptr, parent_ptr):
    out = parent_ptr[:, :, :3] @ local_ptr
    out[:, :, 3] += parent_ptr[:, :, 3]
    return {"out_ptr": out}


@triton.autotune([triton.Config({"ORDER": 16})], key=[])
@triton.jit
def speech_predictors(r_ptr, out_ptr, P, ORDER: tl.constexpr):
    """Linear predictors of frames of speech from autocorrelations, by Levinson and Durbin."""
    i = tl.arange(0, ORDER)
    frame = r_ptr + tl.program_id(0) * (P + 1)
    r = tl.load(frame + 1 + i, mask=i < P, other=0.0)
    error = tl.load(frame)
    a = tl.zeros((ORDER,), dtype=tl.float32)
    for k in range(P):
        is_turned = i[:, None] + i[None, :] == k - 1
        turned = tl.sum(tl.where(is_turned, a[None, :], 0.0), axis=1)
        r_turned = tl.sum(tl.where(is_turned, r[None, :], 0.0), axis=1)
        next_r = tl.sum(tl.where(i == k, r, 0.0), axis=0)
        reflection = (next_r - tl.sum(a * r_turned, axis=0)) / error
        a = tl.where(i == k, reflection, a - reflection * turned)
        error *= 1.0 - reflection * reflection
    tl.store(out_ptr + tl.program_id(0) * P + i, a, mask=i < P)


def speech_predictors_arguments(FRAMES=100, P=12):
    x = torch.randn(FRAMES, 400)
    x[:, 1:] += 0.8 * x[:, :-1]
    r = torch.stack([(x[:, lag:] * x[:, : 400 - lag]).sum(dim=1) for lag in range(P + 1)], dim=1)
    return {"r_ptr": r, "out_ptr": torch.empty(FRAMES, P), "P": P}


speech_predictors_kept_inputs = ["r_ptr"]


def speech_predictors_grid(meta):
    return (meta["FRAMES"],)


def speech_predictors_reference(r_ptr, P):
    lag = (torch.arange(P)[:, None] - torch.arange(P)[None, :]).abs()
    return {"out_ptr": torch.linalg.solve(r_ptr[:, lag], r_ptr[:, 1:])}
