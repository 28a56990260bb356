"""Forgets packages of this environment that pip was stopped in the middle of: run by set-up.

pip takes a package as installed if its `.dist-info` is there, even if it was killed while it copied
the files. This removes that folder where files are missing or cut off, so that pip installs the
package again, over what is there. Only the standard library is at hand.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from importlib.metadata import PathDistribution
from pathlib import Path

__all__ = ["forget_half_installed"]

_BYTECODE = ".pyc"  # made anew where it is missing


def forget_half_installed(folder: Path) -> list[str]:
    """Remove what says that packages are installed, of those whose files are not all there.

    Args:
        folder: of the packages, such as `.venv/lib/python3.13/site-packages`.

    Returns:
        The names of their folders, sorted.

    Raises:
        OSError: if a folder cannot be removed.
    """
    # pip renames what it is about to remove so.
    found = [*folder.glob("~*")]
    found += [info for info in folder.glob("*.dist-info") if not _is_whole(info)]
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return sorted(path.name for path in found)


def _is_whole(info: Path) -> bool:
    """Whether all files are there that a package lists in its RECORD, which pip writes last."""
    if not (info / "RECORD").is_file() or not (info / "METADATA").is_file():
        return False
    for file in PathDistribution(info).files or ():
        path = Path(str(file.locate()))
        if path.suffix == _BYTECODE:
            continue
        if not path.exists():
            return False
        is_script = ".." in file.parts  # its first line names this environment, wherever that is
        if not is_script and file.size is not None and path.stat().st_size != file.size:
            return False
    return True


if __name__ == "__main__":
    for name in forget_half_installed(Path(sysconfig.get_paths()["purelib"])):
        sys.stderr.write(f"setup: installing {name} again, which was not complete\n")
