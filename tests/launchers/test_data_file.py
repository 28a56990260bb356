"""The data file: what is refused when it is written, and when it is read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import launchers
from launchers import STORAGE_TYPES, Argument, data_file
from launchers.data_file import write_data_file
from launchers.output import ExitStatus

NOTHING = ""


def arguments():
    return [
        Argument("a", "*fp32", np.arange(40, dtype=np.float32)),
        Argument("b", "*i8", np.zeros(3, np.int8), np.zeros(3, np.int8)),
        Argument("n", "i32", 40),
    ]


@pytest.fixture
def data_path(tmp_path):
    path = tmp_path / "data"
    write_data_file(path, arguments())
    return path


def refusal(run, elf, path: Path) -> str:
    done = run(elf, str(path), "--grid", "1,1,1")
    assert done.returncode == ExitStatus.USAGE, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("kept_bytes", "says"),
    [
        *((kept_bytes, "is not a data file") for kept_bytes in (0, 7)),
        *((kept_bytes, "truncated") for kept_bytes in (8, 23, 24, 100, 400, -65, -1)),
    ],
)
def test_truncated_file_is_refused(build_elf, run, data_path, kept_bytes, says):
    whole = data_path.read_bytes()
    data_path.write_bytes(whole[:kept_bytes])
    assert says in refusal(run, build_elf(NOTHING), data_path)


def test_foreign_file_is_refused(build_elf, run):
    elf = build_elf(NOTHING)
    assert "is not a data file" in refusal(run, elf, elf)


def test_missing_file_and_folder_are_refused(build_elf, run, tmp_path):
    assert "No such file" in refusal(run, build_elf(NOTHING), tmp_path / "absent")
    assert "Is a directory" in refusal(run, build_elf(NOTHING), tmp_path)


def test_longer_file_is_refused(build_elf, run, data_path):
    data_path.write_bytes(data_path.read_bytes() + b"\0")
    assert "damaged" in refusal(run, build_elf(NOTHING), data_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({8: 9}, "version 9"),
        ({14: 1}, "table of arguments"),  # 65536 arguments more
        ({24 + 55: 65}, "argument 0"),  # a name without an end
        ({24 + 56: 15}, "argument 0"),  # an unknown type
        ({24 + 60: 3}, "argument 0"),  # neither a pointer nor a scalar
        ({24 + 87: 128}, "argument 0"),  # 2^63 elements more
        ({24 + 88: 1}, "argument 0"),  # contents at an offset that is not aligned
        ({24 + 92: 1}, "argument 0"),  # contents past the end
        ({24 + 88: 0, 24 + 89: 0}, "argument 0"),  # neither contents nor an expected output
        ({24 + 152 + 96: 1}, "argument 1"),  # an expected output past the end
    ],
)
def test_damaged_file_is_refused(build_elf, run, data_path, change, sentence):
    damaged = bytearray(data_path.read_bytes())
    for offset, byte in change.items():
        damaged[offset] = byte
    data_path.write_bytes(damaged)
    assert sentence in refusal(run, build_elf(NOTHING), data_path)


def test_empty_arrays_and_no_arguments_are_read(build_elf, run, tmp_path):
    empty = np.zeros(0, np.float32)
    for some in ([], [Argument("a", "*fp32", empty), Argument("b", "*fp32", None, empty)]):
        write_data_file(tmp_path / "data", some)
        done = run(build_elf(NOTHING), str(tmp_path / "data"), "--grid", "1,1,1")
        assert done.returncode == ExitStatus.OK, done


def test_same_arguments_give_the_same_bytes(tmp_path):
    write_data_file(tmp_path / "one", arguments())
    write_data_file(tmp_path / "two", arguments())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_strided_array_is_written_in_its_own_order(build_elf, run, tmp_path):
    grid = np.arange(6, dtype=np.int32).reshape(2, 3)
    flat = np.array([0, 3, 1, 4, 2, 5], np.int32)
    write_data_file(tmp_path / "data", [Argument("a", "*i32", grid.T, flat)])
    done = run(build_elf(NOTHING), str(tmp_path / "data"), "--grid", "1,1,1")
    assert done.returncode == ExitStatus.OK, done.stdout


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        (Argument("a", "i33", 1), "type i33 is not one of"),
        (Argument("a", "i8", 128), "128 does not fit i8"),
        (Argument("a", "u8", -1), "-1 does not fit u8"),
        (Argument("a", "i1", 2), "2 does not fit i1"),
        (Argument("a", "i32", 1.5), "1.5 does not fit i32"),
        (Argument("a", "i32", None), "None does not fit i32"),
        (Argument("a", "fp16", 1e6), "does not fit fp16"),
        (Argument("a", "fp32", 1e300), "does not fit fp32"),
        (Argument("a", "fp32", None), "None does not fit fp32"),
        (Argument("a", "fp8e5", 1.0), "no scalars of type fp8e5"),
        (Argument("a", "i32", np.zeros(2, np.int32)), "a scalar takes one number"),
        (Argument("a", "*fp32"), "needs a value, an expected output or both"),
        (Argument("a", "*fp32", np.zeros(2)), "takes an array of float32, not float64"),
        (Argument("a", "*i1", np.zeros(2, np.bool_)), "takes an array of uint8, not bool"),
        (Argument("a", "*i32", 3), "takes an array of int32, not int"),
        (
            Argument("a", "*i8", np.zeros(2, np.int8), np.zeros(3, np.int8)),
            "differ in size",
        ),
        (Argument("a", "*i8", np.zeros(2, np.int8), atol=float("nan")), "atol and rtol"),
        (Argument("a", "*i8", np.zeros(2, np.int8), rtol=-1), "atol and rtol"),
    ],
)
def test_argument_that_makes_no_sense_is_refused(tmp_path, argument, sentence):
    path = tmp_path / "data"
    path.write_text("what stood here before")
    with pytest.raises(ValueError, match=f"argument a: .*{re.escape(sentence)}"):
        write_data_file(path, [argument])
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]
    assert path.read_text() == "what stood here before"


def test_python_and_c_agree_on_types_and_version():
    header = (Path(launchers.__file__).parent / "data_file.h").read_text()
    codes = {n.lower(): int(c) for n, c in re.findall(r"DATA_([A-Z0-9]+) = (\d+),", header)}
    assert codes == data_file._TYPE_CODES
    assert set(codes) == set(STORAGE_TYPES)
    assert f"#define DATA_VERSION {data_file.FORMAT_VERSION}u" in header


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (1.00390625, 0x3F80),  # half way: to even, down
        (1.01171875, 0x3F82),  # half way: to even, up
        (float("nan"), 0x7FC0),
        (float("-inf"), 0xFF80),
    ],
)
def test_scalars_round_to_bf16(value, bits):
    assert data_file._scalar_slot(Argument("a", "bf16", value)) == bits
