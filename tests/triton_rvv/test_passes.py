"""Each pass on a few lines of IR: where it fires, and where it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ir_passes import after, only
from ir_text import function

from triton_rvv.frontend.ttir import Operation, Value, parse_module
from triton_rvv.frontend.ttir_printer import print_ir
from triton_rvv.lowering.ttir import joint_reductions
from triton_rvv.lowering.ttir.column_limits import IS_RESHAPED
from triton_rvv.lowering.ttir.combining import uniform_results
from triton_rvv.lowering.ttir.interleaved_stores import MAY_WAIT, STORE_GROUP
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.passes import PARSED, PASSES, Fired, run_passes
from triton_rvv.lowering.ttir.schedule import SCHEDULE
from triton_rvv.targets.target import RVVTarget

ROW = "tensor<512xf32>"


def region(operation: str, element: str = "f32") -> str:
    """A region that combines two elements."""
    return f"""({{
      ^bb0(%a: {element}, %b: {element}):
        %c = "{operation}"(%a, %b) : ({element}, {element}) -> {element}
        "tt.reduce.return"(%c) : ({element}) -> ()
    }})"""


# -- schedule --------------------------------------------------------------------------------------

LOAD = f"""
%at = "tt.make_range"() {{end = 512, start = 0}} : () -> tensor<512xi32>
%xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
%p = "tt.addptr"(%xs, %at) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
%v = "tt.load"(%p) : (tensor<512x!tt.ptr<f32>>) -> {ROW}
"""


@pytest.mark.parametrize(
    ("body", "direction"),
    [
        (LOAD, "by-estimate"),
        (
            LOAD + f'%r = "tt.reduce"(%v) {region("arith.addf")} {{axis = 0}} : ({ROW}) -> f32',
            "by-estimate",
        ),
        (
            LOAD + f'%r = "tt.reduce"(%v) {region("arith.maxnumf")} {{axis = 0}} : ({ROW}) -> f32',
            "bidirectional",
        ),
    ],
)
def test_choose_schedule(body, direction):
    count, module = after("choose-schedule", body)
    assert count == 1
    assert only(module, "tt.func").attributes[SCHEDULE] == direction


# -- bounded powers --------------------------------------------------------------------------------

POWER = f"""{LOAD}
%m = "tt.reduce"(%v) {region("OPERATION")} {{axis = 0}} : ({ROW}) -> f32
%ms = "tt.splat"(%m) : (f32) -> {ROW}
%d = "arith.subf"(%v, %ms) : ({ROW}, {ROW}) -> {ROW}
%e = "math.exp"(%d) : ({ROW}) -> {ROW}
"""


@pytest.mark.parametrize(("operation", "count"), [("arith.maxnumf", 1), ("arith.minnumf", 0)])
def test_mark_bounded_powers(operation, count):
    assert after("mark-bounded-powers", POWER.replace("OPERATION", operation))[0] == count


# -- accumulators ----------------------------------------------------------------------------------

SUMS = f"""{LOAD}
%zero = "arith.constant"() {{value = dense<START> : {ROW}}} : () -> {ROW}
%total = "scf.for"(%n, %n, %n, %zero) ({{
^bb0(%i: i32, %sum: {ROW}):
  %new = "arith.addf"(%sum, %v) : ({ROW}, {ROW}) -> {ROW}
  "scf.yield"(%new) : ({ROW}) -> ()
}}) : (i32, i32, i32, {ROW}) -> {ROW}
%s = "tt.reduce"(%total) {region("arith.addf")} {{axis = 0}} : ({ROW}) -> f32
"""


def test_narrow_accumulators():
    count, module = after("narrow-accumulators", SUMS.replace("START", "0.0"))
    assert count == 1
    loop = only(module, "scf.for")
    assert str(loop.result.type) == "tensor<64xf32>"
    inside = [operation.name for operation in loop.regions[0].block.operations]
    assert inside == ["tt.reshape", "tt.reduce", "arith.addf", "scf.yield"]
    printed = print_ir(module)
    assert "(tensor<512xf32>) -> tensor<8x64xf32>" in printed
    assert "(tensor<8x64xf32>) -> tensor<64xf32>" in printed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("START", "1.0"),  # would be added once for each narrower element
        ('%c = "arith.addf"', '%c = "arith.maxnumf"'),
        ("%new) : ", "%v) : "),
    ],
)
def test_accumulators_that_stay(old, new):
    assert old in SUMS
    body = SUMS.replace(old, new).replace("START", "0.0")
    assert after("narrow-accumulators", body)[0] == 0


# -- comparisons -----------------------------------------------------------------------------------

LABELS = """
%at = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
%far = "arith.extsi"(%at) : (tensor<64xi32>) -> tensor<64xi64>
%label = "tt.splat"(%wide) : (i64) -> tensor<64xi64>
%m = "arith.cmpi"(%far, %label) {predicate = PREDICATE}
  : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
