"""The C around the kernels: the header, a source for each function, and what all of them share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from engine.c_library.objects import parameters, symbolic_sizes
from engine.c_library.provenance import provenance
from engine.c_library.variant import Function, Variant
from foundation.c_expressions import Expression, c_text, compared
from foundation.shapes import shape_text
from kernels.plain_calls.call import Array, Sizes
from kernels.values import size_bytes

__all__ = ["header", "sources"]

_C_TYPES = {
    "i8": "int8_t",
    "u8": "uint8_t",
    "i16": "int16_t",
    "u16": "uint16_t",
    "i32": "int32_t",
    "u32": "uint32_t",
    "i64": "int64_t",
    "u64": "uint64_t",
    "fp8e4nv": "tuned_fp8e4nv",
    "fp8e5": "tuned_fp8e5",
    "fp16": "tuned_fp16",
    "bf16": "tuned_bf16",
    "fp32": "float",
    "fp64": "double",
}
_OWN = ("runtime.h", "runtime.c", "machine.c", "pool.h", "pool.c")
_OF_THE_LAUNCHER = ("portions.h", "portions.c", "region.h")
# As `enum tuned_extension` of runtime.h orders them.
_TRIED_EXTENSIONS = ("zba", "zbb", "zbs", "zfh", "zicond")
_MOST_DIMENSIONS = 4  # TUNED_MOST_DIMENSIONS


def header(functions: Sequence[Function]) -> str:
    """The text of tuned.h."""
    vlens = sorted({v.target.vlen_bits for function in functions for v in function.variants})
    described = [_described(function) for function in functions]
    return _render("header.h.j2", vlens=vlens, functions=described)


def sources(functions: Sequence[Function]) -> dict[str, str]:
    """Texts by file name, to be compiled in one folder.

    Raises:
        UserError: for a kernel whose grid cannot be written in C.
    """
    own = {name: (files("engine.c_library") / name).read_text() for name in _OWN}
    own |= {name: (files("launchers") / name).read_text() for name in _OF_THE_LAUNCHER}
    generated = {f"{f.name}.c": _function_source(f) for f in functions}
    return {**own, "tuned.h": header(functions), "library.c": _library(functions), **generated}


def _library(functions: Sequence[Function]) -> str:
    targets = {v.target for function in functions for v in function.variants}
    vlens = sorted({target.vlen_bits for target in targets})
    used = {name for target in targets for name in target.extensions}
    names = (f'"{name}"' if f"+{name}" in used else "NULL" for name in _TRIED_EXTENSIONS)
    return (
        '#include "runtime.h"\n\n'
        f"const uint32_t tuned_vlens[] = {{{', '.join(map(str, vlens))}, 0}};\n"
        "const char *const tuned_extensions[TUNED_EXTENSIONS] = {\n"
        f"    {', '.join(names)},\n}};\n"
    )


def _function_source(function: Function) -> str:
    call, names = function.call, list(function.call.sizes)
    return _render(
        "function.c.j2",
        function=_described(function),
        size_names=names,
        entries=list(dict.fromkeys(variant.entry for variant in function.variants)),
        variants=[
            {
                "entry": variant.entry,
                "vlen_bits": variant.target.vlen_bits,
                "number": number,
                "grid": _grid(function, variant),
                "rooms": _room_elements(function, variant),
                "conditions": _conditions(function, variant),
                "shape": [variant.shape[name] for name in names],
                "cores": variant.winner.cores,
                "exact": int(variant.exact),
            }
            for number, variant in enumerate(function.variants)
        ],
        multiples=call.multiple_of,
        provenance=[_escaped(line) for line in provenance(function)],
        arrays=[_checked_array(function, array) for array in call.arrays],
        slots=_slots(function),
        rooms=_rooms(function),
    )


def _grid(function: Function, variant: Variant) -> list[str]:
    """The grid in C."""
    return [c_text(size) for size in function.kernel.grid(variant, _sizes_of_call(function))]


def _conditions(function: Function, variant: Variant) -> list[str]:
    """In C what has to hold of the sizes; those that hold for any are left out."""
    sizes = _sizes_of_call(function)
    if variant.exact:
        return [c_text(compared(sizes[name], "==", size)) for name, size in variant.shape.items()]
    conditions = function.kernel.conditions(variant, sizes)
    return [c_text(condition) for condition in conditions if condition != 1]


def _sizes_of_call(function: Function) -> Sizes:
    """The sizes of a call as the generated functions of sizes name them."""
    return {name: Expression(f"sizes[{i}]") for i, name in enumerate(function.call.sizes)}


def _room_elements(function: Function, variant: Variant) -> list[str]:
    """The elements of each room in C."""
    elements = function.kernel.room_elements(variant, _sizes_of_call(function))
    return [c_text(count) for count in elements]


def _rooms(function: Function) -> list[dict[str, int]]:
    """Where the kernel's arguments have the rooms, and the sizes of their elements."""
    slots = list(parameters(function))
    return [
        {"slot": slots.index(room.argument), "element_bytes": int(size_bytes(room.dtype))}
        for room in function.call.rooms
    ]


