"""Which of a kernel's pointers can lead to the same memory.

Two pointers overlap where they can come from the same argument of the kernel, or where it is not
known where one comes from. Two different arguments are taken not to overlap, as the kernels of
Triton's users do: outputs are separate arrays, and what is updated in place is passed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triton_rvv.ttir import Block, Operation, Value

__all__ = ["Aliases"]

# Operations whose result leads to where these operands lead.
_PASSED_ON = {
    "tt.addptr": (0,),
    "tt.splat": (0,),
    "tt.broadcast": (0,),
    "tt.expand_dims": (0,),
    "tt.reshape": (0,),
    "tt.bitcast": (0,),
    "arith.select": (1, 2),
}


class Aliases:
    """The origins of every pointer in a function.

    Args:
        function: a `tt.func`; control flow inside is structured.
    """

    def __init__(self, function: Operation) -> None:
        sources: dict[Value, list[Value]] = {}
        for operation in function.walk():
            _collect(operation, sources)
        self._arguments = frozenset(function.regions[0].blocks[0].arguments)
        self._sources: Mapping[Value, list[Value]] = sources

    def may_overlap(self, left: Value, right: Value) -> bool:
        """Whether one pointer, or block of pointers, can lead to memory of the other."""
        ours, theirs = self._origins(left), self._origins(right)
        known = (ours | theirs) <= self._arguments
        return not known or not ours.isdisjoint(theirs)

    def _origins(self, pointer: Value) -> set[Value]:
        """The values that a pointer is made from, as far back as can be followed."""
        origins, seen, waiting = set[Value](), {pointer}, [pointer]
        while waiting:
            value = waiting.pop()
            if value not in self._sources:
                origins.add(value)
            for source in self._sources.get(value, ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return origins


def _collect(operation: Operation, sources: dict[Value, list[Value]]) -> None:
    """Add where the results and inner arguments of one operation come from."""
    if operation.name in _PASSED_ON:
        operands = (operation.operands[index] for index in _PASSED_ON[operation.name])
        _extend(sources, operation.results, [list(operands)])
    elif operation.name == "scf.for":
        block = operation.regions[0].block
        carried = [operation.operands[3:], _yielded(block)]
        _extend(sources, operation.results, zip(*carried, strict=True))
        _extend(sources, block.arguments[1:], zip(*carried, strict=True))
    elif operation.name == "scf.while":
        before, after = (region.block for region in operation.regions)
        carried = [operation.operands, _yielded(after)]
        _extend(sources, before.arguments, zip(*carried, strict=True))
        for targets in (operation.results, after.arguments):
            _extend(sources, targets, ([value] for value in _yielded(before)[1:]))
    elif operation.name == "scf.if":
        sides = [_yielded(region.block) for region in operation.regions if region.blocks]
        _extend(sources, operation.results, zip(*sides, strict=False))


def _yielded(block: Block) -> list[Value]:
    return block.operations[-1].operands


def _extend(
    sources: dict[Value, list[Value]], targets: Iterable[Value], origins: Iterable[Iterable[Value]]
) -> None:
    for target, found in zip(targets, origins, strict=False):
        sources.setdefault(target, []).extend(found)