%f = "arith.uitofp"(%m) : (tensor<64xi1>) -> tensor<64xf32>
"""


@pytest.mark.parametrize(("predicate", "joined"), [(0, "arith.andi"), (1, "arith.ori")])
def test_narrow_comparisons(predicate, joined):
    body = LABELS.replace("PREDICATE", str(predicate))
    assert after("narrow-comparisons", body)[0] == 1
    _, module = after("narrow-integers", body)
    assert len(only(module, joined).operands) == 2
    assert "tensor<64xi64>" not in print_ir(module)


def test_an_ordering_is_not_narrowed():
    assert after("narrow-comparisons", LABELS.replace("PREDICATE", "2"))[0] == 0


# -- reductions ------------------------------------------------------------------------------------

TWO_SUMS = f"""{LOAD}
%s = "tt.reduce"(%v) {region("arith.addf")} {{axis = 0}} : ({ROW}) -> f32
%w = "arith.mulf"(%v, %v) : ({ROW}, {ROW}) -> {ROW}
BETWEEN
%t = "tt.reduce"(%w) ({{
  ^bb0(%d: f32, %e: f32):
    %g = "arith.maxnumf"(%d, %e) : (f32, f32) -> f32
    "tt.reduce.return"(%g) : (f32) -> ()
  }}) {{axis = 0}} : ({ROW}) -> f32
"""


def test_join_reductions():
    count, module = after("join-reductions", TWO_SUMS.replace("BETWEEN", ""))
    assert count == 1
    joint = only(module, "tt.reduce")
    assert [value.name for value in joint.results] == ["%s", "%t"]
    assert [value.name for value in joint.operands] == ["%v", "%w"]
    assert print_ir(parse_module(print_ir(module))) == print_ir(module)


@pytest.mark.parametrize(("operation", "count"), [("math.exp", 1), ("math.absf", 0)])
def test_sums_of_what_takes_long_are_joined(operation, count):
    computed = f"""
%i = "tt.make_range"() {{end = 512, start = 0}} : () -> tensor<512xi32>
%u = "arith.sitofp"(%i) : (tensor<512xi32>) -> {ROW}
%v = "{operation}"(%u) : ({ROW}) -> {ROW}
"""
    sums = TWO_SUMS.replace("BETWEEN", "").replace(LOAD, "")
    assert after("join-reductions", computed + sums)[0] == count


def test_joining_looks_at_each_operation_once_however_many_reductions_depend_on_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in sorts, which have hundreds."""
    looked_at: list[int] = []

    def counted(operation: Operation, look: Callable[..., set[Value]] = joint_reductions._used):
        looked_at.append(id(operation))
        return look(operation)

    monkeypatch.setattr(joint_reductions, "_used", counted)
    turns = "".join(
        f"""
%r{n} = "tt.reduce"(%v{n - 1 if n else ""}) {region("arith.addf")} {{axis = 0}} : ({ROW}) -> f32
%s{n} = "tt.splat"(%r{n}) : (f32) -> {ROW}
%v{n} = "arith.mulf"(%v, %s{n}) : ({ROW}, {ROW}) -> {ROW}
"""
        for n in range(20)
    )
    count, _ = after("join-reductions", LOAD + turns)
    assert count == 0
    assert len(looked_at) == len(set(looked_at)) > 20


@pytest.mark.parametrize(
    "between",
    [
        f'"tt.store"(%p, %w) : (tensor<512x!tt.ptr<f32>>, {ROW}) -> ()',
        '"gpu.barrier"() : () -> ()',
    ],
)
def test_reductions_with_effects_between_them_stay(between):
    assert after("join-reductions", TWO_SUMS.replace("BETWEEN", between))[0] == 0


def test_a_reduction_of_the_other_ones_result_stays():
    between = f'%ss = "tt.splat"(%s) : (f32) -> {ROW}\n'
    between += f'%w2 = "arith.subf"(%w, %ss) : ({ROW}, {ROW}) -> {ROW}'
    body = TWO_SUMS.replace("BETWEEN", between).replace('"tt.reduce"(%w)', '"tt.reduce"(%w2)')
    assert after("join-reductions", body)[0] == 0


