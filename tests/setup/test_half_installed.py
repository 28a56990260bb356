"""What pip left unfinished is installed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.half_installed import forget_half_installed


def install(folder: Path, name: str) -> Path:
    """A package of two files, and the folder that says that it is installed."""
    info = folder / f"{name}-1.0.dist-info"
    for path, text in ((folder / name / "a.py", "a = 1\n"), (info / "METADATA", "Name: x\n")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (info / "RECORD").write_text(
        f"{name}/a.py,sha256=x,6\n{name}/__pycache__/a.cpython-313.pyc,,\n"
        f"{info.name}/METADATA,sha256=y,8\n{info.name}/RECORD,,\n"
    )
    return info


@pytest.mark.parametrize("how", ["whole", "no record", "no file", "cut off"])
def test_packages_that_are_not_whole_are_forgotten(tmp_path: Path, how: str) -> None:
    install(tmp_path, "whole")
    info = install(tmp_path, "half")
    (tmp_path / "~alf").mkdir()
    if how == "no record":
        (info / "RECORD").unlink()
    elif how == "no file":
        (tmp_path / "half" / "a.py").unlink()
    elif how == "cut off":
        (tmp_path / "half" / "a.py").write_text("a =")
    forgotten = [] if how == "whole" else [info.name]
    assert forget_half_installed(tmp_path) == [*forgotten, "~alf"]
    assert sorted(path.name for path in tmp_path.glob("*.dist-info")) == sorted(
        {"whole-1.0.dist-info", info.name} - set(forgotten)
    )
