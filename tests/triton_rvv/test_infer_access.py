"""What the pass infer-access says of loads and stores, on a few lines of IR."""

from __future__ import annotations

import pytest
from ir_text import function

from triton_rvv.frontend.ttir import Operation, parse_module
from triton_rvv.frontend.ttir_printer import print_ir
from triton_rvv.frontend.ttir_verifier import verify
from triton_rvv.lowering.ttir.access import Access
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import run_passes
from triton_rvv.targets.target import RVVTarget

INTEGERS, POINTERS, FLOATS, TRUTHS = (
    f"tensor<256x{element}>" for element in ("i32", "!tt.ptr<f32>", "f32", "i1")
)


def accesses(body: str, n: int | None = None) -> list[Access]:
    """Of the loads and stores of blocks in a kernel, in their order."""
    module = parse_module(function(body))
    kernel = Kernel(module, RVVTarget(vlen_bits=256), True, [None, None, n])
    run_passes(kernel, watch=lambda *_: verify(module), skipped=["split-blocks"])
    assert print_ir(parse_module(print_ir(module))) == print_ir(module)
    found = [op for op in module.walk() if op in kernel.accesses]
    assert all(shown(op) == kernel.accesses[op].attribute for op in found)
    return [kernel.accesses[op] for op in found]


def shown(operation: Operation) -> object:
    return operation.attributes["triton_rvv.access"]


def block(result: str, name: str, *operands: str, attributes: str = "") -> str:
    """An operation on blocks of integers."""
    types = ", ".join([INTEGERS] * len(operands))
    return f'{result} = "{name}"({", ".join(operands)}) {attributes} : ({types}) -> {INTEGERS}'


def number(result: str, value: int | list[int]) -> str:
    """A constant, of one number or of one for each element."""
    return block(result, "arith.constant", attributes=f"{{value = dense<{value}> : {INTEGERS}}}")


def load(result: str, offset: str, mask: str = "") -> str:
    """A load from %x."""
    at = f'{result}_p = "tt.addptr"(%xs, {offset}) : ({POINTERS}, {INTEGERS}) -> {POINTERS}'
    types = f"({POINTERS}, {TRUTHS})" if mask else f"({POINTERS})"
    operands = f"{result}_p, {mask}" if mask else f"{result}_p"
    return f'{at}\n{result} = "tt.load"({operands}) : {types} -> {FLOATS}'


POSITIONS = "\n".join(
    [
        block("%at", "tt.make_range", attributes="{start = 0, end = 256}"),
        f'%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}',
        f'%ns = "tt.splat"(%n) : (i32) -> {INTEGERS}',
        number("%one", 1),
        number("%two", 2),
    ]
)


@pytest.mark.parametrize(
    ("offset", "address", "kind"),
    [
        ("", "%x + i0", "contiguous"),
        (block("%o", "arith.addi", "%at", "%ns"), "%x + %n + i0", "contiguous"),
        (block("%o", "arith.muli", "%at", "%two"), "%x + 2*i0", "0 of 2 in turn"),
        (block("%o", "arith.muli", "%at", "%ns"), "%x + %n*i0", "strided"),
        (block("%o", "arith.subi", "%two", "%at"), "%x - i0 + 2", "strided"),
        (block("%o", "arith.divsi", "%at", "%ns"), "%x + (i0 // %n)", "pieces"),
        (block("%o", "arith.xori", "%at", "%ns"), "%x + %o", "gathered"),
        (block("%o", "arith.muli", "%ns", "%ns"), "%x + %n*%n", "one element"),
        (number("%o", list(range(256))), "%x + %o", "gathered"),
    ],
)
def test_addresses(offset, address, kind):
    (access,) = accesses(f"{POSITIONS}\n{offset}\n{load('%v', '%o' if offset else '%at')}")
    assert (str(access.address), access.kind) == (address, kind)


@pytest.mark.parametrize("operation", ["arith.muli", "arith.addi", "arith.divsi", "arith.remsi"])
def test_numbers_made_of_ever_more_parts(operation):
    """Each is made of the one before it twice, which has 2^64 parts in the end."""
    body = [POSITIONS, block("%v0", "arith.addi", "%at", "%ns")]
    for turn in range(64):
        body.append(block(f"%w{turn}", operation, f"%v{turn}", "%two"))
        body.append(block(f"%u{turn}", operation, f"%v{turn}", "%ns"))
        body.append(block(f"%v{turn + 1}", "arith.muli", f"%w{turn}", f"%u{turn}"))
    (access,) = accesses("\n".join([*body, load("%v", "%v64")]))
    assert len(str(access.address)) < 1000


