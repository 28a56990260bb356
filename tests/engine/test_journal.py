"""Journals are read in fewer operations than they hold, and a trial's outcome is one write."""

from __future__ import annotations

import errno
import os
import pwd
import tempfile
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from search_helpers import run, search_in

from engine.study import journal
from engine.study.damage import DamagedJournalError
from engine.study.journal import CrashSafeJournal, CrashSafeStorage, as_one_write
from foundation.errors import UserError


def as_optuna_reads_it(path: Path) -> JournalStorage:
    return JournalStorage(JournalFileBackend(str(path)))


def contents(storage: JournalStorage) -> list[object]:
    """Every study with its trials, without the notes that optuna-dashboard shows."""
    return [
        (
            study.study_name,
            study.user_attrs,
            {k: v for k, v in study.system_attrs.items() if not k.startswith("dashboard:")},
            storage.get_all_trials(study._study_id),
        )
        for study in storage.get_all_studies()
    ]


def strangers_study(path: Path) -> optuna.Study:
    """A study whose trials set their parameters one at a time and report values in between."""
    study = optuna.create_study(storage=as_optuna_reads_it(path), study_name="a stranger's")

    def objective(trial: optuna.Trial) -> float:
        trial.report(1.0, step=1)
        if trial.number == 1:
            raise optuna.TrialPruned
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=3)
    return study


@pytest.mark.parametrize("stranger", ["none", "a study", "a deleted study"])
def test_a_journal_holds_what_optuna_reads_in_it(tmp_path: Path, stranger: str) -> None:
    path = tmp_path / "t.journal"
    if stranger != "none":
        study = strangers_study(path)
        if stranger == "a deleted study":
            optuna.delete_study(study_name=study.study_name, storage=as_optuna_reads_it(path))
    search = search_in(str(path))
    list(run(search, 12))
    search.tell(search.ask(), None, status="board", attributes={"reason": "unplugged"})
    search.tell(search.ask(), None, status="wrong", attributes={"reason": "off by one"})
    search.ask()
    ours = CrashSafeStorage(CrashSafeJournal(path))
    assert contents(ours) == contents(as_optuna_reads_it(path))
    # And so it stays while both write.
    theirs = as_optuna_reads_it(path)
    study_id = theirs.create_new_study([optuna.study.StudyDirection.MINIMIZE], "later")
    trial_id = theirs.create_new_trial(study_id)
    ours.set_trial_user_attr(trial_id, "told", "by us")
    theirs.set_trial_state_values(trial_id, optuna.trial.TrialState.COMPLETE, [1.0])
    assert contents(ours) == contents(as_optuna_reads_it(path))


def test_a_long_journal_is_few_operations(tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    list(run(search_in(str(path)), 12))
    operations = list(CrashSafeJournal(path).read_logs(0))
    trials = sum(
        log["op_code"] == optuna.storages.journal._storage.JournalOperation.CREATE_TRIAL
        for log in operations
    )
    others = sum("study_id" in log or "study_name" in log for log in operations) - trials
    assert len(operations) == trials + others
    assert trials >= 12


def test_a_trial_waits_for_the_disk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.journal"
    search = search_in(str(path))
    search.ask()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    config = search.ask()
    assert synced == []
    assert len(as_optuna_reads_it(path).get_all_trials(0)) == 2  # for a process beside it
    search.tell(config, 1.0, attributes={"board": "desk", "wall_s": 2.0}, note="a note")
    assert len(synced) == 1


def test_what_is_held_back_is_seen_here_and_by_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    storage = CrashSafeStorage(CrashSafeJournal(path))
    study_id = storage.create_new_study([optuna.study.StudyDirection.MINIMIZE], "mine")
    with as_one_write(storage):
        trial_id = storage.create_new_trial(study_id)
        storage.set_trial_user_attr(trial_id, "a", 1)
        assert storage.get_trial(trial_id).user_attrs == {"a": 1}
        assert as_optuna_reads_it(path).get_n_trials(study_id) == 0
    assert contents(storage) == contents(as_optuna_reads_it(path))


@pytest.mark.parametrize("how", ["removed", "replaced", "cut"])
def test_nothing_is_written_where_another_file_took_its_place(tmp_path: Path, how: str) -> None:
    path, other = tmp_path / "t.journal", tmp_path / "other.journal"
    search = search_in(str(path))
    tuned = run(search, 20)
    next(tuned)
    strangers_study(other)
    if how == "cut":
        path.write_bytes(other.read_bytes()[:300])
    elif how == "replaced":
        other.rename(path)
    else:
        path.unlink()
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(UserError, match=f"was {'removed' if how == 'removed' else 'replaced'} whi"):
        next(tuned)
    with pytest.raises(UserError, match="put it back, or run the same command"):
        search.ask()
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.journal"
    list(run(search_in(str(path)), 3))
    lines = path.read_bytes().split(b"\n")
    lines[6] = lines[6][:5] + b"\xff" + lines[6][6:]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DamagedJournalError, match=r"\b7\b"):
        CrashSafeStorage(CrashSafeJournal(path))


def test_a_journal_that_may_only_be_read_is_read() -> None:
    """As another user's: root may read and write what it likes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "s.journal")
        optuna.create_study(storage=as_optuna_reads_it(path), study_name="theirs")
        path.chmod(0o444)
        own = os.geteuid()
        if own == 0:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            (study,) = CrashSafeStorage(CrashSafeJournal(path)).get_all_studies()
        finally:
            os.seteuid(own)
        assert study.study_name == "theirs"


def test_a_full_disk_is_not_told_as_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    storage = CrashSafeStorage(CrashSafeJournal(tmp_path / "s.journal"))
    study = optuna.create_study(storage=storage)
    with monkeypatch.context() as full:
        full.setattr(journal, "_write", fail)
        with pytest.raises(OSError, match="No space left"), as_one_write(storage):
            study.set_user_attr("key", "value" * 100)
    assert storage.get_all_studies()
