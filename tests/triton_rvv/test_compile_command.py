"""python -m triton_rvv compile: the files it writes, and a sentence for each mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from triton_rvv.__main__ import main

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def half(x):
    return x / 2


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr, TYPE: tl.constexpr = tl.float32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * stride, mask=at < n)  # the load
    y = tl.exp(x.to(TYPE))
    tl.store(out_ptr + at, half(y), mask=at < n)  # the store


@triton.jit
def odd_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)
"""
SIGNATURE = "*fp32, *fp32, i32"
CONSTANTS = "BLOCK=64, stride=1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_kernels.py"
    path.write_text(SOURCE)
    return path


def arguments(file: Path, kernel: str = "scale_kernel", **changes: str) -> list[str]:
    options = {"signature": SIGNATURE, "constants": CONSTANTS, "out": str(file.parent / "out")}
    words = [word for name, value in (options | changes).items() for word in (f"--{name}", value)]
    return ["compile", str(file), kernel, *words]


@pytest.mark.parametrize(
    ("target", "load", "machine"), [("rvv512", "vle32.v", 243), ("host", None, None)]
)
def test_the_files_of_a_kernel(file, capsys, target, load, machine):
    assert main(arguments(file, target=target)) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.suffix for path in paths] == [".ttir", ".llir", ".s", ".o"]
    assert {path.stem for path in paths} == {"scale_kernel"}
    assert all(path.parent == file.parent / "out" for path in paths)
    ttir, llir, assembly = (path.read_text() for path in paths[:3])
    assert "tt.load" in ttir
    assert "define void @triton_rvv_kernel" in llir
    content = paths[3].read_bytes()
    assert content.startswith(b"\x7fELF")
    assert machine is None or content[18] == machine  # e_machine
    assert load is None or load in after(assembly, "x = tl.load(")
    assert ".loc" not in assembly


def after(assembly: str, line: str) -> str:
    """What stands behind comments with this line, each up to the next comment."""
    return "".join(re.findall(rf"# my_kernels.py:\d+: {re.escape(line)}[^\n]*\n([^#]*)", assembly))


def test_every_line_stands_by_its_code(file, capsys):
    """Recipes are written down where they are used, and keep the line they came from."""
    assert main(arguments(file)) == 0
    capsys.readouterr()
    assembly = (file.parent / "out" / "scale_kernel.s").read_text()
    assert "vse32.v" in after(assembly, "tl.store(")
    assert "vle32.v" in after(assembly, "x = tl.load(")
    exp = after(assembly, "y = tl.exp(")
    assert "vfmadd" in exp or "vfmacc" in exp
    numbers = {int(number) for number in re.findall(r"my_kernels.py:(\d+): ", assembly)}
    lines = SOURCE.splitlines()
    shown = {lines[number - 1].partition("  # ")[2] for number in numbers}
    assert {"the load", "the store"} <= shown


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"kernel": "scale_kernle"},
            "has no kernel scale_kernle: did you mean scale_kernel or odd_",
        ),
        ({"signature": "*fp32,i32"}, "has 2 types and the kernel takes 3 arguments (x_ptr, out_"),
        ({"signature": "*fp32,*fp31,i32"}, "there is no type *fp31: did you mean *fp32"),
        ({"constants": "stride=1"}, "--constants lacks a value for BLOCK: write NAME=VALUE"),
        ({"constants": "BLOCK"}, "the constant BLOCK has no value: write it as NAME=VALUE"),
        ({"constants": "BLOK=4"}, "the kernel has no argument BLOK: did you mean BLOCK?"),
        ({"constants": "BLOCK=4,TYPE=tl.flot"}, "the value tl.flot of TYPE cannot be read"),
        ({"constants": "BLOCK=four"}, "the value four of BLOCK cannot be read"),
        ({"target": "rvv200"}, "there is no target rvv200: choose one of rvv128, rvv256"),
        ({"target": "x600"}, "there is no target x600: choose one of rvv128, "),
        ({"target": "rva23:200"}, "rva23:200 names no vector length: write one of 128, 256"),
        ({"target": "rva23:"}, "rva23: names no vector length: write one of 128, 256"),
        ({"out": "/proc/nowhere"}, "/proc/nowhere cannot be written to"),
        ({"speed": "high"}, "unrecognized arguments: --speed high"),
    ],
)
def test_a_mistake_is_one_sentence(file, capsys, changes, sentence):
    assert main(arguments(file, **changes)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert sentence in captured.err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no file"),
        ("import nothing_like_it", "cannot be imported (ModuleNotFoundError: No module named"),
        ("x = 1", "has no kernel scale_kernel: it has none at all"),
    ],
)
def test_a_file_without_the_kernel(tmp_path, capsys, content, sentence):
    file = tmp_path / "other.py"
    if content is not None:
        file.write_text(content)
    assert main(arguments(file)) == 2
    assert sentence in capsys.readouterr().err


