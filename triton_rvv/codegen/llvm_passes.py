"""Which of LLVM's passes run over a kernel before it is translated."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

__all__ = ["run_passes"]


def run_passes(module: Any, machine: Any) -> None:
    """Put stack slots into registers, and fold what the lowering wrote down plainly.

    The lowering has vectorised, unrolled and ordered the code. LLVM's own pipeline for -O3 takes
    three times as long and gives slower code: what it hoists out of loops has to be spilled.
    """
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
