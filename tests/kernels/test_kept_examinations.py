"""What is found out about a capture's tasks is kept whole, or not at all."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest

from foundation.errors import UserError
from kernels.captured import examining
from kernels.captured.examined import Examined, keep_examined, read_examined


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "a.capture"
    path.write_text("")
    return path


def test_a_full_disk_leaves_what_was_kept_and_nothing_else(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_examined(capture, {"a": Examined("digest", None, "refused")})
    files = sorted(capture.parent.iterdir())

    def fail(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(json, "dump", fail)
    with pytest.raises(UserError, match="examined cannot be written: No space left on device"):
        keep_examined(capture, {"b": Examined("digest", None, "refused")})
    assert sorted(capture.parent.iterdir()) == files
    assert list(read_examined(capture)) == ["a"]


def test_the_process_that_examines_leaves_the_sentence_to_the_one_that_asked(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UserError("a.capture.examined cannot be written")

    monkeypatch.setattr("kernels.captured.examination.examine_here", fail)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(examining, "_limit_processor_time", lambda _: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("a inf\n"))
    with pytest.raises(SystemExit) as ended:
        examining.main([str(capture)])
    assert ended.value.code == 2
