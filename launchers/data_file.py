"""Writes a kernel's arguments and expected outputs to the file that the launcher reads."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from foundation.scratch import UNFINISHED, scratch_folder
from launchers.arguments import STORAGE_TYPES, Argument
from launchers.fills import fill

__all__ = ["FORMAT_VERSION", "is_whole", "without_arrays", "write_data_file"]

# The format is defined in data_file.h; these are its constants and its two structures.
_MAGIC = b"TRVVDATA"
FORMAT_VERSION = 5
_ALIGNMENT = 64
_NAME_BYTES = 56
_HEADER = struct.Struct("<8sIIQ")
_ARGUMENT = struct.Struct(f"<{_NAME_BYTES}sII2QQ3Q3Qdd")
_TYPE_CODES = {
    "i1": 0,
    "i8": 1,
    "u8": 2,
    "i16": 3,
    "u16": 4,
    "i32": 5,
    "u32": 6,
    "i64": 7,
    "u64": 8,
    "fp16": 9,
    "bf16": 10,
    "fp32": 11,
    "fp64": 12,
    "fp8e4nv": 13,
    "fp8e5": 14,
}
_INTEGERS = {"i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}
_FLOAT_FORMATS = {"fp16": "<e", "bf16": "<f", "fp32": "<f", "fp64": "<d"}


def is_whole(path: Path) -> bool:
    """Whether there is a data file that has as many bytes as it should."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            size_bytes = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    return len(header) == _HEADER.size and _HEADER.unpack(header)[-1] == size_bytes


def write_data_file(
    path: Path, arguments: Sequence[Argument], timed: Sequence[Argument] | None = None
) -> None:
    """Writes arguments, in the kernel's order, in the format of data_file.h.

    The same arguments give the same bytes. `path` appears whole or not at all. A name is cut to 55
    bytes; it only serves messages.

    Args:
        path: of the file.
        arguments: for the check before the timed runs.
        timed: for the timed runs; None for the same. Only contents of arrays and floating-point
            scalars may differ.

    Raises:
        ValueError: for an argument whose type is unknown, whose value does not fit its type, whose
            arrays differ in size, or whose tolerance is not a number from 0 up; if the two differ
            in more than contents.
    """
    sets = (arguments, arguments if timed is None else timed)
    for argument in (*sets[0], *sets[1]):
        _check(argument)
    if list(map(without_arrays, sets[0])) != list(map(without_arrays, sets[1])):
        raise ValueError("the arguments for the timed runs are not those for the check")
    arrays = _Arrays(_HEADER.size + _ARGUMENT.size * len(arguments))
    offsets = [
        [offset for number in (0, 1) for offset in arrays.place_all(sets[number][place], number)]
        for place in range(len(arguments))
    ]
    with scratch_folder(UNFINISHED, path.parent) as folder:
        written = folder / "data"
        with written.open("wb") as file:
            file.write(_HEADER.pack(_MAGIC, FORMAT_VERSION, len(arguments), arrays.end))
            for entry in map(_argument_entry, *sets, offsets):
                file.write(entry)
            for offset, array in arrays.placed:
                file.write(bytes(offset - file.tell()))
                file.write(array.data)
        written.replace(path)


def without_arrays(argument: Argument) -> tuple[object, ...]:
    """What two sets of arguments for one executable have in common: code is made for integers, and
    for no other scalar."""
    is_whole_number = not argument.is_pointer and argument.element_type in _INTEGERS
    scalar = argument.value if is_whole_number else None
    is_output = argument.expected is not None
    size = max(map(np.size, _arrays_of(argument)), default=0)
    tolerance = (argument.atol, argument.rtol)
    kind = (argument.type, argument.described, argument.constant)
    return (argument.name, *kind, scalar, is_output, size, tolerance)


