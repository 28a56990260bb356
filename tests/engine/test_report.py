"""The page of a study: its figures, and that a browser shows it."""

from __future__ import annotations

import errno
import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from engine.explained.spent import Spent, keep_spent, kept_spent
from engine.report import main
from engine.reports.inner_loop import innermost_loop
from engine.reports.written import report_path, write_report
from engine.results.trials_table import trials_table
from engine.search import Search
from engine.study.check_notes import keep_notes, kept_notes
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study, study_named
from foundation.config import Config
from foundation.errors import UserError
from search_spaces.space import Parameter, SearchSpace

SPACE = SearchSpace((Parameter("BLOCK", (1, 2, 4, 8, 16, 32)), Parameter("GROUP", (1, 8))))
HOSTILE = "</script><script>fail()</script>\x1b[2J"


def study_in(
    storage: str, device: str, best: int, *, estimated: bool = False, space: SearchSpace = SPACE
) -> str:
    """A study of the whole space whose fastest block is `best`; the largest block is wrong."""
    identity = StudyIdentity("k", {"N": 8}, "fp32", device, "grid", {"compiler": "c"})
    search = Search(space, "grid", trials=open_study(storage, identity, space))
    while (config := search.ask()) is not None:
        if config["BLOCK"] == 32:
            search.tell(config, None, status="wrong", attributes={"reason": HOSTILE})
            continue
        time_s = 1e-3 * (1 + abs(config["BLOCK"] - best)) * (1.5 if config["GROUP"] == 8 else 1)
        notes = {"wall_s": 1.0} if config["BLOCK"] == 1 and config["GROUP"] == 1 else {}
        start_s = 1e9 + 10 * config["BLOCK"]
        spans = [
            ["build", "builder 1", start_s, start_s + 1],
            ["measure", "b", start_s + 1, start_s + 2],
        ]
        search.tell(
            config,
            time_s,
            attributes={"board": "b", "spans": spans, "estimated": estimated, **notes},
        )
    return identity.name


@pytest.fixture
def storage(tmp_path):
    return str(tmp_path / "study.journal")


def page_of(storage, names, tmp_path):
    out = tmp_path / "page.html"
    assert main([*names, "--storage", storage, "--out", str(out)]) == 0
    return out


def data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def test_its_figures_are_those_of_the_csv(storage, tmp_path):
    name = study_in(storage, "board", best=8)
    page = page_of(storage, [name], tmp_path).read_text()
    table = trials_table(list(study_named(storage, name).changes()))
    correct = table[table["status"] == "correct"]
    shown = pandas.DataFrame(
        {**row["config"], "time_s": row["time_ms"] / 1e3} for row in data_of(page)["trials"][0]
    )
    pandas.testing.assert_frame_equal(
        shown, correct[["BLOCK", "GROUP", "time_s"]].reset_index(drop=True), check_dtype=False
    )
    winner, default = correct["time_s"].min(), correct["time_s"].iloc[0]
    assert f"<b>{winner * 1e3:.4g} ms</b>winner" in page
    assert f"<b>{default / winner:.2f}x</b>speed-up" in page
    best = data_of(page)["figures"]["convergence-1"]["data"][1]["y"]
    assert best[-1] == pytest.approx(winner * 1e3)
    assert sorted(best, reverse=True) == best


def test_estimates_say_how_far_off_they_are_and_who_is_tied(storage, tmp_path):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "emulated:x60", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    while (config := search.ask()) is not None:
        fast: dict[object, float] = {8: 1e-3, 16: 1.001e-3}
        time_s = fast.get(config["BLOCK"], 5e-3) * (1 + config["GROUP"])
        counters = {"u_mode_cycle": 1.6e9 * time_s, "l2_miss": 1}
        attributes = {"board": "emulated:x60", "estimated": True, "counters": counters}
        search.tell(config, time_s, attributes=attributes)
    page = page_of(storage, [identity.name], tmp_path).read_text()
    assert re.search(r"not a measurement; the winner's is estimated, ±\d+%", page)
    places = re.findall(r"<td>(winner|\d[^<]*)</td><td><code>BLOCK=(\d+),<wbr>GROUP=(\d)", page)
    assert places[:3] == [("winner", "8", "1"), ("2 tied", "16", "1"), ("3", "8", "8")]


