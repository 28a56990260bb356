"""Starts a kernel in this process: packs its arguments and spreads its programs over threads."""

from __future__ import annotations

import contextlib
import math
import operator
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

from triton_rvv.frontend.descriptors import descriptor_parts, is_descriptor
from triton_rvv.frontend.float_formats import SMALL_FLOATS
from triton_rvv.lowering.control.grid_loop import CALL_HEADER
from triton_rvv.runtime.host_assertions import raise_failed_assertion
from triton_rvv.runtime.host_bounds import BoundsTable
from triton_rvv.runtime.host_loader import load_object
from triton_rvv.runtime.host_overlaps import OverlapCheck
from triton_rvv.runtime.host_scratch import raise_out_of_memory
from triton_rvv.runtime.kernel_clock import OF_THREAD as kernel_times
from triton_rvv.runtime.kernel_clock import TimedKernel
from triton_rvv.runtime.workers import has_large_stack, num_threads, run_on_workers

__all__ = ["HostLauncher"]

# Each thread takes so many chunks of programs, so that none waits long for the last one.
_CHUNKS_PER_THREAD = 16
# All programs of a launch that takes no longer run on the calling thread: to start a second one and
# wait for it takes 40 us (measured on two cores that other work shared).
_SHORT_S = 60e-6

_ONE_PROGRAM = (1, 1, 1)
_ONE_PROGRAM_HEADER = CALL_HEADER.pack(0, 1, 1, *_ONE_PROGRAM, 0)

_MOST_PROGRAMS = 2**32 - 1  # CALL_HEADER has 32 bits for each axis
_SLOT_BITS = 0xFFFF_FFFF_FFFF_FFFF
# How an argument lies in its slot (launchers/kernel_abi.h), by MLIR's type name; others are "Q".
_LAYOUTS = {"f64": "d", "f32": "f4x"}
_SHORT_LAYOUTS = {**_LAYOUTS, "ptr": "Q", **dict.fromkeys(("i1", "i8", "i16", "i32", "i64"), "q")}