def _checked_array(function: Function, array: Array) -> dict[str, Any]:
    shape = [c_text(size) for size in array.shape(symbolic_sizes(function))]
    return {
        "name": array.name,
        "shape": ["1"] * (_MOST_DIMENSIONS - len(shape)) + shape,
        "stride": _stride(function, array, shape),
        "written": int(array.access != "in"),
        "strided": bool(array.stride),
    }


def _stride(function: Function, array: Array, shape: Sequence[str]) -> str:
    if array.stride:
        return f"{array.name}_stride"
    return c_text(array.apart(symbolic_sizes(function))) if array.apart else shape[-1]


def _slots(function: Function) -> list[str]:
    """The kernel's arguments, as launchers/kernel_abi.h wants them."""
    call = function.call
    integers = call.integers(symbolic_sizes(function))
    values = {
        argument: f"(uint64_t)(uintptr_t){array.name}"
        for array in call.arrays
        for argument in (array.argument, *array.also)
    }
    values |= {array.stride: f"(uint64_t){array.name}_stride" for array in call.strided}
    values |= {name: f"(uint64_t){c_text(value)}" for name, value in integers.items()}
    values |= dict.fromkeys([*call.unused, *(room.argument for room in call.rooms)], "0")
    for number in call.numbers:
        is_float = number.dtype == "fp32"
        slot = f"tuned_fp32_slot({number.name})" if is_float else f"(uint64_t){number.name}"
        values[number.argument] = slot
    return [values[name] for name in parameters(function)]


def _described(function: Function) -> dict[str, Any]:
    """A function for the header: its prototype, and a line for each of its parameters."""
    call, spoken = function.call, []
    prototype = [f"int64_t {name}" for name in call.sizes]
    spoken += [f"{name}: {meaning}" for name, meaning in call.sizes.items()]
    for array in call.arrays:
        prototype.append(_array_parameter(function, array))
        sizes = array.shape(symbolic_sizes(function))
        shape, shape_of = ", ".join(map(_readable, sizes)), [c_text(size) for size in sizes]
        stride = ""
        if array.stride:
            prototype.append(f"int64_t {array.name}_stride")
            stride = f", rows {array.name}_stride apart"
        elif array.apart and _stride(function, array, shape_of) != shape_of[-1]:
            stride = f", rows {_readable(array.apart(symbolic_sizes(function)))} apart"
        access = {"in": "read", "out": "written", "inout": "read and written"}[array.access]
        spoken.append(f"{array.name}: {array.meaning}; ({shape}){stride}, {access}")
    for number in call.numbers:
        prototype.append(f"{_C_TYPES[number.dtype]} {number.name}")
        spoken.append(f"{number.name}: {number.meaning}")
    passed = call.compiled_in.items()
    spoken += [f"{name}: the file passes {value}, compiled in" for name, value in passed]
    return {
        "name": function.name,
        "meaning": call.meaning,
        "parameters": spoken,
        "notes": [*function.kernel.notes(function.variants), *_ties(function)],
        "prototype": _prototype(function.name, [*prototype, "int threads"]),
    }


def _ties(function: Function) -> list[str]:
    """Where the default configuration runs, since it is tied with the fastest."""
    shapes = dict.fromkeys(shape_text(v.winner.shape) for v in function.variants if v.winner.tied)
    return [f"Tuned at {shape}: the default, which is tied with the fastest." for shape in shapes]


def _prototype(name: str, arguments: Sequence[str]) -> str:
    """A declaration without its end, its lines ending between two arguments."""
    whole = [argument.replace(" ", "\0") for argument in arguments]
    lines = textwrap.wrap(f"int\0{name}({', '.join(whole)})", 96, subsequent_indent=" " * 4)
    return "\n".join(lines).replace("\0", " ")


def _array_parameter(function: Function, array: Array) -> str:
    const = "const " if array.access == "in" else ""
    c_type = _C_TYPES[array.element_type(function.dtype)]
    return f"{const}{c_type} *TUNED_RESTRICT {array.name}"


def _readable(size: int | Expression) -> str:
    """A size for people: "M + 2"."""
    text = c_text(size)
    return text[1:-1] if text.startswith("(") else text


def _escaped(text: str) -> str:
    """A text as a string literal of C holds it; study names are anybody's."""
    return "".join(
        char
        if " " <= char <= "~" and char not in '"\\?'
        else f"\\{ord(char):03o}"
        if ord(char) < 256
        else "?"
        for char in text
    )


def _render(template: str, **values: object) -> str:
    environment = Environment(
        loader=PackageLoader("engine.c_library", "."),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)
