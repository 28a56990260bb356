"""One run under many models: each gets what it would have got alone."""

from __future__ import annotations

import dataclasses

import pytest
from test_same_estimates import COUNT, LOOP, REGIONS, START

from rvv_runner.emulated.family import Model, family_tables, family_text, models

# Prefetches in time, too late, twice, of pages that no TLB holds, and more than 8 at once.
_PREFETCHES = {
    "ahead": "prefetch.r 512(t2)\nvle32.v v8, (t2)\nvfadd.vv v12, v8, v12\naddi t2, t2, 64",
    "late": "prefetch.r 64(t2)\nvle32.v v8, (t2)\nvfadd.vv v12, v8, v12\naddi t2, t2, 64",
    "pages": "li t3, 4096\nadd t2, t2, t3\nprefetch.r 0(t2)\nprefetch.r 0(t2)\nld t4, 0(t2)",
    "many": "\n".join(f"prefetch.w {32 * k}(t2)" for k in range(0, 24, 2))
    + "\nvse32.v v8, (t2)\nld t4, 64(t2)\nadd t4, t4, t4\naddi t2, t2, 768",
}
# Each on memory of its own, which no cache holds.
_FRESH = [f"{START}li t0, {2**19 * k}\nadd t2, t2, t0" for k in range(1, len(_PREFETCHES) + 1)]
_CASES = [
    (start, LOOP.format(count=COUNT // 4, body=body))
    for start, body in zip(_FRESH, _PREFETCHES.values(), strict=True)
]
_PROGRAMS = [(START, LOOP.format(count=COUNT // 4, body=body)) for body in REGIONS.values()]
_PROGRAMS += _CASES


@pytest.fixture(scope="session")
def tables(cost_table):
    return family_tables(cost_table)


def test_a_model_beside_others_estimates_as_it_does_alone(run_regions, tables):
    together = run_regions(*_PROGRAMS, plugin="family", text=family_text(tables))
    one_by_one = run_regions(*_PROGRAMS, plugin="one", text=family_text(tables))
    alone = [run_regions(*_PROGRAMS, text=table.plugin_text()) for _, table in tables]
    for place in range(len(_PROGRAMS)):
        expected = tuple(regions[place].cycles for regions in alone)
        assert together[place].models == expected
        assert one_by_one[place].models == expected
        assert together[place].counters == alone[0][place].counters


def test_the_models_differ_where_they_should(run_regions, tables):
    found = run_regions(*_CASES, plugin="family", text=family_text(tables))
    names = [model.name for model, _ in tables]
    times = {
        name: dict(zip(names, region.models, strict=True))
        for name, region in zip(_PREFETCHES, found, strict=True)
    }
    assert times["late"]["prefetch-late"] > 1.02 * times["late"]["default"]
    assert times["pages"]["prefetch-ignored"] >= times["pages"]["prefetch-dropped"]
    assert times["pages"]["prefetch-dropped"] > 1.5 * times["pages"]["default"]
    assert times["many"]["prefetch-dropped"] != times["many"]["prefetch-late"]
    assert all(each["busy-neighbour"] >= each["fast-dram"] for each in times.values())


def test_large_times_are_counted_on(run_regions, tables):
    # Ten times as far as 32 bits of hundredths of a cycle go: 2^32 / 100 / 184 divisions.
    body = "\n".join("vfdiv.vv v8, v16, v24" for _ in range(100))
    start = "vsetvli t1, x0, e32, m8, ta, ma\n"
    program = (start, LOOP.format(count=14_000, body=body))
    (found,) = run_regions(program, plugin="family", text=family_text(tables))
    assert found.cycles > 10 * 2**32 / 100
    assert set(found.models) == {found.cycles}
    assert found.cycles == pytest.approx(14_000 * 100 * 320, rel=0.01)


def test_every_model_has_a_reason_and_its_own_name():
    names = [model.name for model in models()]
    assert len(set(names)) == len(names) <= 8
    assert all(len(model.reason) > 40 and model.says for model in models())


def test_a_model_that_is_another_one_on_a_core_is_left_out(cost_table):
    ignoring = models()[3].table(cost_table)
    names = [model.name for model, _ in family_tables(ignoring)]
    assert "prefetch-ignored" not in names
    assert names[0] == "default"


def test_a_board_rules_models_out(cost_table):
    names = [model.name for model, _ in family_tables(cost_table, ["wary-l2"])]
    assert len(names) == len(models()) - 1
    assert "wary-l2" not in names
    with pytest.raises(ValueError, match="default cannot be ruled out"):
        family_tables(cost_table, ["default"])


def test_a_model_changes_named_figures_only(cost_table):
    default = cost_table
    model = Model("x", "x", "x", times={"dram_read": 0.5}, loads=2.0)
    table = model.table(default)
    assert table.cycles("dram_read") == pytest.approx(default.cycles("dram_read") / 2, abs=0.01)
    changed = {name for name, cost in table.classes.items() if cost != default.classes[name]}
    assert changed == {"v_load", "v_load_whole"}
    assert dataclasses.replace(table, classes=default.classes, parameters=default.parameters) == (
        default
    )
