"""Triton's target-independent passes over TTIR, and its text in generic form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from triton._C.libtriton import ir, passes

from triton_rvv.frontend.descriptors import FLAGS

__all__ = ["generic_text", "optimise"]

_SIZE = re.compile(r"\d+x")  # in "!tt.tensordesc<tensor<64x128xf16>>"


def optimise(module: Any, known: Mapping[int, int] | None = None) -> None:
    """Run Triton's target-independent passes.

    Args:
        module: of one kernel.
        known: values of the kernel's arguments by their number once descriptors are taken apart,
            where they are the same in every run.
    """
    _keep_mapped_functions_apart(module)
    constants = {**dict.fromkeys(_last_strides(module), 1), **(known or {})}
    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # 3.9 has no block pointers
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    if constants:
        manager.run(module, "rewrite_descriptors")
        _make_constant(module, constants)
        manager = ir.pass_manager(module.context)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")


def _last_strides(module: Any) -> list[int]:
    """The kernel's arguments that are strides of neighbours, once descriptors are taken apart.

    Whoever makes a descriptor has them be 1, but the module does not say so.
    """
    function = _entry(module)
    found, place = [], 0
    for number in range(function.get_num_args()):
        type_ = str(function.args(number).get_type())
        made = 1
        if type_.startswith("!tt.tensordesc"):
            around = 2 * len(_SIZE.findall(type_))  # shape and strides
            made = 1 + around + FLAGS
            # The front end's shape and strides follow, as arguments of their own.
            found += [place + around, place + made + around - 1]
        place += made
    return found


def _make_constant(module: Any, constants: Mapping[int, int]) -> None:
    """Replace arguments of the kernel, which are integers, by constants."""
    function, builder = _entry(module), ir.builder(module.context)
    body, blocks = function.get_region(0).id(), []

    def note(operation: Any) -> None:
        if operation.get_block() is not None and operation.get_block().get_parent().id() == body:
            blocks.append(operation.get_block())

    module.walk(note)
    builder.set_insertion_point_to_start(blocks[0])
    for number, value in constants.items():
        argument = function.args(number)
        constant = getattr(builder, f"get_int{str(argument.get_type()).removeprefix('i')}")
        argument.replace_all_uses_with(constant(value))


def _entry(module: Any) -> Any:
    return module.get_function(module.get_entry_func_name())


def _keep_mapped_functions_apart(module: Any) -> None:
    """Have the functions of `tl.map_elementwise` called, not inlined.

    MLIR ends the program where a map holds an assertion or a store itself. Checks of overflow are
    assertions; of the rest the lowering says what is wrong.
    """
    maps, calls = set(), []

    def note(operation: Any) -> None:
        if operation.get_name() == "tt.map_elementwise":
            maps.add(operation.get_region(0).id())
        elif operation.get_name() == "tt.call":
            around = operation.get_block().get_parent().id()
            calls.append((around, operation.get_flat_symbol_ref_attr("callee")))

    module.walk(note)
    never = ir.builder(module.context).get_bool_attr(True)
    for around, name in calls:
        if around in maps:
            module.get_function(name).set_attr("noinline", never)


def generic_text(module: Any) -> str:
    """The module as MLIR's generic text, which names every type and attribute.

    MLIR falls back to this form for a module that does not verify, such as one with an attribute
    of no dialect; nothing may verify the module afterwards.
    """
    module.set_attr("print_generic", ir.builder(module.context).get_unit_attr())
    return str(module)
