"""Kernels of a user's own file as functions of a C library, at sizes that were not tuned."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from test_c_library import LANGUAGES, STRICT, export, infos, run, write_study

from engine.c_library import own_kernel
from engine.c_library.library_winner import LibraryWinner
from engine.c_library.sources import header
from engine.c_library.variant import Function, Variant
from engine.results.exports.c import _left_out
from engine.study.identity import KERNEL_FILE
from engine.study.storage import read_studies
from foundation.config import Config
from foundation.errors import UserError
from kernels.traced import right_sizes
from triton_rvv.codegen.zig import run_zig_cc

FILE = Path(__file__).with_name("own_library.py")
PROGRAM = FILE.with_suffix(".c")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Of five kernels of one file."""
    folder = tmp_path_factory.mktemp("own")
    storage = str(folder / "study.journal")
    info = infos()[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_kernel, "_MOST_COVERED", 8)
        write_study(storage, f"{FILE}:scaled_kernel", {"N": 100}, info, BLOCK=32)
        write_study(
            storage, f"{FILE}:sums_kernel", {"M": 5, "N": 20, "STRIDE": 24}, info, "i8", BLOCK=32
        )
        write_study(storage, f"{FILE}:relu_kernel", {"M": 4, "N": 6}, info, ROWS=2)
        write_study(storage, f"{FILE}:spread_kernel", {"N": 50}, info, BLOCK=16)
        write_study(storage, f"{FILE}:chosen_kernel", {"HIDDEN": 100}, info, BLOCK=16)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert export(storage, folder) == 0
    (folder / "said").write_text(said.getvalue())
    return folder / "c"


@pytest.mark.parametrize("language", ["c", pytest.param("c++", marks=pytest.mark.long)])
def test_functions_of_own_kernels_are_right_at_any_size_or_refuse_it(library, tmp_path, language):
    link = ["-x", "none", f"-L{library / 'lib'}", "-ltuned", "-static"]
    command = [*LANGUAGES[language], *STRICT, f"-I{library / 'include'}", str(PROGRAM), *link]
    run_zig_cc([*command, "-o", str(tmp_path / "program")], timeout_s=200)
    assert run(tmp_path / "program").stdout == "0 failures\n"


def test_the_header_says_what_is_passed_and_for_which_sizes_there_is_code(library):
    header = (library / "include/tuned.h").read_text()
    for line in (
        "out = x + alpha * y.",
        "out = x * /factors[0] for small sizes, x * / * factors[1] for others.",
        "HIDDEN: a size of chosen_arguments; 0 if outputs then have no elements",
        "alpha: own_library.py passes 0.5",
        "x_ptr: as sums_arguments makes it; (M, N), rows STRIDE apart, read",
        "- N <= STRIDE and N <= 32",
        "count_ptr: as relu_call makes it; (1), read and written",
        "- ((N + 15) / 16) < 2",
        "- next_power_of_2(N) == 8 and (tuned_floor_remainder(N, next_power_of_2(N)) == 0) == 0 "
        "and (M % 2) == 0",
    ):
        assert f"* {line}" in header
    said = (library.parent / "said").read_text()
    assert "\ntuned_sums_i8: there is code where N <= STRIDE and N <= 32; wrong at M=" in said


@pytest.mark.parametrize(
    ("name", "dtype", "config", "sizes", "line"),
    [
        (
            "sums",
            "i8",
            {"BLOCK": 32},
            {"M": 5, "N": 20, "STRIDE": 24},
            r"there is code where N <= STRIDE and N <= 32; "
            r"wrong at M=\d+,N=\d+,STRIDE=\d+: y_ptr\[0\] is -?\d+ and should be -?\d+",
        ),
        (
            "behind",
            "i32",
            {"BLOCK": 16},
            {"N": 32},
            r"there is code where \(N % 16\) == 0; "
            r"out of bounds at N=(\d+): .*: a store at byte \d+ of y_ptr, which has .*",
        ),
        (
            "halved",
            "i32",
            {"BLOCK": 16},
            {"N": 32},
            r"there is code where N == 32; "
            r"reference refuses N=\d+: .* fails in halved_reference: RuntimeError: .*",
        ),
        (
            "least",
            "i32",
            {"BLOCK": 16},
            {"N": 50, "READS": 1},
            "there is code where .* and READS == 1; the file has no reference",
        ),
        ("chosen", "fp32", {"BLOCK": 16}, {"HIDDEN": 100}, r".*; own_library.py decides by .*"),
        ("scaled", "fp32", {"BLOCK": 32}, {"N": 100}, ""),
    ],
)
def test_one_line_says_why_sizes_are_limited(name, dtype, config, sizes, line):
    function = _function(name, dtype, config, sizes)
    assert re.fullmatch(line, function.kernel.limits_in_words(function.variants))


def test_integers_that_are_compiled_in_are_named():
    function = _function("least", "i32", {"BLOCK": 16}, {"N": 50, "READS": 1})
    assert "\n * most: the file passes 7, compiled in\n" in header([function])
    assert next(_left_out(function)) == "least: compiled in, as the file passes them: most=7"