def test_the_first_screen_says_what_to_use_and_what_to_try_next(storage, tmp_path):
    page = page_of(storage, [study_in(storage, "board", best=8)], tmp_path).read_text()
    assert "<h1>k 8, fp32, board, 12 trials</h1>" in page
    assert "<b>Use the winner: 8.00x the default. How sure that is was not measured.</b>" in page
    assert "is the largest value tried" not in page
    assert "in random order" not in page
    page = page_of(storage, [study_in(storage, "other", best=16)], tmp_path).read_text()
    assert "BLOCK=16 is the largest" not in page  # 32 was tried, and is wrong
    page = page_of(storage, [study_in(storage, "third", best=1)], tmp_path).read_text()
    assert "Nothing that was tried is faster than the default: use the default." in page
    assert "BLOCK=1 is the least" not in page  # there is none below


@pytest.mark.parametrize(
    ("best", "said"), [(2, "BLOCK=2 is the least"), (16, "BLOCK=16 is the largest"), (4, "")]
)
def test_a_winner_at_an_edge_of_what_was_tried_asks_for_more(storage, tmp_path, best, said):
    space = SearchSpace((Parameter("BLOCK", (2, 4, 16)), Parameter("GROUP", (1, 8))))
    page = page_of(storage, [study_in(storage, "b", best, space=space)], tmp_path).read_text()
    assert re.findall(r"<li>(BLOCK=\d+ is the \w+) value tried", page) == ([said] if said else [])


def test_a_study_that_was_stopped_before_its_first_trial_says_so(storage, tmp_path):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "board", "grid", {"compiler": "c"})
    open_study(storage, identity, SPACE)
    page = page_of(storage, [identity.name], tmp_path).read_text()
    assert "No configuration was tried: run the same command again." in page
    assert "see what failed" not in page


def test_where_everything_failed_that_comes_first(storage, tmp_path):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "board", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    reason = {"reason": "y[0] is 1 and should be 2; 8 of 8 are wrong"}
    while (config := search.ask()) is not None:
        search.tell(config, None, status="wrong", attributes=reason)
    page = page_of(storage, [identity.name], tmp_path).read_text()
    assert "No configuration was correct: see what failed." in page
    assert "<li>all 12 configurations whose output was checked are wrong in nearly every" in page
    assert page.count("<h2>What failed</h2>") == 1
    assert page.index("<h2>What failed</h2>") < page.index("<h2>What was tuned</h2>")


@pytest.mark.parametrize(("of_default_s", "is_tied"), [(1.001e-3, True), (2e-3, False)])
def test_a_tie_with_the_default_recommends_the_default(storage, tmp_path, of_default_s, is_tied):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "emulated:x60", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    default = next(iter(SPACE.parameters[0].values))
    while (config := search.ask()) is not None:
        is_default = dict(config) == {"BLOCK": default, "GROUP": 1}
        time_s = of_default_s if is_default else 1e-3 * (1 if config["BLOCK"] == 8 else 5)
        counters = {"u_mode_cycle": 1.6e9 * time_s, "l2_miss": 1e6 * time_s}
        notes = {"wall_s": 1.0} if is_default else {}
        attributes = {"board": "emulated:x60", "estimated": True, "counters": counters, **notes}
        search.tell(config, time_s, attributes=attributes)
    page = page_of(storage, [identity.name], tmp_path).read_text()
    block = default if is_tied else 8
    assert f"triton.Config({{&#34;BLOCK&#34;: {block}," in page
    assert ("the default are tied" in page) == ("use the default.</b>" in page) == is_tied
    assert (
        bool(
            re.search(
                r"Use the winner: 2\.00x the default, where the model tells times apart", page
            )
        )
        != is_tied
    )