def test_a_kernel_that_does_not_compile_names_its_line(file, capsys):
    odd = arguments(file, "odd_kernel", signature="*fp32", constants="BLOCK=3")
    assert main(odd) == 1
    error = capsys.readouterr().err
    assert re.search(r"my_kernels.py:\d+: .*power of 2", error)
    assert error.count("\n") == 1


def test_help_needs_no_compiler():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "triton_rvv", "compile", "--help"],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert "--signature TYPES" in done.stdout
    assert "llvmlite" not in done.stderr
    assert "triton.compiler" not in done.stderr


def test_the_ir_after_a_pass(file, capsys):
    assert main([*arguments(file), "--print-after", "parse", "--print-after", "group-stores"]) == 0
    out = capsys.readouterr().out
    first, second = re.findall(r"^// after ([\w-]+)", out, re.MULTILINE)
    assert (first, second) == ("parse", "group-stores")
    assert out.count('"tt.load"') == 2
    before = out[: out.index("// after group-stores")]
    assert "triton_rvv." not in before
    assert 'triton_rvv.schedule = "by-estimate"' in out
    assert "// my_kernels.py:16" in out


def test_what_passes_change(file, capsys):
    assert main([*arguments(file), "--print-changed"]) == 0
    out = capsys.readouterr().out
    assert "// after choose-schedule, 1 place. Leaves the order" in out
    assert "// after infer-access, 2 places." in out
    passes, _, code = out.partition("// after write-code, 2 places.")
    assert passes.count("\n+") == passes.count("\n-") == 3
    assert 'kind = "contiguous"' in passes.partition("// after infer-access")[2]
    assert code.count("\n+") == code.count("\n-") == code.count("triton_rvv.code = {") == 2


def test_a_pass_that_is_left_out(file, capsys):
    assert main([*arguments(file), "--print-changed", "--skip-pass", "choose-schedule"]) == 0
    assert "choose-schedule" not in capsys.readouterr().out
    assert "scheduled-by-llvm" not in (file.parent / "out/scale_kernel.llir").read_text()


def test_a_pass_that_is_not_there(file, capsys):
    assert main([*arguments(file), "--print-after", "hoist-mask"]) == 2
    said = capsys.readouterr().err
    assert said == "triton_rvv: there is no pass hoist-mask: did you mean hoist-masks?\n"


def test_how_code_was_written(file, capsys):
    assert main([*arguments(file), "--print-after", "write-code"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("// after write-code, 2 places.")
    assert 'rules = "count-lanes; lengthen-tails"' in out
    skipped = ["--skip-pass", "lengthen-tails"]
    assert main([*arguments(file), "--print-after", "write-code", *skipped]) == 0
    assert "lengthen-tails" not in capsys.readouterr().out


def test_a_rule_that_is_not_there(file, capsys):
    assert main([*arguments(file), "--skip-pass", "count-lane"]) == 2
    assert "there is no pass count-lane: did you mean count-lanes or" in capsys.readouterr().err
    assert main([*arguments(file), "--print-after", "count-lanes"]) == 2
    assert "there is no pass count-lanes" in capsys.readouterr().err