def _function(name, dtype, config, sizes):
    kernel = own_kernel.OwnKernel(f"{FILE}:{name}_kernel", dtype)
    kernel.add(Config(config), sizes)
    target = infos()[0].target
    winner = LibraryWinner(name, dtype, sizes, Config(config), target, "", "", 1, True, "")
    variants = kernel.variants([Variant(target, Config(config), sizes, winner)])
    return Function(name, dtype, kernel, tuple(variants))


def test_without_a_reference_there_is_code_for_the_tuned_sizes_alone():
    config, sizes = Config({"BLOCK": 16}), {"N": 50, "READS": 1}
    kernel = own_kernel.OwnKernel(f"{FILE}:least_kernel", "i32")
    kernel.add(config, sizes)
    variant = Variant(infos()[0].target, config, sizes, None)
    assert all(kernel.conditions(variant, sizes))
    assert not all(kernel.conditions(variant, {"N": 51, "READS": 1}))


def test_a_grid_that_is_another_one_each_time_is_refused(tmp_path):
    text = FILE.read_text()
    number = "int(numpy.random.default_rng().integers(1, 10**6))"
    drawn = f"\n\ndef halved_grid(meta):\n    return ({number},)\n"
    (tmp_path / "drawn.py").write_text(f"import numpy\n{text}{drawn}")
    kernel = own_kernel.OwnKernel(f"{tmp_path / 'drawn.py'}:halved_kernel", "i32")
    with pytest.raises(UserError, match="grid gives another number of programs"):
        kernel.add(Config({"BLOCK": 16}), {"N": 32})


@pytest.mark.parametrize(
    ("reads", "sentence"),
    [
        (2, "depends on what a tensor holds, and a C function has only the sizes"),
        (3, "x_ptr is a tensor of torch.bool, which C functions have no type for"),
        (4, "x_ptr is a tensor descriptor, and a C function passes pointers"),
        (5, "ENDS is several numbers that follow from sizes"),
    ],
)
def test_what_no_c_function_can_be_given_is_refused(reads, sentence):
    kernel = own_kernel.OwnKernel(f"{FILE}:least_kernel", "i32")
    with pytest.raises(UserError, match=sentence):
        kernel.add(Config({"BLOCK": 16}), {"N": 50, "READS": reads})


def test_what_is_too_large_to_run_is_not_even_made():
    kernel = own_kernel.OwnKernel(f"{FILE}:sums_kernel", "i8")
    config, sizes = Config({"BLOCK": 32}), {"M": 5, "N": 20, "STRIDE": 24}
    kernel.add(config, sizes)
    traced = kernel._launch(config, sizes)
    assert traced.elements({"M": 1 << 21, "N": 3, "STRIDE": 1 << 10}) == (1 << 21) * (3 + 1)
    made: list[object] = []
    runner = right_sizes._Runner(made.append, lambda shape: True, traced.elements)
    assert not runner.fits({"M": 1 << 21, "N": 3, "STRIDE": 1 << 10})
    assert not made


def test_what_runs_before_a_kernel_is_refused():
    kernel = own_kernel.OwnKernel(f"{FILE}:cleared_kernel", "i32")
    with pytest.raises(UserError, match="a pre_hook runs before cleared_kernel"):
        kernel.add(Config({"BLOCK": 16}), {"N": 10})


def test_sizes_at_which_a_file_passes_other_arguments_get_no_code(monkeypatch):
    monkeypatch.setattr(own_kernel, "_MOST_COVERED", 8)
    config, sizes = Config({"BLOCK": 16}), {"N": 10}
    kernel = own_kernel.OwnKernel(f"{FILE}:parity_kernel", "fp32")
    kernel.add(config, sizes)
    winner = LibraryWinner("parity", "fp32", sizes, config, infos()[0].target, "", "", 1, True, "")
    variants = kernel.variants([Variant(winner.target, config, sizes, winner)])
    assert [variant.shape["N"] for variant in variants] == [10, 4, 16]
    assert [array.access for array in kernel.call.arrays] == ["in", "out"]


def test_a_file_that_others_may_write_to_is_not_run(tmp_path):
    storage, file = str(tmp_path / "study.journal"), tmp_path / "mine.py"
    file.write_text(FILE.read_text())
    write_study(storage, f"{file}:scaled_kernel", {"N": 100}, infos()[0], BLOCK=32)
    (study,) = read_studies(storage)
    file.write_text("raise SystemExit('it ran')")
    file.chmod(0o666)
    with pytest.raises(UserError, match="others than you may write to, so it is not run: tune"):
        export(storage, tmp_path, study.study_name)
    file.chmod(0o600)
    file.rename(tmp_path / "other.py")
    with pytest.raises(UserError, match=r"cannot be read \(No such file or directory\): tune"):
        export(storage, tmp_path, study.study_name)
    study.set_attribute(KERNEL_FILE, None)
    with pytest.raises(UserError, match="does not say in which file: tune"):
        export(storage, tmp_path, study.study_name)