class HostLauncher:
    """What Triton calls to run a compiled kernel.

    Args:
        source: what was compiled; its signature says which arguments are passed at run time.
        metadata: `argument_types` are those of the compiled function, `prints` says whether it has
            a `tl.device_print`, `may_wait` whether one of its programs may wait for another,
            `accesses` are those to memory that it checks; which arguments have to be apart is as
            `triton_rvv.runtime.host_overlaps` has it.

    Attributes:
        short_pack: makes the argument array of addresses, integers that 32 bits hold and floats,
            where nothing more is to be done to the arguments of a call; otherwise None.
    """

    def __init__(self, source: Any, metadata: Any) -> None:
        self._program_s = math.inf  # what a program takes at most, by the last launch
        self._names: tuple[str, ...] = tuple(map(str, source.signature))
        self._signature: tuple[Any, ...] = tuple(source.signature.values())
        # Programs that keep a compiled kernel and call it again may leave out the constants.
        parameters = getattr(getattr(source, "fn", None), "params", ())
        self._constants = {parameter.num for parameter in parameters if parameter.is_constexpr}
        self._passed = _passed_as_they_are(self._signature)
        types: tuple[str, ...] = tuple(metadata.argument_types)
        self._slot_values = tuple(map(_slot_value, types))
        layouts = (_LAYOUTS.get(type_, "Q") for type_ in types)
        self._accesses: list[tuple[str, list[int]]] = metadata.accesses
        table = "Q" if self._accesses else ""
        self.short_pack = None if self._passed is None or self._accesses else _short_pack(types)
        self._slots = struct.Struct("<" + "".join(layouts) + table)
        self._prints: bool = metadata.prints
        # On one thread, a program would wait forever for one that comes after it.
        self._short_s = 0.0 if metadata.may_wait else _SHORT_S
        self._overlaps = OverlapCheck(metadata, self._load) if metadata.apart else None

    def __call__(
        self,
        num_x: int,
        num_y: int,
        num_z: int,
        stream: int,
        kernel: Any,
        packed_metadata: object,
        launch_metadata: object,
        enter_hook: Callable[[object], object] | None,
        exit_hook: Callable[[object], object] | None,
        *arguments: Any,
    ) -> None:
        """Run every program of the grid; returns when the last has ended.

        Raises:
            ValueError: for a tensor that is not in the memory of this processor.
            DeviceAssertionError: where a `tl.device_assert` did not hold.
            OutOfBoundsError: where an access to memory was found to be outside of its argument's.
            TimeoutError: where the launch was ended, as `host_bounds.ended_after` has it.
        """
        if num_x * num_y * num_z == 0:
            return
        if len(arguments) != len(self._signature):
            arguments = self._with_constants(arguments)
        if enter_hook is not None:
            enter_hook(launch_metadata)
        values = self._values(arguments)
        slots = [slot(value) for slot, value in zip(self._slot_values, values, strict=True)]
        bounds = BoundsTable(values) if self._accesses else None
        if bounds is not None:
            slots.append(bounds.address)
        with contextlib.nullcontext() if bounds is None else bounds.watched():
            self.run_slots(kernel, values, slots, self._slots.pack, (num_x, num_y, num_z))
        if bounds is not None:
            bounds.raise_astray(self._accesses, self._value_names(arguments))
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def run_slots(
        self,
        kernel: Any,
        values: Sequence[Any],
        slots: Sequence[int | float],
        pack: Callable[..., bytes],
        grid: tuple[int, int, int],
    ) -> None:
        """Run every program of a grid that has some.

        Args:
            kernel: as it was loaded.
            values: of the compiled function's parameters.
            slots: what it is handed for each of them; of a tensor, the address.
            pack: makes the kernel's argument array of the slots.
            grid: programs along x, y and z.

        Raises:
            DeviceAssertionError: where a `tl.device_assert` did not hold.
            TypeError: for a size of the grid that is no integer.
            ValueError: for one that is negative or too large.
        """
        if self._overlaps is not None:
            kernel = self._overlaps.choose(kernel, values, slots)
        if self._prints and sys.stdout is not None:
            sys.stdout.flush()  # the kernel writes past Python's buffer
        try:
            self._run(kernel, pack(*slots), grid)
        except struct.error:
            _check_grid(grid)  # only now, so that other calls need not wait for it
            raise
        raise_failed_assertion()
        raise_out_of_memory()

    def _with_constants(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """One argument for each parameter; nothing for constants that were left out."""
        if len(self._signature) - len(arguments) != len(self._constants):
            return arguments
        given = iter(arguments)
        numbers = range(len(self._signature))
        return tuple(None if number in self._constants else next(given) for number in numbers)

    def _values(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The values that are passed at run time."""
        if self._passed is None or len(arguments) != len(self._signature):
            return list(_flat(self._signature, arguments))
        return [arguments[number] for number in self._passed]

    def _value_names(self, arguments: Iterable[Any]) -> list[str]:
        """The parameter of each value that is passed at run time."""
        named = zip(self._names, self._signature, arguments, strict=True)
        return [name for name, *pair in named for _ in _flat(pair[:1], pair[1:])]

    def _load(self, compiled: bytes) -> Any:
        """An object file as a kernel that can be run."""
        return load_object(compiled)

    def _run(self, kernel: Any, slots: bytes, grid: tuple[int, int, int]) -> None:
        if kernel_times.spent_s is None:
            self._run_programs(kernel, slots, grid)
            return
        timed = TimedKernel(kernel)
        chunks = self._run_programs(timed, slots, grid)
        kernel_times.spent_s += timed.alone_s(chunks)
        kernel_times.runs += 1

    def _run_programs(self, kernel: Any, slots: bytes, grid: tuple[int, int, int]) -> int:
        """Run every program of a grid; returns in how many chunks threads took them."""
        if grid == _ONE_PROGRAM:
            _run_one_program(kernel, slots)
            return 1
        programs = math.prod(grid)
        is_short = programs * self._program_s < self._short_s
        chunk = programs if is_short else programs // (num_threads() * _CHUNKS_PER_THREAD) or 1
        call = CALL_HEADER.pack(0, programs, chunk, *grid, 0) + slots
        chunks = -(-programs // chunk)
        self._program_s = run_on_workers(kernel.run_programs, call, chunks) / programs
        return chunks


def _run_one_program(kernel: Any, slots: bytes) -> None:
    # Bytes to which nothing is added are the same object, and a kernel without arguments would
    # count its program in the header of all calls to come.
    call = _ONE_PROGRAM_HEADER + (slots or b"\0")
    if has_large_stack():  # the rest takes as long as a small kernel's work
        kernel.run_programs(call)
    else:
        run_on_workers(kernel.run_programs, call, 1)


def _check_grid(grid: Sequence[object]) -> None:
    for axis, size in zip("xyz", grid, strict=True):
        if not isinstance(size, SupportsIndex):
            raise TypeError(f"a grid has {size!r} programs along {axis}: divide by triton.cdiv")
        if not 0 <= operator.index(size) <= _MOST_PROGRAMS:
            raise ValueError(f"a grid cannot have {size} programs along {axis}")


def _short_pack(types: Sequence[str]) -> Callable[..., bytes] | None:
    layouts = [_SHORT_LAYOUTS.get(type_) for type_ in types]
    return None if None in layouts else struct.Struct("<" + "".join(filter(None, layouts))).pack


def _passed_as_they_are(signature: Sequence[Any]) -> tuple[int, ...] | None:
    """Which arguments are passed at run time; None where some have to be taken apart."""
    types = {number: type_ for number, type_ in enumerate(signature) if type_ != "constexpr"}
    if any(isinstance(type_, tuple) or is_descriptor(type_) for type_ in types.values()):
        return None
    return tuple(types)


def _flat(signature: Iterable[Any], arguments: Iterable[Any]) -> Iterator[Any]:
    """The values that are passed at run time, tuples and descriptors taken apart."""
    for type_, argument in zip(signature, arguments, strict=True):
        if isinstance(type_, tuple):
            yield from _flat(type_, argument)
        elif is_descriptor(type_):
            yield from _descriptor(argument)
        elif type_ != "constexpr":
            yield argument


def _descriptor(descriptor: Any) -> Iterator[Any]:
    """A host-side `TensorDescriptor`, as the compiled function takes it."""
    yield descriptor.base
    yield from descriptor_parts(
        descriptor.shape,
        descriptor.strides,
        descriptor.padding,
        rounds=getattr(descriptor, "round_f32_to_tf32", False),
    )


def _slot_value(type_: str) -> Callable[[Any], int | float]:
    """What makes of an argument of a type what lies in its slot."""
    if type_ in _LAYOUTS:
        return float
    if type_ in SMALL_FLOATS:
        encode = SMALL_FLOATS[type_].encode
        return lambda value: encode(float(value))
    return _address if type_ == "ptr" else _bits


def _bits(value: Any) -> int:
    return int(value) & _SLOT_BITS


def _address(tensor: Any) -> int:
    if getattr(tensor, "is_cpu", False):  # much quicker than asking for the kind of device
        return tensor.data_ptr()  # type: ignore[no-any-return] # of any library's tensors
    if isinstance(tensor, int):
        return _bits(tensor)
    device = getattr(tensor, "device", None)
    if getattr(device, "type", "cpu") != "cpu":
        raise ValueError(f"a tensor is on {device}: move it to the CPU first")
    return int(tensor.data_ptr())
