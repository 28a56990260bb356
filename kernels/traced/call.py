"""The plain call of a user's kernel, made from what its file launches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from foundation.errors import UserError
from kernels.own.accesses import Accesses
from kernels.own.kernel_file import KernelFile
from kernels.plain_calls.call import Array, Number, PlainCall, Sizes
from kernels.traced.formulas import Formula
from kernels.traced.launch import TracedLaunch

__all__ = ["traced_call"]

# TUNED_MOST_DIMENSIONS and TUNED_MOST_SIZES of engine/c_library/runtime.h
_MOST_DIMENSIONS, _MOST_SIZES = 4, 16
# Of C and C++, and what every function takes.
_WORDS = """
    alignas alignof and asm auto bitand bitor bool break case catch char class compl const
    constexpr continue default delete do double else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not nullptr operator or
    private protected public register restrict return short signed sizeof static struct switch
    template this threads throw true try typedef typename union unsigned using virtual void
    volatile while xor
"""


def traced_call(file: KernelFile, launch: TracedLaunch, accesses: Accesses) -> PlainCall:
    """A user's kernel as a function of arrays, sizes and numbers.

    Sizes are the parameters of the file's function, numbers its floating-point values.

    Args:
        file: the user's.
        launch: what it launches.
        accesses: what the kernel does to its tensors.

    Raises:
        UserError: if no function of C can be called like this.
    """
    _check_names(file, launch)
    numbers = (
        Number(name, name, "fp32", f"{file.path.name} passes {words}")
        for name, words in launch.floats.items()
    )
    return PlainCall(
        meaning=_meaning(file),
        sizes=dict.fromkeys(
            launch.sizes, f"a size of {file.maker().__name__}; 0 if outputs then have no elements"
        ),
        arrays=tuple(_arrays(file, launch, accesses)),
        integers=lambda sizes: {n: _at(value, sizes) for n, value in launch.integers.items()},
        numbers=tuple(numbers),
        integer_types={n: t for n, value in launch.integers.items() if (t := _type(value))},
        unused={},
        compiled_in={n: v for n, v in launch.integers.items() if not isinstance(v, Formula)},
    )


def _arrays(file: KernelFile, launch: TracedLaunch, accesses: Accesses) -> Iterator[Array]:
    for name, array in launch.arrays.items():
        also = tuple(p for p, other in launch.arrays.items() if other.same_as == name)
        if len(array.shape) > _MOST_DIMENSIONS:
            raise UserError(
                f"{file.path}: {name} has {len(array.shape)} dimensions, and an array of a C "
                f"function has at most {_MOST_DIMENSIONS}: flatten some of them"
            )
        if not array.same_as:
            yield Array(
                name,
                name,
                f"as {file.maker().__name__} makes it",
                _each(array.shape),
                access=_access({name, *also}, accesses),
                dtype=array.dtype,
                apart=array.stride.at if len(array.shape) > 1 else None,
                also=also,
            )


def _each(formulas: Sequence[Formula]) -> Callable[[Sizes], list[Any]]:
    return lambda sizes: [formula.at(sizes) for formula in formulas]


def _at(value: Formula | int, sizes: Mapping[str, Any]) -> Any:
    return value.at(sizes) if isinstance(value, Formula) else int(value)


def _type(value: Formula | int) -> str:
    """Triton's name of an integer's type where that is not "i32", or ""."""
    if isinstance(value, Formula):
        return "i1" if value.is_condition else ""
    if isinstance(value, bool):
        return "i1"
    return "" if -(2**31) <= value < 2**31 else "i64"


def _access(names: set[str], accesses: Accesses) -> Literal["in", "out", "inout"]:
    if names <= accesses.constant:
        return "in"
    return "out" if names <= accesses.only_stored else "inout"


def _meaning(file: KernelFile) -> str:
    said = inspect.getdoc(file.function.fn)
    first = said.partition("\n\n")[0].replace("\n", " ") if said else ""
    first = first.replace("*/", "* /").replace("/*", "/ *")  # it stands in a comment of C
    return first or f"The kernel {file.function.__name__} of {file.path.name}."


def _check_names(file: KernelFile, launch: TracedLaunch) -> None:
    names = [*launch.sizes, *launch.arrays, *launch.floats]
    for number, name in enumerate(names):
        if name in names[:number]:
            why = "names a size and another argument of the C function"
        elif name in _WORDS.split() or name.lower().startswith("tuned_") or not name.isascii():
            why = "cannot be the name of an argument in C"
        else:
            continue
        raise UserError(f"{file.path}: {name} {why}: give it another name")
    if len(launch.sizes) > _MOST_SIZES:
        raise UserError(
            f"{file.path}: {file.maker().__name__} takes {len(launch.sizes)} sizes, and a C "
            f"function at most {_MOST_SIZES}"
        )