class _Arrays:
    """Arrays with the offsets at which they stand in the file, each offset a multiple of 64."""

    def __init__(self, start: int) -> None:
        self.placed: list[tuple[int, npt.NDArray[np.generic]]] = []
        self.end = start
        self._offsets: dict[bytes, int] = {}

    def place_all(self, argument: Argument, data_set: int) -> tuple[int, int, int]:
        """Offsets of value, expected output and slack; 0 where there is no array to place."""
        if not argument.is_pointer:
            return 0, 0, 0
        value = fill(argument, data_set) if argument.value is None else argument.value
        return self._place(value), self._place(argument.expected), self._place(argument.slack)

    def _place(self, contents: npt.NDArray[np.generic] | int | float | None) -> int:
        if contents is None:
            return 0
        array = np.ascontiguousarray(contents).reshape(-1)
        digest = hashlib.sha256(array.data).digest()
        if digest not in self._offsets:
            self._offsets[digest] = -(-self.end // _ALIGNMENT) * _ALIGNMENT
            self.placed.append((self._offsets[digest], array))
            self.end = self._offsets[digest] + array.nbytes
        return self._offsets[digest]


def _argument_entry(argument: Argument, timed: Argument, offsets: Sequence[int]) -> bytes:
    scalars, count = (0, 0), 0
    if argument.is_pointer:
        count = max(np.size(array) for array in _arrays_of(argument))
    else:
        scalars = (_scalar_slot(argument), _scalar_slot(timed))
    return _ARGUMENT.pack(
        argument.name.encode()[: _NAME_BYTES - 1],
        _TYPE_CODES[argument.element_type],
        argument.is_pointer + argument.constant,
        *scalars,
        count,
        *offsets,
        argument.atol,
        argument.rtol,
    )


def _scalar_slot(argument: Argument) -> int:
    """The scalar's 8-byte slot in the array that the kernel's entry takes, as kernel_abi.h says."""
    name, value = argument.element_type, argument.value
    if name in _FLOAT_FORMATS:
        try:
            bits = int.from_bytes(struct.pack(_FLOAT_FORMATS[name], value), "little")
        except (OverflowError, struct.error):
            raise ValueError(f"argument {argument.name}: {value!r} does not fit {name}") from None
        return _round_to_bf16(bits) if name == "bf16" else bits
    if name not in _INTEGERS:
        raise ValueError(f"argument {argument.name}: Triton has no scalars of type {name}")
    lowest, highest = _integer_range(name)
    if not isinstance(value, int | np.integer) or not lowest <= value <= highest:
        raise ValueError(f"argument {argument.name}: {value!r} does not fit {name}")
    return int(value) % 2**64


def _integer_range(name: str) -> tuple[int, int]:
    if name == "i1":
        return 0, 1
    limits = np.iinfo(np.dtype(STORAGE_TYPES[name]))
    return int(limits.min), int(limits.max)


def _round_to_bf16(bits: int) -> int:
    """The upper half of an fp32, rounded to nearest even; NaN stays NaN."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _arrays_of(argument: Argument) -> list[npt.NDArray[np.generic] | int | float]:
    return [array for array in (argument.value, argument.expected) if array is not None]


def _check(argument: Argument) -> None:
    """Raises ValueError for what the launcher could not make sense of."""
    name, kind = argument.name, argument.element_type
    if kind not in _TYPE_CODES:
        raise ValueError(f"argument {name}: type {kind} is not one of {', '.join(_TYPE_CODES)}")
    if not (argument.atol >= 0 and argument.rtol >= 0):
        raise ValueError(f"argument {name}: atol and rtol have to be numbers from 0 up")
    if not argument.is_pointer:
        if argument.constant:
            raise ValueError(f"argument {name}: only an array can be constant")
        if argument.expected is not None or isinstance(argument.value, np.ndarray):
            raise ValueError(f"argument {name}: a scalar takes one number and expects no output")
        return
    arrays = _arrays_of(argument)
    if not arrays:
        raise ValueError(f"argument {name}: a pointer needs a value, an expected output or both")
    for array in arrays:
        stored = np.dtype(STORAGE_TYPES[kind])
        found = getattr(array, "dtype", type(array).__name__)
        if found != stored:
            raise ValueError(f"argument {name}: *{kind} takes an array of {stored}, not {found}")
    if len({np.size(array) for array in arrays}) > 1:
        raise ValueError(f"argument {name}: its value and expected output differ in size")
    if argument.slack is not None:
        _check_slack(argument)


def _check_slack(argument: Argument) -> None:
    slack = argument.slack
    assert slack is not None
    if slack.dtype != np.float32 or argument.expected is None:
        raise ValueError(f"argument {argument.name}: slack is fp32, and for an output")
    if slack.size != np.size(argument.expected) or not bool(np.all(slack >= 0)):
        raise ValueError(f"argument {argument.name}: slack is a number from 0 up for each element")