def test_a_block_of_two_dimensions_and_its_mask():
    wide = "tensor<4x256xi32>"
    body = f"""{POSITIONS}
    %rows = "tt.make_range"() {{start = 0, end = 4}} : () -> tensor<4xi32>
    %row = "tt.expand_dims"(%rows) {{axis = 1}} : (tensor<4xi32>) -> tensor<4x1xi32>
    %is = "tt.broadcast"(%row) : (tensor<4x1xi32>) -> {wide}
    %column = "tt.expand_dims"(%at) {{axis = 0}} : ({INTEGERS}) -> tensor<1x256xi32>
    %js = "tt.broadcast"(%column) : (tensor<1x256xi32>) -> {wide}
    %stride = "tt.splat"(%n) : (i32) -> {wide}
    %down = "arith.muli"(%js, %stride) : ({wide}, {wide}) -> {wide}
    %o = "arith.addi"(%is, %down) : ({wide}, {wide}) -> {wide}
    %all = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<4x256x!tt.ptr<f32>>
    %p = "tt.addptr"(%all, %o) : (tensor<4x256x!tt.ptr<f32>>, {wide}) -> tensor<4x256x!tt.ptr<f32>>
    %inside = "arith.cmpi"(%column, %column) {{predicate = 2}}
      : (tensor<1x256xi32>, tensor<1x256xi32>) -> tensor<1x256xi1>
    %m = "tt.broadcast"(%inside) : (tensor<1x256xi1>) -> tensor<4x256xi1>
    %v = "tt.load"(%p, %m) : (tensor<4x256x!tt.ptr<f32>>, tensor<4x256xi1>) -> tensor<4x256xf32>
    """
    (access,) = accesses(body)
    assert (str(access.address), access.kind) == ("%x + i0 + %n*i1", "by column")
    assert access.attribute["mask"] == "i1 < i1"
    assert accesses(body, n=8)[0].is_denser_by_column
    assert not access.is_denser_by_column


# -- streams ---------------------------------------------------------------------------------------

TWICE = f"{POSITIONS}\n{block('%even', 'arith.muli', '%at', '%two')}"


def pair(between: str = "", distance: str = "%one", mask: str = "") -> list[Access]:
    following = block("%odd", "arith.addi", "%even", distance)
    return accesses(
        "\n".join([TWICE, following, load("%a", "%even"), between, load("%b", "%odd", mask)])
    )


def test_two_loads_of_neighbours():
    first, second = pair()
    assert first.streams is second.streams is not None
    assert (first.place, second.place, first.streams.places) == (0, 1, (0, 1))
    assert second.kind == "1 of 2 in turn"


@pytest.mark.parametrize(
    "loads",
    [
        pair('"gpu.barrier"() : () -> ()'),
        pair(distance="%two"),
        pair(distance="%ns"),
        pair(
            f'%m = "arith.cmpi"(%at, %ns) {{predicate = 2}} : ({INTEGERS}, {INTEGERS}) -> {TRUTHS}',
            mask="%m",
        ),
    ],
)
def test_loads_that_are_not_taken_together(loads):
    first, second = loads
    assert first.streams is not second.streams


def stored(*distances: int) -> list[Access]:
    """Stores to every second element, from so far on each, of what a load gives."""
    body = [TWICE, load("%v", "%at")]
    for place, distance in enumerate(distances):
        body.append(number(f"%c{place}", distance))
        body.append(block(f"%o{place}", "arith.addi", "%even", f"%c{place}"))
        types = f"({POINTERS}, {INTEGERS}) -> {POINTERS}"
        body.append(f'%p{place} = "tt.addptr"(%xs, %o{place}) : {types}')
        body.append(f'"tt.store"(%p{place}, %v) : ({POINTERS}, {FLOATS}) -> ()')
    return accesses("\n".join(body))[1:]


def test_two_stores_that_fill_rows():
    first, second = stored(0, 1)
    assert first.streams is second.streams is not None
    assert [first.kind, second.kind] == ["0 of 2 in turn", "1 of 2 in turn"]
    # Of three, the last two do.
    kinds = [access.kind for access in stored(5, 0, 1)]
    assert kinds == ["strided", "0 of 2 in turn", "1 of 2 in turn"]


@pytest.mark.parametrize("distances", [(1, 0), (0, 2), (0, 0), (0,)])
def test_stores_that_do_not(distances):
    assert all(access.streams is None for access in stored(*distances))


@pytest.mark.parametrize(("factor", "together"), [(2, True), (1, False)])
def test_a_scalar_sum_that_may_wrap(factor, together):
    """Of an even number, the next one has the same sign; of any number, it may be the least one."""
    body = f"""{TWICE}
    %factor = "arith.constant"() {{value = {factor} : i32}} : () -> i32
    %c = "arith.constant"() {{value = 1 : i32}} : () -> i32
    %base = "arith.muli"(%n, %factor) : (i32, i32) -> i32
    %next = "arith.addi"(%base, %c) : (i32, i32) -> i32
    """
    for name in ("base", "next"):
        body += f"""
        %{name}_x = "tt.addptr"(%x, %{name}) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
        %{name}_s = "tt.splat"(%{name}_x) : (!tt.ptr<f32>) -> {POINTERS}
        %{name}_p = "tt.addptr"(%{name}_s, %even) : ({POINTERS}, {INTEGERS}) -> {POINTERS}
        %{name}_v = "tt.load"(%{name}_p) : ({POINTERS}) -> {FLOATS}
        """
    first, second = accesses(body)
    assert (first.streams is second.streams) == together