@pytest.mark.parametrize(("operation", "count"), [("arith.mulf", 1), ("arith.subf", 0)])
def test_mark_commutative(operation, count):
    reduction = f'%r = "tt.reduce"(%v) {region(operation)} {{axis = 0}} : ({ROW}) -> f32'
    assert after("mark-commutative", LOAD + reduction)[0] == count


# -- stores ----------------------------------------------------------------------------------------

STORES = f"""{LOAD}
"tt.store"(%p, %v) : (tensor<512x!tt.ptr<f32>>, {ROW}) -> ()
%ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<512x!tt.ptr<f32>>
BETWEEN
"tt.store"(%ys, %v) : (tensor<512x!tt.ptr<f32>>, {ROW}) -> ()
"""


def test_group_stores():
    count, module = after("group-stores", STORES.replace("BETWEEN", ""))
    assert count == 1
    stores = [op for op in module.walk() if op.name == "tt.store"]
    assert [store.attributes[STORE_GROUP] for store in stores] == [0, 0]


def test_stores_of_elements_of_two_sizes():
    """One walk writes both, but blocks of two shapes have a walk each."""
    other = """%b = "arith.constant"() {value = dense<1> : tensor<512xi8>} : () -> tensor<512xi8>
%z = "tt.bitcast"(%y) : (!tt.ptr<f32>) -> !tt.ptr<i8>
%zs = "tt.splat"(%z) : (!tt.ptr<i8>) -> tensor<512x!tt.ptr<i8>>
"tt.store"(%zs, %b) : (tensor<512x!tt.ptr<i8>>, tensor<512xi8>) -> ()
"""
    first = STORES.partition("%ys")[0]
    assert after("group-stores", first + other)[0] == 1
    assert after("group-stores", first + other.replace("512x", "256x"))[0] == 0


def test_stores_of_two_types_do_not_lie_in_turn():
    """A row that two stores fill together is of one type, even where sizes are the same."""
    in_turn = """%twice = "arith.addi"(%at, %at) : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi32>
%one = "arith.constant"() {value = dense<1> : tensor<512xi32>} : () -> tensor<512xi32>
%next = "arith.addi"(%twice, %one) : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi32>
%ps = "tt.addptr"(%xs, %twice) : (tensor<512x!tt.ptr<f32>>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32>>
%b = "arith.constant"() {value = dense<ONE> : tensor<512xTYPE>} : () -> tensor<512xTYPE>
%z = "tt.bitcast"(%x) : (!tt.ptr<f32>) -> !tt.ptr<TYPE>
%zs = "tt.splat"(%z) : (!tt.ptr<TYPE>) -> tensor<512x!tt.ptr<TYPE>>
%qs = "tt.addptr"(%zs, %next) : (tensor<512x!tt.ptr<TYPE>>, tensor<512xi32>) -> tensor<512x!tt.ptr<TYPE>>
"tt.store"(%ps, %v) : (tensor<512x!tt.ptr<f32>>, tensor<512xf32>) -> ()
"tt.store"(%qs, %b) : (tensor<512x!tt.ptr<TYPE>>, tensor<512xTYPE>) -> ()
"""  # noqa: E501

    def kinds(element: str, one: str) -> list[str]:
        module = parse_module(function(LOAD + in_turn.replace("TYPE", element).replace("ONE", one)))
        kernel = Kernel(module, RVVTarget(vlen_bits=256), True, [None] * 3)
        for each in PASSES:
            each.run(kernel)
        return [access.kind for op, access in kernel.accesses.items() if op.name == "tt.store"]

    assert kinds("i8", "1") == kinds("i32", "1") == ["strided", "strided"]
    assert kinds("f32", "1.0") == ["0 of 2 in turn", "1 of 2 in turn"]


def test_stores_with_a_load_of_their_memory_between_them():
    again = f'%again = "tt.load"(%p) : (tensor<512x!tt.ptr<f32>>) -> {ROW}'
    assert after("group-stores", STORES.replace("BETWEEN", again))[0] == 0


LOOP = f"""{LOAD}
%sum = "scf.for"(%n, %n, %n, %v) ({{
^bb0(%i: i32, %total: {ROW}):
  %new = "arith.addf"(%total, %v) : ({ROW}, {ROW}) -> {ROW}
  "tt.store"(%p, %new) : (tensor<512x!tt.ptr<f32>>, {ROW}) -> ()
  BEHIND
  "scf.yield"(%new) : ({ROW}) -> ()
}}) : (i32, i32, i32, {ROW}) -> {ROW}
"""