def test_where_cycles_went_is_told_in_words_and_bars(storage, tmp_path):
    name = study_in(storage, "emulated:x60", best=8, estimated=True)
    stored = study_named(storage, name)
    winner, default = Config({"BLOCK": 8, "GROUP": 1}), Config({"BLOCK": 1, "GROUP": 1})
    line, other = "k.py:3: x = <load>", "k.py:4: store"
    spent = (
        Spent("winner", winner, 100, {"vector": 80, "dram": 20}, {line: {"vector": 80}}),
        Spent("default", default, 200, {"vector": 60, "dram": 140}, {other: {"dram": 140}}),
    )
    keep_spent(stored, spent)
    page = page_of(storage, [name], tmp_path).read_text()
    assert "<h2>Why the winner is faster than the default</h2>" in page
    words = html.unescape(page.replace("<wbr>", ""))
    assert "The default takes 100% more cycles than the winner: 120 on dram (lines from" in words
    assert "The default saves 20 on vector (a vector unit or its result)." in words
    assert "80% of the winner's cycles go to the line k.py:3: x = <load>, most of these" in words
    widths = re.findall(r'<i class="(\w+)" style="width:([\d.]+)%" title', page)
    assert widths == [
        ("vector", "40.00"),
        ("dram", "10.00"),
        ("vector", "30.00"),
        ("dram", "70.00"),
    ]
    assert "x = &lt;load&gt;" in page
    assert kept_spent(stored, [winner, default]) == spent
    assert kept_spent(stored, [default, winner]) == ()  # another winner since
    stored.set_attribute("explained", [{"label": 1}])
    assert kept_spent(stored, [winner, default]) == ()


def test_a_kernel_that_the_study_does_not_know_is_asked_for(storage, tmp_path, capsys):
    name = study_in(storage, "emulated:x60", best=8, estimated=True)
    page = page_of(storage, [name], tmp_path).read_text()
    assert "add --kernel FILE with its file" in capsys.readouterr().err
    assert 'class="parts"' not in page


def test_a_winner_over_all_models_may_be_slower_under_the_default_one(storage, tmp_path):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "emulated:x60", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    while (config := search.ask()) is not None:
        is_default = dict(config) == {"BLOCK": 1, "GROUP": 1}
        time_s = 1e-3 if is_default else 2e-3 if config["BLOCK"] == 8 else 5e-3
        models = {"default": time_s, "late": 9e-3 if is_default else time_s}
        counters = {"u_mode_cycle": 1.6e9 * time_s, "l2_miss": 1e8 * time_s}
        about = {"board": "emulated:x60", "estimated": True, "counters": counters}
        notes = {"wall_s": 1.0} if is_default else {}
        search.tell(config, time_s, attributes={**about, "models_s": models, **notes})
    page = page_of(storage, [identity.name], tmp_path).read_text()
    assert "it loses least over all models of the core. Under the default model alone" in page
    assert "0.50x the default" in page
    assert "<p>The winner is 100% slower than another one by the default model of the core" in page
    assert page.count('<pre class="config">') == 3  # to use, and the two to measure
    assert (
        "By weighted mean loss over all models of the core; times are of the default model." in page
    )
    assert "How the winner differs from the default" in page


def test_the_page_has_a_name_without_colons():
    assert report_path("s.journal", ["k-emulated:x60-1"]).name == "k-emulated-x60-1.html"


def test_pages_of_a_folder_share_what_draws_their_charts(storage, tmp_path):
    name = study_in(storage, "board", best=8)
    assert main([name, "--storage", storage]) == 0
    page = report_path(storage, [name])
    assert page.stat().st_size < 100_000
    (script,) = re.findall(r'<script src="([^"]+)"', page.read_text())
    (shared,) = page.parent.glob("*.js")
    assert shared.name == script
    alone = page_of(storage, [name], tmp_path).read_text()
    assert shared.read_text() in alone
    assert "<script src" not in alone