# -- how far the next block is ---------------------------------------------------------------------

LOOP = f"""{POSITIONS}
%p = "tt.addptr"(%xs, %at) : ({POINTERS}, {INTEGERS}) -> {POINTERS}
%turns = "arith.constant"() {{value = TURNS : i32}} : () -> i32
%zero = "arith.constant"() {{value = 0 : i32}} : () -> i32
%c = "arith.constant"() {{value = 4 : i32}} : () -> i32
%q = "scf.for"(%zero, %turns, %c, %p) ({{
^bb0(%i: i32, %r: {POINTERS}):
  %is = "tt.splat"(%i) : (i32) -> {INTEGERS}
  OFFSET
  %s = "tt.addptr"(%r, %step) : ({POINTERS}, {INTEGERS}) -> {POINTERS}
  %v = "tt.load"(FROM) : ({POINTERS}) -> {FLOATS}
  "scf.yield"(%s) : ({POINTERS}) -> ()
}}) : (i32, i32, i32, {POINTERS}) -> {POINTERS}
"""


@pytest.mark.parametrize(
    ("offset", "pointers", "turns", "moves_by"),
    [
        (block("%step", "arith.addi", "%ns", "%one"), "%r", 16, "%n + 1"),  # carried
        (block("%step", "arith.muli", "%is", "%ns"), "%s", 16, None),  # by more in each turn
        (block("%step", "arith.addi", "%is", "%at"), "%p", 16, "0"),
        (block("%step", "arith.addi", "%ns", "%one"), "%r", 4, "%n + 1"),
    ],
)
def test_how_far_a_loop_moves_a_block(offset, pointers, turns, moves_by):
    body = LOOP.replace("OFFSET", offset).replace("FROM", pointers).replace("TURNS", str(turns))
    (access,) = accesses(body)
    assert (None if access.moves_by is None else str(access.moves_by)) == moves_by


@pytest.mark.parametrize(("turns", "moves_by"), [(16, "4*%n"), (4, "0")])
def test_a_counter_moves_a_block(turns, moves_by):
    """Of a single turn, it does not."""
    offset = "\n".join(
        [
            block("%step", "arith.addi", "%ns", "%one"),
            block("%far", "arith.muli", "%is", "%ns"),
            f'%t = "tt.addptr"(%p, %far) : ({POINTERS}, {INTEGERS}) -> {POINTERS}',
        ]
    )
    body = LOOP.replace("OFFSET", offset).replace("FROM", "%t").replace("TURNS", str(turns))
    assert str(accesses(body)[0].moves_by) == moves_by


@pytest.mark.parametrize(
    ("done", "streams"),
    [("", True), ("store", True), ("load", True), ("load store", False)],
)
def test_a_loop_that_copies_streams_in_and_one_that_stores_and_loads_more_does_not(done, streams):
    more = {
        "load": f'%w = "tt.load"(%p) : ({POINTERS}) -> {FLOATS}',
        "store": f'"tt.store"(%p, %v) : ({POINTERS}, {FLOATS}) -> ()',
    }
    offset = f"""%id = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
    %far = "arith.addi"(%id, %i) : (i32, i32) -> i32
    %step = "tt.splat"(%far) : (i32) -> {INTEGERS}"""
    body = LOOP.replace("OFFSET", offset).replace("FROM", "%s").replace("TURNS", "16")
    body = body.replace('"scf.yield"', "\n".join([*map(more.get, done.split()), '"scf.yield"']))
    assert accesses(body.replace("(%r, %step)", "(%p, %step)"))[0].streams_in == streams


@pytest.mark.parametrize(
    ("axis", "operation", "distance"),
    [(0, "arith.muli", "%n"), (1, "arith.muli", "0"), (0, "arith.divsi", None)],
)
def test_how_far_the_next_program_is(axis, operation, distance):
    body = f"""{POSITIONS}
    %id = "tt.get_program_id"() {{axis = {axis}}} : () -> i32
    %o = "{operation}"(%id, %n) : (i32, i32) -> i32
    %os = "tt.splat"(%o) : (i32) -> {INTEGERS}
    {block("%far", "arith.addi", "%os", "%at")}
    {load("%v", "%far")}
    """
    (access,) = accesses(body)
    found = access.to_next_program
    assert (None if found is None else str(found)) == distance
