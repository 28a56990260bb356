"""A damaged journal: its line is named, and what is whole is kept, each time with its own trial."""

from __future__ import annotations

import codecs
import random
import re
from pathlib import Path

import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from search_helpers import IDENTITY, SPACE, run, search_in, time_of

from engine import repair as command
from engine.search import Search
from engine.study.repair import repair
from engine.study.storage import open_study, read_studies
from foundation.errors import UserError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal that two tuners wrote, and a third in another study."""
    path = tmp_path_factory.mktemp("whole") / "t.journal"
    one, two = search_in(str(path)), search_in(str(path))
    other = Search(SPACE, "random", 0, open_study(str(path), IDENTITY, SPACE, "other"))
    for _ in range(8):
        configs = [search.ask() for search in (one, two, other, one)]
        for search, config in zip((one, two, other, one), configs, strict=True):
            search.tell(config, time_of(config))
    return path.read_bytes()


def times(path: Path) -> dict[str, dict[str, float]]:
    return {
        study.study_name: {
            str(trial.config): trial.time_s
            for trial in study.changes()
            if trial.time_s is not None and trial.config
        }
        for study in read_studies(str(path))
    }


def assert_right(path: Path) -> int:
    """Every time is that of its configuration; how many there are."""
    known = {str(config): time_of(config) for config in SPACE.valid_configs()}
    found = [pair for study in times(path).values() for pair in study.items()]
    assert all(known[config] == time_s for config, time_s in found)
    return len(found)


def test_a_whole_journal_stays_as_it_is(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    path.write_bytes(whole)
    repaired = repair(path)
    assert b"".join(line + b"\n" for line in repaired.lines) == whole
    assert (repaired.damaged, repaired.lost_trials, repaired.lost_studies) == ((), 0, 0)
    assert assert_right(path) == 32


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_byte_costs_one_line_at_most(seed: int, whole: bytes, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = whole.split(b"\n")
    number = rng.randrange(1, len(lines) - 1)
    place = rng.randrange(len(lines[number]))
    lines[number] = lines[number][:place] + b"\xff" + lines[number][place + 1 :]
    path = tmp_path / "t.journal"
    path.write_bytes(b"\n".join(lines))
    sentence = rf"line {number + 1} of {re.escape(str(path))} is damaged: .*engine\.repair"
    with pytest.raises(UserError, match=sentence):
        open_study(str(path), IDENTITY, SPACE)
    repaired = repair(path)
    assert repaired.damaged == (number + 1,)
    assert repaired.lost_trials <= 1
    new = tmp_path / "new.journal"
    new.write_bytes(b"".join(line + b"\n" for line in repaired.lines))
    assert assert_right(new) >= 31


@pytest.mark.parametrize("seed", range(6))
def test_a_lost_block_costs_the_trials_in_it(seed: int, whole: bytes, tmp_path: Path) -> None:
    """As of a disk: 4 KiB of zeros, line ends included."""
    place = random.Random(seed).randrange(4096, len(whole) - 5000)
    path = tmp_path / "t.journal"
    path.write_bytes(whole[:place] + bytes(4096) + whole[place + 4096 :])
    assert command.main([str(path)]) == 0
    kept = assert_right(tmp_path / "t.repaired.journal")
    assert 16 <= kept < 32


def test_the_loss_of_a_studys_line_keeps_the_others(whole: bytes, tmp_path: Path) -> None:
    lines = whole.split(b"\n")
    (number,) = (n for n, line in enumerate(lines) if b'"study_name":"other"' in line)
    lines[number] = b"?" + lines[number]
    path = tmp_path / "t.journal"
    path.write_bytes(b"\n".join(lines))
    assert command.main([str(path), "--out", str(tmp_path / "n.journal")]) == 0
    found = times(tmp_path / "n.journal")
    assert len(found[IDENTITY.name]) == 24
    assert assert_right(tmp_path / "n.journal") >= 24


@pytest.mark.parametrize(
    "damage",
    [
        (b'"datetime_start":"', b'"datetime_start":"x'),
        (b'"op_code":4', b'"op_code":44'),
    ],
)
def test_a_line_that_is_json_and_no_operation_is_named(
    damage: tuple[bytes, bytes], whole: bytes, tmp_path: Path
) -> None:
    old, new = damage
    path = tmp_path / "t.journal"
    path.write_bytes(whole.replace(old, new, 1))
    line = whole[: whole.index(old)].count(b"\n") + 1
    with pytest.raises(UserError, match=f"line {line} of "):
        open_study(str(path), IDENTITY, SPACE)
    assert repair(path).damaged == (line,)


def test_the_command_says_what_is_lost(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.journal"
    lines = whole.split(b"\n")
    number = next(n for n, line in enumerate(lines) if line.startswith(b'{"op_code":4'))
    lines[number] = lines[number][:-20]
    path.write_bytes(b"\n".join(lines))
    assert command.main([str(path)]) == 0
    new = tmp_path / "t.repaired.journal"
    assert capsys.readouterr().out == (
        f"damaged: line {number + 1}; configurations lost: 1\nwritten: {new}, with 2 studies\n"
    )
    # The tuner goes on with it, and so does Optuna.
    search = search_in(str(new))
    assert len(list(run(search, search.tried + 3))) == 3
    assert JournalStorage(JournalFileBackend(str(new))).get_all_studies()
    with pytest.raises(UserError, match="exists: remove it, or give --out another file"):
        command.main([str(path)])
    with pytest.raises(UserError, match="cannot be used: No such file"):
        command.main([str(tmp_path / "missing")])
    (tmp_path / "notes").write_text("bread\nmilk\n")
    with pytest.raises(UserError, match=r"no line of .* is that of a journal"):
        command.main([str(tmp_path / "notes")])


@pytest.mark.parametrize("text", [b"", b"\n", b"[" * 100_000 + b"\n"])
def test_a_file_without_a_line_of_a_journal_is_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    path.write_bytes(text)
    with pytest.raises(UserError, match=f"no line of {path} is that of a journal"):
        command.main([str(path)])
    assert list(tmp_path.iterdir()) == [path]


def test_a_byte_order_mark_is_left_out(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    path.write_bytes(codecs.BOM_UTF8 + whole)
    with pytest.raises(UserError, match="is not a journal file"):
        read_studies(str(path))
    command.main([str(path)])
    assert (tmp_path / "t.repaired.journal").read_bytes() == whole


def test_a_trial_that_is_counted_from_the_end_is_damage(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    finished = re.compile(rb'"op_code":6,"worker_id":"([^"]+)","trial_id":\d+')
    last = list(finished.finditer(whole))[-1]
    worker, running = last[1].decode(), whole[: whole.rindex(b"\n", 0, last.start()) + 1]
    line = f'{{"op_code":6,"worker_id":"{worker}","trial_id":-1,"state":1,"values":[1e-9]}}'
    path.write_bytes(running + line.encode() + b"\n")
    assert assert_right(path) == 31
    assert b"".join(line + b"\n" for line in repair(path).lines) == running