def test_a_full_disk_leaves_the_page_that_was_there(storage, tmp_path, monkeypatch):
    name = study_in(storage, "emulated:x60", best=8, estimated=True)
    page = tmp_path / "page" / "a.html"
    page.parent.mkdir()
    page.write_text("before")
    write = Path.write_text

    def cut_off(path, text, **options):
        write(path, text[:100], **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", cut_off)
    with pytest.raises(OSError, match="No space left"):
        write_report([study_named(storage, name)], page, alone=True)
    assert page.read_text() == "before"
    assert list(page.parent.iterdir()) == [page]


def test_studies_of_two_kernels_are_not_compared(storage, tmp_path):
    names = [study_in(storage, "board", best=8)]
    identity = StudyIdentity("other", {"N": 8}, "fp32", "board", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    search.tell(search.ask(), 1e-3, attributes={"board": "b"})
    with pytest.raises(UserError, match=r"about k and .* about other, which cannot be compared"):
        main([*names, identity.name, "--storage", storage])


def test_idle_time_lies_between_what_was_done(storage, tmp_path):
    page = page_of(storage, [study_in(storage, "board", best=8)], tmp_path).read_text()
    build, measure = data_of(page)["figures"]["timeline-1"]["data"]
    assert min(build["base"]) == 0
    assert set(measure["y"]) == {"b"}
    assert {end - start for start, end in zip(build["base"], measure["base"], strict=True)} == {1}


def test_what_a_study_says_is_no_markup(storage, tmp_path):
    page = page_of(storage, [study_in(storage, "board", best=8)], tmp_path).read_text()
    assert "fail()" in page
    assert "<script>fail()" not in page


def test_exchanging_winners_costs_what_the_studies_say(storage, tmp_path):
    names = [study_in(storage, "one", best=8), study_in(storage, "two", best=2)]
    page = page_of(storage, names, tmp_path).read_text()
    costs = re.findall(r'<td class="number">([\d.]+)%</td></tr>', page.replace("\n</tr>", "</tr>"))
    assert costs == ["600.0", "600.0"]  # seven times as slow


def test_what_the_check_leaves_open_is_kept_and_shown(storage, tmp_path):
    name = study_in(storage, "board", best=8)
    assert "What the check leaves open" not in page_of(storage, [name], tmp_path).read_text()
    note = f"reference does not name y_ptr, {HOSTILE}"
    assert keep_notes(study_named(storage, name), (note,)) == (note,)
    assert kept_notes(study_named(storage, name)) == (note,)
    page = page_of(storage, [name], tmp_path).read_text()
    assert "<h2>What the check leaves open</h2>" in page
    assert "reference does not name y_ptr" in page
    assert HOSTILE not in page


def test_disturbed_trials_are_counted(storage, tmp_path):
    identity = StudyIdentity("k", {"N": 8}, "fp32", "host", "grid", {"compiler": "c"})
    search = Search(SPACE, "grid", trials=open_study(storage, identity, SPACE))
    disturbed = {"conditions": {"disturbed": f"others ran {HOSTILE}"}}
    for attributes in (disturbed, {}):
        config = search.ask()
        assert config is not None
        search.tell(config, 1.0, attributes=attributes)
    page = page_of(storage, [identity.name], tmp_path).read_text()
    assert "1 of 2 trials with a time was disturbed" in page
    assert HOSTILE not in page


def test_mistakes_are_sentences(storage, tmp_path):
    with pytest.raises(UserError, match="holds no study"):
        main(["x", "--storage", storage])
    name = study_in(storage, "board", best=8)
    with pytest.raises(UserError, match=f"there is no study y.*{name}"):
        main([name, "y", "--storage", storage])
    with pytest.raises(UserError, match=f"STUDY is missing: choose {name}"):
        main(["--storage", storage])
    other = study_in(storage, "other board", best=8)
    counts = r"\(2001-09-09 \d\d:\d\d, 10 of 12 correct\)"
    told = rf"part of 2 names: give more of\s+{name} {counts}\s+{other} {counts}$"
    with pytest.raises(UserError, match=told):
        study_named(storage, "board")
    for kernel in ("softmax", "swiglu", "jacobi"):
        study_in(storage, f"{kernel}-board", best=8)
    with pytest.raises(
        UserError, match=r"there is no study swigla: of 5, which .* the nearest are"
    ) as many:
        study_named(storage, "swigla")
    assert str(many.value).count("board") == 3
    assert "swiglu" in str(many.value)
    with pytest.raises(UserError, match=r"choose one of these 5, the newest first:\s") as every:
        main(["--storage", storage])
    assert str(every.value).count("10 of 12 correct") == 5
    # Studies of two files whose kernels have one name.
    for digest in "ab":
        of_file = StudyIdentity("k", {"N": 8}, "fp32", "d", "grid", {"compiler": digest})
        open_study(storage, replace(of_file, kernel_file=f"/home/{digest}.py:k_kernel"), SPACE)
    with pytest.raises(UserError, match=r"\(b.py:k_kernel, 0 of 0 correct\)\s.*\(a.py:k_kernel, "):
        study_named(storage, "-d-grid-")
    assert study_named(storage, "other").study_name == other
    with pytest.raises(UserError, match=r"cannot be written .*give another with --out"):
        main([name, "--storage", storage, "--out", str(tmp_path)])


def test_the_innermost_loop_is_found():
    assembly = """
outer:
    addi a0, a0, 1
scalar:
    addi a1, a1, 1
    bnez a1, scalar
.LBB0_3:                                # %inner
    vle32.v v8, (a2)
    vse32.v v8, (a3)
    addi a4, a4, -1
    bnez a4, .LBB0_3
    bne a0, a5, outer
    beqz a0, .LBB0_9
.LBB0_9:
    ret
"""
    loop = innermost_loop(assembly)
    assert loop.startswith(".LBB0_3:")
    assert loop.endswith("bnez a4, .LBB0_3")
    assert not innermost_loop("f:\n    ret\n")


def test_the_loop_with_the_multiply_adds_is_shown():
    assembly = """
outer:
    addi a0, a0, 1
inner:
    vle32.v v8, (a2)
tail:
    addi a1, a1, 1
    bnez a1, tail
    vfmacc.vf v16, fa0, v8
    bnez a4, inner
epilogue:
    vle32.v v8, (a3)
    vfadd.vv v9, v8, v9
    vse32.v v9, (a3)
    bnez a6, epilogue
    bne a0, a5, outer
    ret
"""
    loop = innermost_loop(assembly)
    assert loop.startswith("inner:")
    assert loop.endswith("bnez a4, inner")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [pytest.param(500, marks=pytest.mark.long), 1400])
def test_a_browser_draws_every_chart(storage, tmp_path, width):
    names = [study_in(storage, "one", best=8), study_in(storage, "two", best=2)]
    assert main([*names, "--storage", storage]) == 0  # with the file that pages share
    page = report_path(storage, names)
    shown = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--enable-unsafe-swiftshader", "--virtual-time-budget=5000"),
            *(f"--user-data-dir={tmp_path / 'chromium'}", "--enable-logging=stderr"),
            *(f"--window-size={width},900", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    of_page = [
        line for line in shown.stderr.splitlines() if "CONSOLE" in line and page.name in line
    ]
    assert [line for line in of_page if "WebGL" not in line] == []
    boxes = shown.stdout.count('class="chart')
    assert boxes > 8
    assert shown.stdout.count('class="chart js-plotly-plot"') == boxes
