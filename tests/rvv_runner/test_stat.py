"""Counting what plain programs do: static and dynamic ones, with and without marked regions."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from foundation.errors import CommandError
from rvv_runner.__main__ import main
from triton_rvv.codegen.zig import run_zig_cc

BUILD_TIMEOUT_S = 200.0
DYNAMIC = ("-target", "riscv64-linux-gnu.2.36")  # the libc of Debian 12
DEBIAN = Path("/usr/riscv64-linux-gnu")
LINKER = "lib/ld-linux-riscv64-lp64d.so.1"

# Writes its number of arguments and environment variables, adds so many numbers, ends with 6.
ADDER = """
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
int main(int argc, char **argv) {
    int variables = 0, sum = 0;
    while (environ[variables]) variables++;
    int *numbers = malloc(4000);
    for (int i = 0; i < 1000; i++) numbers[i] = i;
    for (int i = 0; i < 1000; i++) sum += numbers[i];
    printf("%s %d %d\\n", argc > 1 ? argv[1] : "-", variables, sum);
    return 6;
}
"""

# A dynamic linker that does nothing: it goes on at the program's entry, which the kernel tells it.
GO_ON = """
.globl _start
_start:
    mv t0, sp
    ld t1, 0(t0)
    addi t0, t0, 16
    slli t1, t1, 3
    add t0, t0, t1
1:  ld t1, 0(t0)
    addi t0, t0, 8
    bnez t1, 1b
2:  ld t1, 0(t0)
    ld t2, 8(t0)
    addi t0, t0, 16
    addi t1, t1, -9
    bnez t1, 2b
    jr t2
"""
EXIT_WITH_5 = ".globl begin, main\nbegin: main: li a0, 5\nli a7, 94\necall\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("programs")

    def compile_(source: str, *flags: str, suffix: str = ".c") -> Path:
        count = len(list(folder.iterdir()))
        program = folder / f"program{count}"
        program.with_suffix(suffix).write_text(source)
        given = [*flags, "-O1", str(program.with_suffix(suffix)), "-o", str(program)]
        run_zig_cc(given, timeout_s=BUILD_TIMEOUT_S)
        return program

    return compile_


@pytest.fixture(scope="module")
def adder(compiled: Callable[..., Path]) -> Path:
    return compiled(ADDER, "-static")


def _counts(text: str) -> dict[str, float]:
    return {
        name: float(value.replace(",", "")) for value, name in re.findall(r"([\d,.]+)  (\w+)", text)
    }


def test_a_static_program_runs_as_it_is_and_is_counted(adder, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["stat", "--", str(adder), "word"]) == 6
    first = capfd.readouterr()
    assert first.out == "word 0 499500\n"
    counts = _counts(first.err)
    assert "the whole program" in first.err
    assert 4000 < counts["instructions"] < 60_000
    assert counts["scalar_loads"] + counts["scalar_stores"] >= 2000
    assert counts["u_mode_cycle"] > counts["instructions"] / 2
    assert re.search(r"u_mode_cycle +\(estimated, ±\d+%\)", first.err)
    assert not re.search(r"instructions +\(estimated", first.err)
    assert counts["s"] == pytest.approx(counts["u_mode_cycle"] / 1.6e9, rel=1e-3)
    for number in range(3):
        monkeypatch.setenv("LONG", "x" * 1000 * number)
        main(["stat", "--", str(adder), "word"])
        assert capfd.readouterr().err == first.err


def test_what_a_program_marks_is_counted_alone(compiled, capfd):
    marks = '__asm__ volatile("slti x0, x0, 0x5a1\\nnop\\nnop\\nnop\\nslti x0, x0, 0x5a2")'
    program = compiled(ADDER.replace("return 6", f"{marks}; {marks}; return 0"), "-static")
    assert main(["stat", "--", str(program)]) == 0
    text = capfd.readouterr().err
    assert "region 1" in text
    assert "region 2" in text
    assert re.findall(r"(\d+)  instructions", text) == ["3", "3"]


def test_a_program_that_a_signal_ends_has_its_status_and_says_for_what_code_is(compiled, capfd):
    program = compiled("int main(void) { __builtin_trap(); }", "-static")
    status = main(["stat", "--", str(program)])
    assert status == 128 + signal.SIGILL
    text = capfd.readouterr().err
    assert "nothing was counted, since the program ended with SIGILL before it could exit" in text
    assert "compiled for rv64gcv_zba_zbb_zbs_zfh_zvfh_zicbop and no other extensions; it" in text
    assert "without Zicond in every QEMU" in text


def test_the_counts_are_of_the_program_and_not_of_its_children(compiled, capfd):
    source = (
        "#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { if (fork()) wait(0); else "
    )
    program = compiled(source + "for (volatile int i = 0; i < 100000;) i++; return 0; }", "-static")
    assert main(["stat", "--", str(program)]) == 0
    assert 0 < _counts(capfd.readouterr().err)["instructions"] < 100_000


def test_a_dynamic_program_finds_its_linker_in_the_sysroot(compiled, capfd, tmp_path, monkeypatch):
    linker = compiled(GO_ON, "-nostdlib", "-shared", "-Wl,--entry=_start", suffix=".S")
    (tmp_path / "lib").mkdir()
    (tmp_path / LINKER).write_bytes(linker.read_bytes())
    program = compiled(EXIT_WITH_5, *DYNAMIC, "-Wl,--entry=begin", suffix=".S")
    monkeypatch.setenv("QEMU_LD_PREFIX", str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match=f"is dynamic, and .*nowhere has no /{LINKER}"):
        main(["stat", "--", str(program)])
    monkeypatch.setenv("QEMU_LD_PREFIX", str(tmp_path))
    assert main(["stat", "--", str(program)]) == 5
    assert 3 < _counts(capfd.readouterr().err)["instructions"] < 500


@pytest.mark.skipif(not (DEBIAN / LINKER).exists(), reason="needs Debian's libc6-riscv64-cross")
def test_a_dynamic_program_of_debian(tmp_path, capfd):
    source, program = tmp_path / "adder.c", tmp_path / "adder"
    source.write_text(ADDER)
    run_zig_cc([*DYNAMIC, str(source), "-o", str(program)], timeout_s=BUILD_TIMEOUT_S)
    assert main(["stat", "--", str(program), "word"]) == 6
    assert capfd.readouterr().out == "word 0 499500\n"


def test_mistakes_are_one_sentence(adder, compiled, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    whole_object = compiled(EXIT_WITH_5, "-c", suffix=".S")
    for words, message in (
        ([], "ELF is missing: see"),
        (["/nowhere/program"], "there is no program /nowhere/program"),
        ([str(tmp_path)], "is a folder"),
        (["/bin/sh"], "is for 64-bit .*: compile it for riscv64"),
        ([str(script)], "is not an executable for riscv64"),
        ([str(whole_object)], "is not an executable: link it"),
    ):
        with pytest.raises(CommandError, match=message):
            main(["stat", "--", *words])
    with pytest.raises(CommandError, match="which host is not"):
        main(["stat", "--device", "host", "--", str(adder)])
