"""LLVM IR to assembly and objects, by LLVM in this process."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from triton_rvv.codegen.assembler import assemble_object
from triton_rvv.codegen.far_prefetches import without_far_prefetches
from triton_rvv.codegen.llvm_passes import run_passes
from triton_rvv.codegen.loop_estimate import LoopEstimate, estimated_cycles
from triton_rvv.codegen.mask_blends import with_mask_blends
from triton_rvv.codegen.masked_operations import with_masked_operations
from triton_rvv.codegen.matrix_tile import tile_functions
from triton_rvv.codegen.operands_in_place import with_operands_in_place
from triton_rvv.codegen.permuted_stores import with_permuted_stores
from triton_rvv.codegen.register_moves import added_moves, with_added_moves
from triton_rvv.codegen.shift_products import with_shift_products
from triton_rvv.codegen.single_lane_stores import with_single_lane_stores
from triton_rvv.codegen.wide_bf16 import with_wide_bf16
from triton_rvv.errors import CompileError
from triton_rvv.lowering import ADDED_MOVES, BY_ESTIMATE, SCHEDULED_BY_LLVM
from triton_rvv.targets.cores import CORES
from triton_rvv.targets.target import Target

__all__ = [
    "MachineCode",
    "assemble",
    "code_bytes",
    "commented_assembly",
    "generate",
    "generate_unoptimised",
    "target_machine",
]


@dataclass(frozen=True)
class MachineCode:
    """What LLVM makes of a module.

    Args:
        llir: the IR after optimisation.
        object: an ELF relocatable object.
    """

    llir: str
    object: bytes


def generate(llir: str, target: Target) -> MachineCode:
    """Optimise a module and translate it.

    Raises:
        CompileError: where LLVM does not accept the module; that is a bug of the lowering.
        LinkError: where a matrix unit needs an assembler and there is none that works.
    """
    machine = target_machine(target)
    return _faster_order(_optimised(llir, target, machine), machine)


def generate_unoptimised(llir: str, target: Target) -> MachineCode:
    """Translate a module as it is, in a tenth of the time, into slower code.

    Raises:
        CompileError: where LLVM does not accept the module; that is a bug of the lowering.
    """
    machine = _machine(target.triple, target.cpu, target.features, 0)
    corrected = with_permuted_stores if target.backend == "rvv" else with_single_lane_stores
    text = corrected(llir)
    return MachineCode(text, machine.emit_object(_verified(text)))


def commented_assembly(llir: str, target: Target) -> str:
    """The assembly of the object that `generate` makes of a module, with LLVM's comments.

    They say which instructions save registers: "8-byte Folded Spill".

    Raises:
        CompileError: like `generate`.
    """
    machine = target_machine(target)
    optimised = _faster_order(_optimised(llir, target, machine), machine).llir
    with _options_of(optimised):
        machine.set_asm_verbosity(True)
        try:
            return _assembly(optimised, machine) + tile_functions(optimised)
        finally:
            machine.set_asm_verbosity(False)


def _optimised(llir: str, target: Target, machine: Any) -> str:
    """The text of the module after optimisation, which is then read again and translated.

    A module in memory gives LLVM more to go by than its text does, such as the order in which uses
    were made. Its code has other registers than the code of the text, which is what is kept and
    what people see as assembly.
    """
    module = _verified(llir)
    run_passes(module, machine)
    text = without_far_prefetches(str(module))
    if target.backend != "rvv":
        return with_single_lane_stores(text)
    text = with_masked_operations(with_permuted_stores(with_mask_blends(text)))
    text = with_wide_bf16(with_operands_in_place(text))
    if target.machine.shifts_slowly:
        return with_shift_products(text, target.vector_bits)
    return text


def _verified(llir: str) -> Any:
    try:
        module = llvm.parse_assembly(llir)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM does not accept the generated code: {error}") from error
    return module


def _translated(optimised: str, machine: Any) -> MachineCode:
    with _options_of(optimised):
        tiles = tile_functions(optimised)
        if not tiles:
            return MachineCode(optimised, _object(optimised, machine))
        text = _assembly(optimised, machine)
    return MachineCode(optimised, assemble_object(text + tiles))


def _object(optimised: str, machine: Any) -> bytes:
    compiled = bytes(machine.emit_object(llvm.parse_assembly(optimised)))
    copied = _ADDED_MOVES.search(optimised)
    return compiled if copied is None else with_added_moves(compiled, int(copied[1]))


def _assembly(optimised: str, machine: Any) -> str:
    """The code of the object as text."""
    text = str(machine.emit_assembly(llvm.parse_assembly(optimised)))
    if (copied := _ADDED_MOVES.search(optimised)) is None:
        return text
    # Where sums may copy is read from the object before any does.
    compiled = machine.emit_object(llvm.parse_assembly(optimised))
    return added_moves(text, compiled, int(copied[1]))


def _faster_order(optimised: str, machine: Any) -> MachineCode:
    """The module's code, in the order that is the faster one by estimate where it asks for that.

    From the top, loads come early and chains of operations alternate, which makes some kernels a
    quarter faster, and those whose addresses ascend only then, 2.5 times. In both directions fewer
    registers are saved, and loads lie between long operations: others are a fifth faster. So both
    are made, unless code from the top takes no longer than the units and memory that it needs. Code
    outside of loops, as where a short block is walked at once, counts where there are no loops, or
    where it saves registers, and takes more than little. Where registers are saved in the faster
    one, and that takes more than little, it may keep the order in which it was written, if that
    saves none: with registers saved there, too, kernels were 3% to 7% slower.
    """
    asked = f'"{BY_ESTIMATE}"'
    if asked not in optimised:
        return _translated(optimised, machine)

    def ordered(order: str) -> tuple[MachineCode, LoopEstimate]:
        code = _translated(optimised.replace(asked, f'"{order}"'), machine)
        return code, estimated_cycles(_instructions(code.object))

    best, estimate = ordered("topdown")
    counts_all = estimate.saves_between or not estimate.cycles
    if estimate.least >= _CLEARLY * estimate.cycles:
        cycles, least = estimate.of_all
        if not counts_all or least >= _WORTHWHILE * cycles:
            return best
    for order in ("bidirectional", _AS_WRITTEN):
        if order == _AS_WRITTEN and not _pays_to_save_none(estimate, counts_all):
            break
        code, other = ordered(order)
        cycles, fewer = (e.of_all[0] if counts_all else e.cycles for e in (estimate, other))
        if fewer < _CLEARLY * cycles and not (order == _AS_WRITTEN and other.saves):
            best, estimate = code, other
    return best


def _pays_to_save_none(estimate: LoopEstimate, counts_all: bool) -> bool:
    """Whether saved registers take so long that another translation may pay that saves none."""
    if not estimate.saves:
        return False
    pair = (estimate.without_saves(), estimate)
    fewer, cycles = (each.of_all[0] if counts_all else each.cycles for each in pair)
    return fewer < _WORTHWHILE * cycles


# What code around loops, or without saves, may take less for another translation to pay.
_WORTHWHILE = 0.95
# Of estimates that are about the same, the code whose loads come early is the faster one.
_CLEARLY = 0.99
# What a module has in place of a direction where LLVM's scheduler leaves it alone.
_AS_WRITTEN = "as-written"


def code_bytes(compiled: bytes) -> int:
    """Size of the instructions in an object file; constants do not count."""
    return len(_instructions(compiled))


def _instructions(compiled: bytes) -> bytes:
    sections = llvm.ObjectFileRef.from_data(compiled).sections()
    return b"".join(bytes(section.data()) for section in sections if section.is_text())


def assemble(llir: str) -> str:
    """The assembly, for people, of a module that `generate` has optimised.

    It takes a translation or two, so it is made only where somebody reads it. The module itself
    says for which processor it is.
    """
    cpu, features = (_ATTRIBUTE.format(name) for name in ("cpu", "features"))
    found = [re.search(pattern, llir) for pattern in (cpu, features)]
    chosen = [match[1] if match else "" for match in found]
    machine = _machine(str(llvm.parse_assembly(llir).triple), *chosen)
    with _options_of(llir):
        return _assembly(llir, machine) + tile_functions(llir)


# How a function in LLVM's IR says what it was compiled for.
_ATTRIBUTE = '"target-{}"="([^"]*)"'


def target_machine(target: Target) -> Any:
    """LLVM's code generator for `target`.

    Raises:
        CompileError: for a RISC-V core that LLVM does not know.
    """
    if target.backend == "rvv" and target.cpu not in _KNOWN_CPUS:
        # LLVM ends the process over a name that it does not know.
        raise CompileError(
            f"there is no RISC-V core named {target.cpu}: "
            f"use one of {', '.join([*CORES, *_KNOWN_CPUS])}"
        )
    return _machine(target.triple, target.cpu, target.features)


@functools.cache
def _machine(triple: str, cpu: str, features: str, level: int = 3) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # After registers are assigned, loads and stores stay in the order that caches were given.
    llvm.set_option("triton_rvv", "--enable-post-misched=false")
    # Nor does a chain of multiply-adds move behind all of its loads, to where its result is stored.
    llvm.set_option("triton_rvv", "--instcombine-code-sinking=false")
    # It ends the process where a masked load became a plain one, whose size it takes for unknown.
    llvm.set_option("triton_rvv", "--x86-disable-avoid-SFB")
    layout = {"reloc": "pic", "codemodel": "small"}  # in a process or in a static executable
    if triple.startswith("riscv64"):
        layout = {"reloc": "static", "codemodel": "medium", "abiname": "lp64d"}
    machine = llvm.Target.from_triple(triple).create_target_machine
    return machine(cpu=cpu, features=features, opt=level, **layout)


@contextmanager
def _options_of(llir: str) -> Iterator[None]:
    """Code inside the `with` is put in order by LLVM if its module asks for that.

    LLVM has such options for the whole process.
    """
    found = _DIRECTION.search(llir)
    direction = found[1] if found and found[1] != _AS_WRITTEN else ""
    options = [f"--enable-misched={'true' if direction else 'false'}"]
    if direction:
        # From the top, LLVM would put loads out of order for a register, and streams of them end.
        pressure = "false" if direction == "topdown" else "true"
        options.append(f"--misched-prera-direction={direction}")
        options.append(f"--misched-regpressure={pressure}")
    with _OPTIONS_LOCK:
        for option in options:
            llvm.set_option("triton_rvv", option)
        yield


_OPTIONS_LOCK = threading.Lock()
_DIRECTION = re.compile(f'"{SCHEDULED_BY_LLVM}"="([^"]*)"')
_ADDED_MOVES = re.compile(f'"{ADDED_MOVES}"="([^"]*)"')

_KNOWN_CPUS = (
    "generic-rv64",
    "spacemit-x60",
    "sifive-x280",
    "sifive-x390",
    "sifive-p470",
    "sifive-p670",
    "sifive-p870",
    "tt-ascalon-d8",
    "xiangshan-kunminghu",
    "xiangshan-nanhu",
)
