"""Triton's target-independent passes over TTIR, and its text in generic form."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, passes

__all__ = ["generic_text", "optimise"]


def optimise(module: Any) -> None:
    """Run Triton's target-independent passes."""
    _keep_mapped_functions_apart(module)
    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # 3.9 has no block pointers
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")


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
