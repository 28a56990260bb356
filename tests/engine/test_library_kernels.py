"""Functions of a C library on the kernels' own test data: one archive, two vector lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from small_shapes import RAGGED
from test_c_library import LANGUAGES, STRICT, export, infos, run, write_study

from kernels.plain_calls import plain_call, plain_call_names
from kernels.registry import load_kernel, make_problem
from kernels.spec import Problem
from launchers.arguments import STORAGE_TYPES, Argument
from triton_rvv.codegen.zig import run_zig_cc

# A kernel of each sort, and each type that is not fp32 once.
SOME = {
    "matmul": ("i8",),
    "gemm_a8w8_blockscale": ("fp8e4nv",),
    "cross_entropy": ("fp16",),
    "dropout": ("bf16",),
    "resize": ("u8",),
}
C_TYPES = {
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    "u8": "uint8_t",
    "fp32": "float",
    "fp64": "double",
    **{name: f"tuned_{name}" for name in ("fp16", "bf16", "fp8e4nv", "fp8e5")},
}
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "tuned.h"

static FILE *in, *out;

static void *take(size_t bytes) {
    void *array = malloc(bytes);
    if (array == NULL || fread(array, 1, bytes, in) != bytes)
        exit(2);
    return array;
}

static void keep(const void *array, size_t bytes) {
    if (fwrite(array, 1, bytes, out) != bytes)
        exit(2);
}

static void require(int status) {
    if (status == TUNED_OK)
        return;
    fprintf(stderr, "%s\\n", tuned_message(status));
    exit(3);
}

int main(int argc, char **argv) {
    if (argc != 3 || (in = fopen(argv[1], "rb")) == NULL || (out = fopen(argv[2], "wb")) == NULL)
        return 2;
CALLS
    return fclose(out) == 0 ? 0 : 2;
}
"""


def problems(types: Mapping[str, Sequence[str]]) -> list[Problem]:
    return [
        make_problem(load_kernel(kernel), RAGGED[kernel], dtype)
        for kernel, dtypes in types.items()
        for dtype in dtypes
    ]


def arrays_of(problem: Problem) -> list[Argument]:
    """The test data of the call's arrays, in the order of the call."""
    found = {a.name: a for a in problem.arguments(problem.default_config)}
    return [found[array.argument] for array in plain_call(problem.spec.name).arrays]


def before(argument: Argument) -> np.ndarray:
    """What an array holds before the call; one that is only written, bytes that are wrong."""
    if argument.value is not None:
        return np.asarray(argument.value)
    empty = np.empty_like(argument.expected)
    empty.view(np.uint8)[...] = 0x5A
    return empty


def call_text(problem: Problem) -> str:
    """A block of C that reads a call's arrays, makes the call, and writes them all."""
    call, arrays = plain_call(problem.spec.name), arrays_of(problem)
    lines, given = [], [str(size) for size in problem.shape.values()]
    for array, argument in zip(call.arrays, arrays, strict=True):
        c_type, size = C_TYPES[argument.element_type], before(argument).nbytes
        lines.append(f"{c_type} *{array.name} = ({c_type} *)take({size});")
        given.append(array.name)
        if array.stride:
            given.append(str(before(argument).shape[-1]))
    scalars = {a.name: a.value for a in problem.arguments(problem.default_config)}
    for number in call.numbers:
        given.append(f"{scalars[number.argument]}{'f' if number.dtype == 'fp32' else ''}")
    lines.append(f"require(tuned_{problem.spec.name}_{problem.dtype}({', '.join(given)}, 2));")
    for array, argument in zip(call.arrays, arrays, strict=True):
        lines.append(f"keep({array.name}, {before(argument).nbytes});")
        lines.append(f"free({array.name});")
    return "    {\n" + "".join(f"        {line}\n" for line in lines) + "    }"


def check(tuned: Sequence[Problem], folder: Path, languages: Mapping[str, list[str]]) -> None:
    """Export a library of the kernels' defaults for both lengths; run the calls in each language.

    The studies are of shapes that blocks divide, unlike the calls.
    """
    storage = str(folder / "study.journal")
    for problem in tuned:
        shape = {name: 1 << (size - 1).bit_length() for name, size in problem.shape.items()}
        config = make_problem(problem.spec, shape, problem.dtype).default_config
        for info in infos():
            write_study(storage, problem.spec.name, shape, info, dtype=problem.dtype, **config)
    assert export(storage, folder) == 0
    source, given = folder / "program.c", folder / "given"
    source.write_text(PROGRAM.replace("CALLS", "\n".join(map(call_text, tuned))))
    given.write_bytes(b"".join(before(a).tobytes() for p in tuned for a in arrays_of(p)))
    library = folder / "c"
    for language, flags in languages.items():
        link = ["-x", "none", f"-L{library / 'lib'}", "-ltuned", "-static"]
        command = [*flags, *STRICT, f"-I{library / 'include'}", str(source), *link]
        run_zig_cc([*command, "-o", str(folder / f"program-{language}")], timeout_s=200)
        for vlen in (128, 256):
            done = run(folder / f"program-{language}", given, folder / "found", vlen=vlen)
            assert (done.returncode, done.stderr) == (0, ""), f"{language} at {vlen} bits"
            compare(tuned, (folder / "found").read_bytes())


def compare(tuned: Sequence[Problem], found: bytes) -> None:
    for problem in tuned:
        for argument in arrays_of(problem):
            start = before(argument)
            array = np.frombuffer(found[: start.nbytes], start.dtype).reshape(start.shape)
            found = found[start.nbytes :]
            if argument.expected is None:
                assert array.tobytes() == start.tobytes(), f"{problem.name}: {argument.name}"
                continue
            expected = numbers(argument.expected, argument.element_type)
            slack = 0 if argument.slack is None else argument.slack.reshape(expected.shape)
            allowed = argument.atol + slack + argument.rtol * np.abs(expected)
            error = np.abs(numbers(array, argument.element_type) - expected)
            worst = np.max(error - allowed)
            assert worst <= 0, f"{problem.name}: {argument.name} is off by {np.max(error)}"
    assert found == b""


def numbers(array: np.ndarray, dtype: str) -> np.ndarray:
    """An output's elements in fp64."""
    assert array.dtype == STORAGE_TYPES[dtype]
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


@pytest.mark.long
def test_each_sort_of_kernel_and_type_is_right(tmp_path: Path) -> None:
    check(problems(SOME), tmp_path, {"c": LANGUAGES["c"]})


@pytest.mark.long
@pytest.mark.parametrize("kernel", plain_call_names())
def test_every_type_of_every_kernel_is_right(kernel: str, tmp_path: Path) -> None:
    check(problems({kernel: load_kernel(kernel).dtypes}), tmp_path, LANGUAGES)
