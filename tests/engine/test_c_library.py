"""One archive for two vector lengths, linked to C and C++ programs that run in QEMU."""

from __future__ import annotations

import dataclasses
import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from pairs import in_turn

from engine.export import main
from engine.run.identity import identity_of
from engine.search import Search
from engine.study.storage import open_study, read_studies
from foundation.c_expressions import Expression, c_text
from foundation.config import Config
from foundation.errors import UserError
from kernels.registry import load_kernel, make_problem
from kernels.spec import KernelSpec
from rvv_runner.board_file import user_board_folder
from rvv_runner.devices import known_board, load_board
from search_spaces.space import SearchSpace
from triton_rvv.codegen.zig import run_zig_cc, zig_program, zig_target_flags
from triton_rvv.runtime.qemu import cpu_option, find_qemu
from triton_rvv.targets.cores import DEFAULT_EXTENSIONS
from triton_rvv.targets.target import RVVTarget

PROGRAM = Path(__file__).with_name("library_program.c")
LANGUAGES = {"c": ["-x", "c", "-std=c99"], "c++": ["-x", "c++", "-std=c++11"]}
STRICT = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Zig builds another C library for each way from its working directory to its own files.
ZIG_IN_ITS_FOLDER = """\
#!/bin/sh
from=$PWD
for word do
    shift
    case $word in [!-/]*) word=$from/$word ;; esac
    set -- "$@" "$word"
done
cd '{folder}' && exec {zig} "$@"
"""


def write_study(storage, kernel, shape, info, dtype=None, **config):
    """A study of one correct trial, stored as a run stores it."""
    problem = make_problem(load_kernel(kernel), shape, dtype)
    space = problem.space(info)
    search = Search(
        space, "random", trials=open_study(storage, identity_of(problem, info, "random"), space)
    )
    while search.ask() != Config(config):
        pass
    search.tell(Config(config), 1e-3, attributes={"board": info.name, "estimated": True})


def export(storage, out, *names):
    arguments = [*names, "--storage", storage, "--out", str(out), "--format", "c"]
    return main(arguments)


def infos():
    """Of a board with vectors of 256 bits, and of one with 128."""
    return load_board("emulated:x60").info, known_board("k230").info("k230")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    storage = str(folder / "study.journal")
    for info in infos():
        shape = {"M": 64, "N": 128}
        write_study(storage, "softmax", shape, info, BLOCK_SIZE_M=4, BLOCK_SIZE_N=128)
    # At 128 bits, the library has the winner of 256.
    write_study(
        storage,
        "matmul",
        {"M": 64, "N": 64, "K": 64},
        infos()[0],
        BLOCK_SIZE_M=16,
        BLOCK_SIZE_N=32,
        BLOCK_SIZE_K=16,
        GROUP_SIZE_M=1,
    )
    assert export(storage, folder) == 0
    return folder / "c"


@pytest.fixture(scope="module")
def programs(library, tmp_path_factory):
    """The program in both languages, linked with the archive."""
    folder = tmp_path_factory.mktemp("programs")
    for language, flags in LANGUAGES.items():
        link = ["-x", "none", f"-L{library / 'lib'}", "-ltuned", "-static"]
        command = [*flags, *STRICT, f"-I{library / 'include'}", str(PROGRAM), *link]
        run_zig_cc([*command, "-o", str(folder / language)], timeout_s=200)
    return folder


