"""Writes LLVM IR as text: vectors, memory, loops and branches of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from triton_rvv.lowering.llvm.abilities import NO_ABILITIES, Abilities
from triton_rvv.lowering.llvm.instructions import Instructions
from triton_rvv.lowering.llvm.pieces import Pieces
from triton_rvv.lowering.llvm.rules import Choices
from triton_rvv.lowering.llvm.values import TRUE, Val, integer, type_suffix, vector_type

__all__ = ["READ", "SCRATCH", "WRITE", "Builder"]

S = TypeVar("S")
T = TypeVar("T")

# Where arrays lie that are too large for the stack, in a function that has any.
SCRATCH = Val("ptr", "%scratch")
# What a prefetch is for.
READ, WRITE = integer(0, "i32"), integer(1, "i32")


class Builder(Instructions):
    """Writes one function.

    Attributes:
        helpers: the result type and the text of functions that this one calls, by name.
    """

    def __init__(self, abilities: Abilities = NO_ABILITIES, choices: Choices | None = None) -> None:
        super().__init__(abilities, choices)
        self.allocas: list[str] = []
        self.metadata: list[str] = []
        self.helpers: dict[str, tuple[str, str]] = {}
        self.block = "entry"
        self._pieces: Pieces | None = None
        self._written: tuple[str, list[str], dict[str, Val]] = ("", [], {})
        self._fixes_loads = False

    def once(self, key: str, write: Callable[[], Val]) -> Val:
        """The result of code without effects; written once where lines follow one another."""
        block, lines, _ = self._written
        if block != self.block or lines is not self.lines:
            self._written = self.block, self.lines, {}
        results = self._written[2]
        if key not in results:
            results[key] = write()
        return results[key]

    # -- vectors -------------------------------------------------------------------------------

    def iota(self, element: str, width: int) -> Val:
        """0, 1, 2, ... in the lanes of an integer vector."""
        if width == 1:
            return integer(0, element)
        lanes = ", ".join(f"{element} {lane}" for lane in range(width))
        return Val(vector_type(element, width), f"<{lanes}>")

    def vector(self, numbers: Sequence[int], element: str) -> Val:
        """A constant vector of integers."""
        lanes = ", ".join(f"{element} {number}" for number in numbers)
        return Val(vector_type(element, len(numbers)), f"<{lanes}>")

    def lanes(self, value: Val, first: int, width: int) -> Val:
        """`width` lanes of a vector from lane `first` on."""
        if (number := self.repeated(value)) is not None:
            return self.splat(number, width)
        if width == 1:
            return self.emit(value.element, f"extractelement {value}, i64 {first}")
        type_ = vector_type(value.element, width)
        mask = ", ".join(f"i32 {lane}" for lane in range(first, first + width))
        text = f"shufflevector {value}, {value.type} poison, <{width} x i32> <{mask}>"
        return self.emit(type_, text)

    def chosen(self, value: Val, lanes: Sequence[int]) -> Val:
        """Some lanes of a vector as another vector; one lane is a scalar."""
        return self.lanes(value, lanes[0], 1) if len(lanes) == 1 else self.shuffle(value, lanes)

    def shuffle(self, value: Val, lanes: Sequence[int | None], other: Val | None = None) -> Val:
        """The given lanes of a vector, and of `other` as if it followed; None gives any value."""
        mask = ", ".join("i32 poison" if lane is None else f"i32 {lane}" for lane in lanes)
        second = f"{value.type} poison" if other is None else str(other)
        text = f"shufflevector {value}, {second}, <{len(lanes)} x i32> <{mask}>"
        return self.emit(vector_type(value.element, len(lanes)), text)

    # -- memory --------------------------------------------------------------------------------

    def alloca(self, element: str, count: int) -> Val:
        """A stack array, aligned to a cache line and alive for the whole function."""
        name = f"%a{self._fresh()}"
        self.allocas.append(f"  {name} = alloca [{count} x {element}], align 64")
        return Val("ptr", name)

    def scratch_array(self, place_bytes: int) -> Val:
        """An array in the launcher's memory, aligned to a cache line."""
        name = f"%a{self._fresh()}"
        self.allocas.append(f"  {name} = getelementptr i8, ptr {SCRATCH.ref}, i64 {place_bytes}")
        return Val("ptr", name)

    def constant_array(self, values: Sequence[Val]) -> Val:
        """The address of an array that holds `values`, all of one type."""
        name = f"@constants{self._fresh()}"
        type_ = f"[{len(values)} x {values[0].type}]"
        elements = ", ".join(map(str, values))
        self.constants.append(f"{name} = private constant {type_} [{elements}], align 64")
        return Val("ptr", name)

    def zeros(self, type_: str) -> Val:
        """The address of a constant 0 of a type."""
        name = f"@zeros.{type_suffix(Val(type_, ''))}"
        line = f"{name} = private constant {type_} zeroinitializer, align 64"
        if line not in self.constants:
            self.constants.append(line)
        return Val("ptr", name)

    def element_pointer(self, element: str, pointer: Val, index: Val) -> Val:
        """The address of `pointer[index]`; vectors of indices give vectors of addresses."""
        if index.constant == 0 and index.width == 1:
            return pointer
        type_ = vector_type("ptr", max(pointer.width, index.width))
        return self.emit(type_, f"getelementptr {element}, {pointer}, {index}")

    def of_unknown_origin(self, value: Val) -> Val:
        """The same integer, of which LLVM does not know the value, even if it is constant."""
        return self.emit(value.type, f'call {value.type} asm "", "=r,0"({value})')

    def on_from_here(self, pointer: Val) -> Val:
        """The same address, as a place from which to go on.

        Of addresses that follow one another in a loop, LLVM would make one sum each, and keep what
        does not change in more registers than there are.
        """
        return self.call("ptr", "llvm.launder.invariant.group.p0", [pointer])

    def load(self, type_: str, pointer: Val, align: int) -> Val:
        """Read a scalar or a vector of neighbours."""
        kind = "load volatile" if self._fixes_loads else "load"
        return self.emit(type_, f"{kind} {type_}, {pointer}, align {align}")

    def gather(self, element: str, addresses: Val, align: int) -> Val:
        """Read a scalar, or what lies at each address of a vector."""
        if addresses.width == 1:
            return self.load(element, addresses, align)
        type_ = vector_type(element, addresses.width)
        suffix = f"{type_suffix(Val(type_, ''))}.{type_suffix(addresses)}"
        aligned = Val(f"{addresses.type} align {align}", addresses.ref)
        everywhere = self.splat(TRUE, addresses.width)
        name, anything = f"llvm.masked.gather.{suffix}", Val(type_, "poison")
        return self.call(type_, name, [aligned, everywhere, anything])

    def prefetch(self, address: Val, access: Val = READ) -> None:
        """Ask for the cache line of an address, to read or to write it; a hint.

        Nothing is asked of a core whose prefetches are off.
        """
        if self.abilities.machine.prefetch == "off":
            return
        keep, data = integer(3, "i32"), integer(1, "i32")
        self.call_void("llvm.prefetch.p0", [address, access, keep, data])

    @contextmanager
    def fixed_loads(self) -> Iterator[None]:
        """Loads written inside the `with` stay where they are.

        LLVM would sink the first load of a loop's carried value into the loop, together with the
        load that follows it, right before where the value is used.
        """
        self._fixes_loads = True
        try:
            yield
        finally:
            self._fixes_loads = False

    def store(self, value: Val, pointer: Val, align: int) -> None:
        """Write a scalar or a vector of neighbours."""
        self.do(f"store {value}, {pointer}, align {align}")

    # -- control flow --------------------------------------------------------------------------

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{name}:")
        self.block = name

    def branch(self, target: str, loop_mark: str = "") -> None:
        """Go to a block; back to the head of a loop with its mark, where it has one."""
        self.do(f"br label %{target}{loop_mark}")

    def branch_if(self, condition: Val, then: str, otherwise: str, likely: bool = False) -> None:
        """Go to one of two blocks; where the first is likely, the other is put out of the way."""
        weights = ', !prof !{!"branch_weights", i32 2000, i32 1}' if likely else ""
        self.do(f"br {condition}, label %{then}, label %{otherwise}{weights}")

    def fresh_label(self, hint: str) -> str:
        """A block name that is not taken."""
        return f"{hint}{self._fresh()}"

    @contextmanager
    def loop(
        self, start: Val, end: Val, step: Val, loop_mark: str = "", signed: bool = True
    ) -> Iterator[Val]:
        """for (i = start; i < end; i += step); the body runs inside the `with`.

        It is written straight where it is known to run once.

        ```
        before -> head: i = phi [start, before], [next, latch] -> body ... latch -> head
                  head -> done
        ```
        """
        if self.has_one_turn(start, end, step, signed):
            # In a block of its own: LLVM 22.1 joins stores of one block that fill an array, where
            # that of its last part is, though others may follow (LLVM's pull request 189680).
            once = self.fresh_label("once")
            self.branch(once)
            self.label(once)
            yield start
            return
        head, body, done = (self.fresh_label(hint) for hint in ("head", "body", "done"))
        before = self.block
        self.branch(head)
        self.label(head)
        index = Val(start.type, f"%i{self._fresh()}")
        self._note_multiple(index, min(self.multiple(start), self.multiple(step)))
        with self._apart() as turn:
            self.branch_if(self.compare("slt" if signed else "ult", index, end), body, done)
            self.label(body)
            self.intervals.note_counter(index, start, end, signed)
            yield index
            flags = "nsw " if signed else ""
            following = self.emit(index.type, f"add {flags}{index}, {step.ref}")
        # What the head begins with names the values and blocks that the turn ends with.
        ways = f"[ {start.ref}, %{before} ], [ {following.ref}, %{self.block} ]"
        self.lines += [f"  {index.ref} = phi {index.type} {ways}", *turn]
        self.branch(head, loop_mark)
        self.label(done)

    def has_one_turn(self, start: Val, end: Val, step: Val, signed: bool = True) -> bool:
        """Whether sizes and grid say that a loop runs just once."""
        first, size, less = start.constant, step.constant, "slt" if signed else "ult"
        if first is None or size is None:
            return False
        decided, second = self.intervals.decided, integer(first + size, start.type)
        return decided(less, start, end) is True and decided(less, second, end) is False

    def branches(
        self,
        condition: Val,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
        likely: bool = False,
    ) -> None:
        """if (condition) then() else otherwise(); one side only where the condition is known."""
        if condition.truth is not None:
            side = then if condition.truth is True else otherwise
            if side is not None:
                side()
            return
        labels = [self.fresh_label(hint) for hint in ("then", "else", "join")]
        self.branch_if(condition, labels[0], labels[1], likely)
        for label, side in zip(labels, (then, otherwise), strict=False):
            self.label(label)
            if side is not None:
                side()
            self.branch(labels[2])
        self.label(labels[2])

    def interleave(self, parts: Sequence[Callable[[], T]]) -> list[T]:
        """Write independent pieces of code side by side: an instruction of each in turn.

        None of them may branch.
        """
        results, pieces, around = list[T](), Pieces(), self._pieces
        for part in parts:
            with self._apart() as piece:
                self._pieces = pieces.begin(piece)
                results.append(part())
        self._pieces = around
        self.lines += pieces.in_turn()
        return results

    def shared(self, key: object, write: Callable[[], Val]) -> Val:
        """A value that pieces of `interleave` need; the first that asks for it writes it."""
        if self._pieces is None or not self._pieces.is_current(self.lines):
            return write()
        return self._pieces.shared(key, write)

    def beside(self, parts: Sequence[Callable[[], T]], aside: Callable[[], S]) -> tuple[list[T], S]:
        """Write pieces of code as `interleave` does, and spread another one evenly among them.

        None of them may branch.
        """
        with self._apart() as lines:
            results = self.interleave(parts)
        with self._apart() as spread:
            result = aside()
        done = 0
        for number, line in enumerate(spread):
            until = number * len(lines) // len(spread)
            self.lines += [*lines[done:until], line]
            done = until
        self.lines += lines[done:]
        return results, result

    @contextmanager
    def _apart(self) -> Iterator[list[str]]:
        """What is written inside the `with` goes to the list, which is put somewhere afterwards."""
        around, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = around