# One walk cannot write the store's block and the smaller one, to which parts of it are added.
SMALLER = f"""{LOAD}
%few = "arith.constant"() {{value = dense<0.0> : tensor<64xf32>}} : () -> tensor<64xf32>
%sum = "scf.for"(%n, %n, %n, %few) ({{
^bb0(%i: i32, %total: tensor<64xf32>):
  %parts = "tt.reshape"(%v) : ({ROW}) -> tensor<8x64xf32>
  %all = "tt.reduce"(%parts) {region("arith.addf")} {{axis = 0}}
    : (tensor<8x64xf32>) -> tensor<64xf32>
  %new = "arith.addf"(%total, %all) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  "tt.store"(%p, %v) : (tensor<512x!tt.ptr<f32>>, {ROW}) -> ()
  "scf.yield"(%new) : (tensor<64xf32>) -> ()
}}) : (i32, i32, i32, tensor<64xf32>) -> tensor<64xf32>
"""


def test_sink_stores():
    count, module = after("sink-stores", LOOP.replace("BEHIND", ""))
    assert count == 1
    assert MAY_WAIT in only(module, "tt.store").attributes
    assert after("sink-stores", LOOP.replace("BEHIND", '"gpu.barrier"() : () -> ()'))[0] == 0
    assert after("sink-stores", LOOP.replace("BEHIND", ""), disjoint=False)[0] == 0
    assert after("sink-stores", SMALLER)[0] == 0


# -- quotients -------------------------------------------------------------------------------------

QUOTIENT = """
%at = "tt.make_range"() {end = 64, start = 0} : () -> tensor<64xi32>
%m = "tt.splat"(%n) : (i32) -> tensor<64xi32>
%q = "arith.divsi"(%at, %m) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
%r = "arith.addi"(%q, %q) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
"""


def test_mark_reshaped():
    wider = '%e = "tt.expand_dims"(%r) {axis = 0} : (tensor<64xi32>) -> tensor<1x64xi32>'
    count, module = after("mark-reshaped", QUOTIENT + wider)
    assert count == 1
    assert IS_RESHAPED in only(module, "arith.divsi").attributes
    assert after("mark-reshaped", QUOTIENT)[0] == 0


# -- the list --------------------------------------------------------------------------------------


def test_every_pass_is_named_once_and_counted():
    names = [each.name for each in PASSES]
    assert len(set(names)) == len(names)
    assert all(each.says.endswith(".") for each in PASSES)
    kernel = Kernel(parse_module(function(TWO_SUMS.replace("BETWEEN", ""))), RVVTarget(), True)
    seen: list[Fired] = []
    fired = run_passes(kernel, lambda each, module: seen.append(each))
    assert seen == [Fired(PARSED, 0), *fired]
    assert Fired("join-reductions", 1) in fired


# -- what passes and code ask ----------------------------------------------------------------------

MOMENTS = """({
  ^bb0(%mean: f32, %count: f32, %mean2: f32, %count2: f32):
    %total = "arith.addf"(%count, %count2) : (f32, f32) -> f32
    %share = "arith.divf"(%count2, %total) : (f32, f32) -> f32
    %apart = "arith.subf"(%mean2, %mean) : (f32, f32) -> f32
    %move = "arith.mulf"(%apart, %share) : (f32, f32) -> f32
    %new = "arith.addf"(%mean, %move) : (f32, f32) -> f32
    "tt.reduce.return"(%new, %total) : (f32, f32) -> ()
  })"""


@pytest.mark.parametrize(
    ("places", "kept"), [((0, 1), {0, 1}), ((1,), {1}), ((0,), set()), ((), set())]
)
def test_uniform_results(places, kept):
    reduction = f'%r:2 = "tt.reduce"(%v, %v) {MOMENTS} {{axis = 0}} : ({ROW}, {ROW}) -> (f32, f32)'
    module = parse_module(function(LOAD + reduction))
    assert uniform_results(only(module, "tt.reduce"), places) == kept


def test_results_of_a_branch_are_not_uniform():
    branch = """%c = "arith.constant"() {value = true} : () -> i1
    %total = "scf.if"(%c) ({
      "scf.yield"(%count) : (f32) -> ()
    }, {
      "scf.yield"(%count2) : (f32) -> ()
    }) : (i1) -> f32"""
    sum_ = '%total = "arith.addf"(%count, %count2) : (f32, f32) -> f32'
    assert sum_ in MOMENTS
    region_ = MOMENTS.replace(sum_, branch)
    reduction = f'%r:2 = "tt.reduce"(%v, %v) {region_} {{axis = 0}} : ({ROW}, {ROW}) -> (f32, f32)'
    module = parse_module(function(LOAD + reduction))
    assert uniform_results(only(module, "tt.reduce"), (1,)) == frozenset()
