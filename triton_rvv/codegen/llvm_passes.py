"""Which of LLVM's passes run over a kernel before it is translated."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from triton_rvv.lowering.llvm.helpers import INLINED

__all__ = ["run_passes"]


def run_passes(module: Any, machine: Any) -> None:
    """Inline what has to be, put stack slots into registers, and fold what the lowering wrote down
    plainly.

    The lowering has vectorised, unrolled and ordered the code. LLVM's own pipeline for -O3 takes
    three times as long and gives slower code: what it hoists out of loops has to be spilled.
    """
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    if any(INLINED.encode() in marks for f in module.functions for marks in f.attributes):
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.run(module, builder)
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
