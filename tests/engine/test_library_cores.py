"""How long calls of a library take on emulated cores: those of one thread, of some, of all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_library_dispatch import HEADER, LAUNCHERS, LIBRARY

from rvv_runner.__main__ import main
from triton_rvv.codegen.zig import run_zig_cc

SOURCE = Path(__file__).with_name("library_cores.c")
ONE_CORE = "several threads share one core here"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cores")
    (folder / "tuned.h").write_text(HEADER)
    folders = [f"-I{each}" for each in (folder, LIBRARY, LAUNCHERS)]
    command = ["-static", "-O1", *folders, str(SOURCE), "-o", str(folder / "program")]
    run_zig_cc(command, timeout_s=200)
    return folder / "program"


@pytest.fixture
def counted(program, capfd):
    def counted_(device, threads, calls):
        words = [str(program), str(threads), str(calls)]
        assert main(["stat", "--device", device, "--", *words]) == 0
        text = capfd.readouterr().err
        found = re.search(r"([\d.]+)  s ", text)
        assert found
        return float(found[1]), text

    return counted_


# Of a call, half is the program's own work.
@pytest.mark.parametrize(("threads", "share"), [(1, 1), (2, 3 / 4), (4, 5 / 8), (9, 5 / 8)])
def test_a_call_takes_as_many_cores_as_it_has_threads(counted, threads, share):
    alone, _ = counted("emulated", 1, 2)
    for calls in (1, 2):
        time_s, _ = counted("emulated@4cores", threads, calls)
        assert time_s == pytest.approx(alone * calls / 2 * share, rel=0.05)


def test_threads_that_share_one_core_take_as_long_as_one(counted):
    alone, text = counted("emulated", 1, 2)
    assert "±" in text
    assert ONE_CORE not in text
    shared, text = counted("emulated", 4, 2)
    assert alone < shared < 1.6 * alone  # they look for a while before they sleep
    assert "±" not in text
    assert ONE_CORE in text