def run(program, *arguments, vlen=256, v="true", zbb="true", **environment):
    qemu = find_qemu()
    # Zvfh brings vectors along where a core would have none.
    extensions = [name for name in DEFAULT_EXTENSIONS if v == "true" or name != "+zvfh"]
    target = RVVTarget(vlen_bits=vlen, extensions=tuple(extensions))
    cpu = f"{cpu_option(qemu, target)},v={v},zbb={zbb}"
    return subprocess.run(
        [str(qemu), "-cpu", cpu, str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )


def saved(path):
    """Names and arrays that the program wrote, in order."""
    data, found = path.read_bytes(), []
    while data:
        name = data[:16].rstrip(b"\0").decode()
        rows, columns = np.frombuffer(data[16:32], np.int64)
        size = 32 + 4 * rows * columns
        found.append((name, np.frombuffer(data[32:size], np.float32).reshape(rows, columns)))
        data = data[size:]
    return found


@pytest.mark.parametrize(("language", "vlen"), in_turn([*LANGUAGES], [128, 256]))
def test_results_are_right_at_ragged_sizes(programs, tmp_path, language, vlen):
    done = run(programs / language, tmp_path / "saved", vlen=vlen)
    assert (done.returncode, done.stderr) == (0, "")
    calls = iter(saved(tmp_path / "saved"))
    products, rows = 0, 0
    for name, first in calls:
        if name == "matmul a":
            b, c = next(calls)[1], next(calls)[1]
            n, k = sizes(first, b, c)
            expected = first[:, :k].astype(np.float64) @ b[:, :n].astype(np.float64)
            np.testing.assert_allclose(c[:, :n], expected, rtol=1e-5, atol=1e-5)
            assert np.all(c[:, n:] == -77)
            products += 1
        else:
            y = next(calls)[1]
            n = 2 * first.shape[1] - y.shape[1]
            exact = np.exp(first[:, :n].astype(np.float64))
            np.testing.assert_allclose(
                y[:, :n], exact / exact.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-8
            )
            assert np.all(y[:, n:] == -77)
            rows += 1
    assert (products, rows) == (8, 8)


def sizes(a, b, c):
    """N and K, from strides that are 1, 2 and 3 paddings longer than the columns."""
    pad = c.shape[1] - b.shape[1]
    return b.shape[1] - 2 * pad, a.shape[1] - pad


def test_mistakes_are_named_and_nothing_crashes(programs):
    done = run(programs / "c")
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    right = {name for name, sentence in told.items() if sentence == "no error"}
    assert right == {"machine", "right", "empty null", "empty wide", "behind", "beside"}
    assert told["negative"].startswith("a size is negative")
    assert told["narrow"] == "a stride is less than the columns of its array"
    assert told["null"] == "an array that has elements is NULL"
    too_large = {name for name, sentence in told.items() if "2147483647" in sentence}
    assert too_large == {"long", "far"}
    assert told["wide"].startswith("the library has no code for these sizes")
    shared = {name for name, sentence in told.items() if "shares elements" in sentence}
    assert shared == {"same", "partly", "not quite beside", "around the edge"}


@pytest.mark.parametrize(
    ("cpu", "sentence"),
    [
        (
            {"vlen": 512},
            "this machine's vector registers have 512 bits, and the library's code is for 128 or "
            "256 bits",
        ),
        ({"v": "false"}, "this machine has no vector unit, and the library's code is for 128 or "),
        ({"zbb": "false"}, "this machine lacks the extension zbb, which the library's code uses"),
    ],
)
def test_another_machine_gets_a_sentence(programs, tmp_path, cpu, sentence):
    done = run(programs / "c", tmp_path / "saved", **cpu)
    assert done.returncode == 3  # the program's own
    at_load, at_call = done.stderr.splitlines()
    assert at_load.startswith(sentence)
    assert at_call == at_load


def test_the_environment_sets_the_number_of_threads(programs):
    """More than any machine has; a program with too little memory for a thread has to go on."""
    for count in ("5000", "-3", "two"):
        done = run(programs / "c", TUNED_THREADS=count)
        assert "right: no error" in done.stdout
        assert done.returncode == 0


def test_a_program_says_where_its_kernels_are_from(programs):
    done = subprocess.run(
        ["readelf", "-p", ".tuned.provenance", str(programs / "c")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tuned at M=64,N=128: 1 ms (estimated) on emulated:x60" in done.stdout
    # The digest is that of the C908's caches and latencies.
    derived = (
        "matmul fp32, generic-rv64-vlen128-[0-9a-f]{8}: "
        "BLOCK_SIZE_M=16,BLOCK_SIZE_N=32,BLOCK_SIZE_K=16,GROUP_SIZE_M=1; not measured"
    )
    assert re.search(derived, done.stdout)
    assert "study softmax-M64-N128-fp32-c908-random-" in done.stdout


def test_build_systems_find_it(library, tmp_path):
    for tool in ("cmake", "pkg-config"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    asked = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "tuned"],
        env={"PKG_CONFIG_PATH": str(library / "lib" / "pkgconfig"), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    folders = [Path(word[2:]).resolve() for word in asked if word[:2] in ("-I", "-L")]
    assert folders == [library / "include", library / "lib"]
    assert asked[-2:] == ["-ltuned", "-pthread"]
    project = tmp_path / "CMakeLists.txt"
    project.write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(program C)\n"
        f"add_subdirectory({library} tuned)\nadd_executable(program {PROGRAM})\n"
        "target_link_libraries(program PRIVATE tuned::tuned)\n"
    )
    compiler = tmp_path / "cc"
    zig = shlex.join(["./zig", "cc", *zig_target_flags("rvv"), "-static"])
    compiler.write_text(ZIG_IN_ITS_FOLDER.format(folder=zig_program().parent, zig=zig))
    compiler.chmod(0o755)
    build = tmp_path / "build"
    settings = [f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_SYSTEM_NAME=Linux"]
    # The compiler is not to be looked into, which takes dozens of links.
    settings += ["-DCMAKE_C_COMPILER_ID_RUN=1", "-DCMAKE_C_COMPILER_FORCED=1"]
    for command in (["cmake", "-S", tmp_path, "-B", build, *settings], ["cmake", "--build", build]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "right: no error" in run(build / "program").stdout


def test_the_same_studies_give_the_same_bytes(tmp_path, capsys):
    """The library is for one vector length, which its header names; a line tells of each step."""
    storage = str(tmp_path / "study.journal")
    for size, block in ((4096, 1024), (64, 64)):
        write_study(storage, "vector_add", {"N": size}, infos()[0], BLOCK_SIZE=block)
    for out in ("one", "two"):
        assert export(storage, tmp_path / out) == 0
    files = [sorted((tmp_path / out).rglob("*.*")) for out in ("one", "two")]
    assert len(files[0]) == 4
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    assert "Vector lengths: 256 bits." in (tmp_path / "one/c/include/tuned.h").read_text()
    steps = ["compiling tuned_vector_add_fp32, variants: 4", "compiling the library around them"]
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"stage={step}" for step in ("writing c", *steps)] * 2
    link = printed.out.splitlines()[1].removeprefix("to link: ")
    program = tmp_path / "PROGRAM.c"
    program.write_text('#include "tuned.h"\nint main(void) { return tuned_message(0) == 0; }\n')
    command = link.replace("PROGRAM", str(tmp_path / "PROGRAM"))
    # From anywhere else, zig would first build another C library.
    python, *words = shlex.split(command)
    folder = Path(find_spec("ziglang").origin).parent
    subprocess.run([Path(python).absolute(), *words], check=True, timeout=200, cwd=folder)
    assert (tmp_path / "PROGRAM").read_bytes().startswith(b"\x7fELF")


def stored_name(storage):
    """The name of the only study."""
    (study,) = read_studies(storage)
    return study.study_name


def test_a_study_of_another_device_is_refused_whatever_board_files_there_are(tmp_path, monkeypatch):
    storage = str(tmp_path / "study.journal")
    x60, _ = infos()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user_board_folder().mkdir(parents=True)
    # A model, as `check --full` and `calibrate` make it, and a file with a mistake.
    (user_board_folder() / "checked.toml").write_text('kind = "x60"\n')
    (user_board_folder() / "wrong.toml").write_text('kind = "x61"\n')
    assert export(storage, tmp_path) == 1  # there is no study
    gone = dataclasses.replace(x60, name="emulated:gone")
    write_study(storage, "vector_add", {"N": 64}, gone, BLOCK_SIZE=64)
    with pytest.raises(UserError, match="emulated:gone, and a C library holds code for RISC-V"):
        export(storage, tmp_path, stored_name(storage))


def test_of_two_cores_of_one_vector_length_one_is_left_out_or_both_are_refused(
    tmp_path, monkeypatch, capsys
):
    storage, x60 = str(tmp_path / "study.journal"), infos()[0]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = user_board_folder()
    folder.mkdir(parents=True)
    facts = "cpu = 'generic-rv64'\nvlen_bits = 256\ncores = 1\nfrequency_hz = 1\n"
    (folder / "mine.toml").write_text(facts)
    for info in (x60, known_board("mine").info("mine")):
        write_study(storage, "vector_add", {"N": 64}, info, BLOCK_SIZE=64)
    names = [study.study_name for study in read_studies(storage)]
    with pytest.raises(UserError, match="--device mine and one with --device emulated:x60, each"):
        export(storage, tmp_path, *names)
    write_study(storage, "vector_add", {"N": 80}, x60, BLOCK_SIZE=64)
    assert export(storage, tmp_path) == 0
    said = capsys.readouterr()
    assert "is of another core than emulated:x60, whose code this library has for ve" in said.err
    assert "--device mine and an --out of its own" in said.err
    assert "tuned_vector_add_fp32" in said.out


def test_times_of_an_emulator_in_place_of_a_board_are_left_out(tmp_path, capsys):
    storage, x60 = str(tmp_path / "study.journal"), load_board("emulated:x60").info
    for usage in ("", "@4cores"):
        kind = f"x60-under-qemu-riscv64{usage}"
        practice = dataclasses.replace(x60, name="practice", kind=kind, estimated=False)
        write_study(storage, "vector_add", {"N": 64}, practice, BLOCK_SIZE=64)
    assert export(storage, tmp_path) == 1
    said = capsys.readouterr().err
    assert said.count("has the times of qemu-riscv64, which ran the programs on x60-under-") == 2


def test_a_kernel_that_changed_since_is_refused(tmp_path, monkeypatch):
    storage = str(tmp_path / "study.journal")
    write_study(storage, "vector_add", {"N": 64}, infos()[0], BLOCK_SIZE=64)
    monkeypatch.setattr(KernelSpec, "source_digest", "changed")
    with pytest.raises(UserError, match="tuned another source of vector_add than this one"):
        export(storage, tmp_path, stored_name(storage))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("shape", {"M": 64}), ("shape", [3]), ("dtype", "fp8"), ("kernel", "x")],
)
def test_a_study_that_makes_no_sense_is_refused(tmp_path, attribute, value):
    storage = str(tmp_path / "study.journal")
    write_study(storage, "vector_add", {"N": 64}, infos()[0], BLOCK_SIZE=64)
    (study,) = read_studies(storage)
    study.set_attribute(attribute, value)
    sentence = (
        "x is a kernel of your own" if attribute == "kernel" else "vector_add does not have: leave"
    )
    with pytest.raises(UserError, match=sentence):
        export(storage, tmp_path, study.study_name)


def test_a_winner_of_another_layout_is_refused(tmp_path):
    """The plain call's B is in row-major order."""
    storage = str(tmp_path / "study.journal")
    problem = make_problem(load_kernel("gemm_a8w8_blockscale"), {"M": 16, "N": 128, "K": 128})
    config = Config({**problem.default_config, "B_COLUMN_MAJOR": True})
    space = SearchSpace.from_configs([config])
    stored = open_study(storage, identity_of(problem, infos()[0], "random"), space)
    search = Search(space, "random", trials=stored)
    search.tell(search.ask(), 1e-3)
    with pytest.raises(UserError, match="parameters that gemm_a8w8_blockscale does not have"):
        export(storage, tmp_path, stored_name(storage))


def test_a_grid_is_written_in_c_or_refused():
    rows = Expression("M")
    assert c_text((rows + 15) // 16 * (2 - rows)) == "(((M + 15) / 16) * (2 - M))"
    # C rounds a negative quotient otherwise.
    assert c_text(-rows // 2 % rows) == (
        "tuned_floor_remainder(tuned_floor_quotient((0 - M), 2), M)"
    )
    refused = (lambda: bool(rows), lambda: int(rows), lambda: rows * 0.5, lambda: rows // 0.5)
    for unknown in refused:
        with pytest.raises(TypeError):
            unknown()
