"""Writes LLVM IR as text: values, instructions, loops and branches of one function."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from triton_rvv.lowering.llvm.abilities import NO_ABILITIES, Abilities
from triton_rvv.lowering.llvm.pieces import Pieces
from triton_rvv.lowering.llvm.value_ranges import Intervals
from triton_rvv.lowering.llvm.values import (
    Val,
    float_constant,
    folded,
    integer,
    resized,
    type_suffix,
    vector_type,
)

__all__ = ["READ", "SCRATCH", "WRITE", "Builder"]

S = TypeVar("S")
T = TypeVar("T")

# The comparison that holds of what each gives and the other operand.
_EXTREMES = {"llvm.smin": "sle", "llvm.smax": "sge"}

# Where arrays lie that are too large for the stack, in a function that has any.
SCRATCH = Val("ptr", "%scratch")
# What a prefetch is for.
READ, WRITE = integer(0, "i32"), integer(1, "i32")


class Builder:
    """Appends instructions to a function; every value gets a fresh name.

    Args:
        abilities: what the target has instructions for.

    Attributes:
        helpers: the result type and the text of functions that this one calls, by name.
        intervals: what is known of scalar integers before the kernel runs.
        mark: what instructions end with from now on, to say where in the source they come from.
    """

    def __init__(self, abilities: Abilities = NO_ABILITIES) -> None:
        self.abilities = abilities
        self.intervals = Intervals()
        self.mark = ""
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.declarations: set[str] = set()
        self.constants: list[str] = []
        self.metadata: list[str] = []
        self.helpers: dict[str, tuple[str, str]] = {}
        self.block = "entry"
        self._names = 0
        self._pieces: Pieces | None = None
        self._fixes_loads = False
        self._multiples: dict[str, int] = {}
        self._repeated: dict[str, Val] = {}
        self._definitions: dict[str, tuple[str, Sequence[Val]]] = {}

    # -- instructions --------------------------------------------------------------------------

    def emit(self, type_: str, text: str) -> Val:
        """Append an instruction that has a result of `type_`."""
        name = f"%v{self._fresh()}"
        self.lines.append(f"  {name} = {text}{self.mark}")
        return Val(type_, name)

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.mark}")

    def binary(self, name: str, left: Val, right: Val, flags: str = "") -> Val:
        """`left name right` on two values of one type; integer constants are folded."""
        if (known := folded(name, left, right)) is not None:
            return known
        result = self.emit(left.type, f"{name} {flags}{left.type} {left.ref}, {right.ref}")
        if name == "mul":
            self._note_multiple(result, self.multiple(left) * self.multiple(right))
        elif name in ("add", "sub"):
            self._note_multiple(result, min(self.multiple(left), self.multiple(right)))
        self._note_result(name, result, (left, right))
        return result

    def _note_result(self, name: str, result: Val, operands: Sequence[Val]) -> None:
        self.define(result, name, operands)
        self.intervals.note_result(name, result, operands)

    def define(self, value: Val, name: str, operands: Sequence[Val]) -> None:
        """Say what a value is, for `definition`."""
        self._definitions[value.ref] = name, operands

    def definition(self, value: Val) -> tuple[str, Sequence[Val]]:
        """LLVM's name of the instruction that computes a value, and its operands, where known.

        For several instructions it may be the name of what they compute, such as "exp".
        """
        return self._definitions.get(value.ref, ("", ()))

    def multiple(self, value: Val) -> int:
        """A power of two that divides an integer, as far as is known; a sum that wraps keeps it."""
        if (number := value.constant) is not None:
            return number & -number or 1 << 63
        return max(self._multiples.get(value.ref, 1), self.intervals.multiple(value))

    def _note_multiple(self, value: Val, factor: int) -> None:
        if factor > 1:
            self._multiples[value.ref] = factor

    def add(self, left: Val, right: Val) -> Val:
        """Integer sum."""
        return self.binary("add", left, right)

    def mul(self, left: Val, right: Val) -> Val:
        """Integer product."""
        return self.binary("mul", left, right)

    def split(self, position: Val, size: int) -> tuple[Val, Val]:
        """A position as the nearest multiple of `size` (a power of two) below it, and the rest."""
        if (number := position.constant) is not None:
            return integer(number // size * size), integer(number % size)
        if self.multiple(position) >= size:
            return position, integer(0, position.type)
        rest = self.binary("and", position, integer(size - 1))
        return self.binary("and", position, integer(-size)), rest

    def shift_right(self, value: Val, bits: int) -> Val:
        """An integer that is not negative divided by a power of two."""
        if bits == 0 or (number := value.constant) is None:
            return value if bits == 0 else self.binary("lshr", value, integer(bits, value.type))
        return integer(number >> bits, value.type)

    def conjunction(self, left: Val, right: Val) -> Val:
        """`left and right` of truth values, a scalar one being spread over a vector's lanes."""
        if left.truth is True:
            return right
        if right.truth is True:
            return left
        if "false" in (left.ref, right.ref):
            return Val("i1", "false")
        width = max(left.width, right.width)
        return self.binary("and", self.splat(left, width), self.splat(right, width))

    def compare(self, predicate: str, left: Val, right: Val) -> Val:
        """A comparison of integers, addresses or floats, lane by lane.

        It is "true" or "false" where sizes and grid decide it.
        """
        if (holds := self.intervals.decided(predicate, left, right)) is not None:
            return Val("i1", "true" if holds else "false")
        name = "icmp" if left.element[0] in "ip" else "fcmp"
        type_ = vector_type("i1", left.width)
        result = self.emit(type_, f"{name} {predicate} {left}, {right.ref}")
        self.define(result, f"{name} {predicate}", (left, right))
        return result

    def select(self, condition: Val, then: Val, otherwise: Val) -> Val:
        """`then` where the condition holds; a scalar condition chooses whole vectors."""
        if condition.truth is not None:
            return then if condition.truth is True else otherwise
        result = self.emit(then.type, f"select {condition}, {then}, {otherwise}")
        self.define(result, "select", (condition, then, otherwise))
        self.intervals.note_result("select", result, (then, otherwise))
        return result

    def cast(self, name: str, value: Val, element: str) -> Val:
        """A conversion such as "sext" or "fptrunc" to vectors or scalars of `element`."""
        type_ = vector_type(element, value.width)
        if name in ("sext", "zext", "trunc") and (number := value.constant) is not None:
            return integer(resized(name, number, value.element, element), type_)
        if name == "uitofp" and value.truth is not None:
            return float_constant(element, float(value.truth is True))
        result = self.emit(type_, f"{name} {value} to {type_}")
        if name in ("sext", "zext", "trunc"):
            self._note_multiple(result, self.multiple(value))
            self._note_result(name, result, (value,))
        return result

    def resize(self, value: Val, element: str, signed: bool = True) -> Val:
        """An integer with the width of `element`."""
        source, target = int(value.element[1:]), int(element[1:])
        if source == target:
            return value
        widen = "sext" if signed else "zext"
        return self.cast("trunc" if target < source else widen, value, element)

    def call(self, type_: str, name: str, arguments: Sequence[Val]) -> Val:
        """Call a function or intrinsic, which is declared by its arguments' types."""
        self.declarations.add(f"declare {type_} @{name}({', '.join(a.type for a in arguments)})")
        return self.emit(type_, f"call {type_} @{name}({', '.join(map(str, arguments))})")

    def intrinsic(self, name: str, operands: Sequence[Val]) -> Val:
        """Call an LLVM intrinsic that is overloaded on its only type."""
        if name in _EXTREMES:
            for one, other in itertools.permutations(operands):
                if self.intervals.decided(_EXTREMES[name], one, other):
                    return one
        result = self.call(operands[0].type, f"{name}.{type_suffix(operands[0])}", operands)
        self._note_result(name, result, operands)
        return result

    def call_void(self, name: str, arguments: Sequence[Val]) -> None:
        """Call a function that returns nothing."""
        self.declarations.add(f"declare void @{name}({', '.join(a.type for a in arguments)})")
        self.do(f"call void @{name}({', '.join(map(str, arguments))})")

    def text(self, content: str) -> Val:
        """The address of a constant string, which ends in NUL."""
        name, content_bytes = f"@text{self._fresh()}", content.encode() + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in content_bytes)
        array = f"[{len(content_bytes)} x i8]"
        self.constants.append(f'{name} = private unnamed_addr constant {array} c"{escaped}"')
        return Val("ptr", name)

    # -- vectors -------------------------------------------------------------------------------

    def splat(self, value: Val, width: int) -> Val:
        """`value` in every lane."""
        if value.width == width:
            return value
        type_ = vector_type(value.type, width)
        if not value.ref.startswith("%"):
            result = Val(type_, f"splat ({value})")
        else:
            first = self.emit(type_, f"insertelement {type_} poison, {value}, i64 0")
            zeros = f"<{width} x i32> zeroinitializer"
            result = self.emit(type_, f"shufflevector {first}, {type_} poison, {zeros}")
        self._repeated[result.ref] = value
        return result

    def repeated(self, value: Val) -> Val | None:
        """The scalar that is in every lane, where `splat` made the vector."""
        return self._repeated.get(value.ref)

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
        everywhere = self.splat(Val("i1", "true"), addresses.width)
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

    def _fresh(self) -> int:
        self._names += 1
        return self._names
