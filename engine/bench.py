"""Compare searches on recorded spaces: python -m engine.bench [--samplers auto,tpe] ..."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments.options import SAMPLER_NAMES, sampler_name
from engine.replays.duplicates import without_duplicates
from engine.replays.searches import KERNEL_TUNER, factory, is_sampler
from engine.replays.shipped import PARTS, shipped_files, split
from engine.replays.space_file import SUFFIXES, NoSpaceError, read_space
from engine.results.units import counted
from foundation.command_line import (
    EXIT_FOUND,
    ArgumentParser,
    invocation,
    positive_integer,
    run_command,
)
from foundation.completion import completes
from foundation.errors import UserError, nearest
from foundation.printing import say
from foundation.processors import cores
from foundation.writable import check_writable

if TYPE_CHECKING:
    from engine.replays.recorded_space import RecordedSpace

__all__ = ["main"]

_PROG = "engine.bench"
_DESCRIPTION = (
    "Replays searches on recorded spaces and scores them: 0 is random search, 1 the optimum at "
    "once. It needs no board. Searches that were replayed before are not replayed again."
)
_EPILOG = (
    "Run the same command again to continue after Ctrl-C. Exit status: 0 if searches were "
    "compared, 1 after Ctrl-C, 2 for a mistake in the command."
)

# Of a smaller space, most is tried.
_CONFIGS_PER_TRIAL = 2

_MOST_SEEDS = 10_000  # each search of each space takes a second or more
_ALL = "all"
_TENTHS = 10


@dataclass(frozen=True)
class _Preset:
    """What is replayed unless an argument says otherwise.

    Args:
        samplers: names of searches.
        trials, seeds: of each search of each space.
    """

    samplers: str
    trials: int
    seeds: int


_QUICK = _Preset("auto,tpe", 50, 5)
_FULL = _Preset("auto,tpe,kernel_tuner:pso_small", 100, 20)


def main(argv: Sequence[str] | None) -> int:
    """Run the command and return the exit status.

    Raises:
        UserError: for a mistake in the arguments, or a file that cannot be read.
    """
    arguments = _parse(argv)
    preset = _FULL if arguments.full else _QUICK
    trials, seeds = arguments.trials or preset.trials, arguments.seeds or preset.seeds
    if seeds > _MOST_SEEDS:
        raise UserError(f"--seeds is {seeds}: give at most {_MOST_SEEDS}")
    searches = _list(_searches, arguments.samplers or preset.samplers)
    files = _files(arguments.spaces, arguments.families)
    check_writable(arguments.out)
    spaces = _large_enough(_once(_read(files)), _CONFIGS_PER_TRIAL * trials)
    # SciPy and Optuna take seconds to import, and mistyped names do not wait for them.
    from engine.replays.comparison import compare
    from engine.replays.page import write_page
    from engine.replays.tables import families_table, lines, scores_table
    from engine.replays.written import write_files
    from foundation.console import EscapingConsole

    out: Path = arguments.out
    try:
        runs = out / "runs.jsonl"
        compared = compare(spaces, searches, trials, seeds, runs, arguments.jobs, _progress())
        written = write_files(compared, out)
        write_page(compared, out / "bench.html")
    except OSError as error:
        raise UserError(
            f"{error.filename or out} cannot be written ({error.strerror}): give another with --out"
        ) from error
    console = EscapingConsole()
    console.print(scores_table(compared))
    console.print(families_table(compared))
    for line in lines(compared):
        say(line)
    say(f"written: {', '.join(map(str, [*written, out / 'bench.html', runs]))}")
    return EXIT_FOUND


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(invocation(_PROG), _DESCRIPTION, _EPILOG)
    _add_what(parser)
    _add_how_much(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("studies/bench"),
        help="folder of the results (default: %(default)s)",
    )
    return parser.parse(argv)


def _add_what(parser: ArgumentParser) -> None:
    """Add the arguments for which searches and spaces."""
    samplers = parser.add_argument(
        "--samplers",
        metavar="NAMES",
        help=f"separated by commas: {', '.join(SAMPLER_NAMES)}, the dotted name of a class such as "
        "optuna.samplers.GPSampler, kernel_tuner:STRATEGY, or FILE.py:FACTORY; the first is "
        "compared with each other one",
    )
    completes(samplers, lambda: SAMPLER_NAMES)
    spaces = parser.add_argument(
        "--spaces",
        metavar="SPACES",
        default=PARTS[0],
        help=f"separated by commas: {', '.join(PARTS)} or all, of the recorded spaces that come "
        "with this package; files in T4 or caches of Kernel Tuner, or folders of them "
        "(default: %(default)s)",
    )
    completes(spaces, lambda: (*PARTS, _ALL))
    families = parser.add_argument(
        "--families",
        metavar="NAMES",
        help="only these families of the recorded spaces that come with this package, separated "
        f"by commas: {', '.join(sorted(split().families))}",
    )
    completes(families, lambda: split().families)


def _add_how_much(parser: ArgumentParser) -> None:
    """Add the arguments for how often each space is searched, and for how long."""
    size = parser.add_mutually_exclusive_group()
    quick = f"{_shown(_QUICK)}; within a minute on two cores (the default)"
    size.add_argument("--quick", action="store_true", help=quick)
    full = f"{_shown(_FULL)}; within ten minutes on two cores"
    size.add_argument("--full", action="store_true", help=full)
    parser.add_argument(
        "--trials",
        metavar="N",
        type=positive_integer,
        help="configurations to try; spaces with fewer than twice as many are left out",
    )
    parser.add_argument(
        "--seeds", metavar="N", type=positive_integer, help="searches of each space"
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive_integer,
        default=cores(),
        help="searches in parallel (default: one per core)",
    )


def _shown(preset: _Preset) -> str:
    return f"{preset.samplers}: {preset.seeds} searches of {preset.trials} trials of each space"


def _list(parse: Callable[[str], str], text: str) -> list[str]:
    """The parts of a list with commas, each once.

    Raises:
        UserError: for an empty part.
    """
    parts = [part.strip() for part in text.split(",")]
    if "" in parts:
        raise UserError(f"{text} has a comma too many: write names with one comma between them")
    return list(dict.fromkeys(map(parse, parts)))


def _searches(text: str) -> str:
    """A search that exists, as far as can be known before anything large is imported."""
    if is_sampler(text):
        return sampler_name(text)
    if not text.startswith(KERNEL_TUNER):
        factory(text)
    return text


def _files(spaces: str, families: str | None) -> dict[Path, bool]:
    """The files that may hold spaces, and whether each one has to.

    Raises:
        UserError: for what is neither a half, a family nor a file.
    """
    chosen = _list(_family, families) if families else list(split().families)
    found: dict[Path, bool] = {}
    for part in _list(str, spaces):
        if part in (*PARTS, _ALL):
            for name in PARTS if part == _ALL else (part,):
                found |= dict.fromkeys(shipped_files(name, chosen), True)
        else:
            found |= _files_at(Path(part))
            if families:
                raise UserError(f"--families is for shipped spaces: leave it out, or {part}")
    if not found:
        raise UserError(
            f"--spaces {spaces} has no space of these families: add --spaces all, or give others"
        )
    return found


def _family(text: str) -> str:
    known = split().families
    if text not in known:
        raise UserError(f"there is no family of spaces named {text}: {nearest(text, known)}")
    return text


def _files_at(path: Path) -> dict[Path, bool]:
    """A file, or those of a folder, which may hold other JSON too."""
    if path.is_file():
        return {path: True}
    if not path.is_dir():
        raise UserError(
            f"there are no spaces {path}: give {', '.join(PARTS)}, all, a file or a folder"
        )
    files = [file for file in sorted(path.rglob("*")) if file.name.endswith(SUFFIXES)]
    if not files:
        raise UserError(f"{path} has no file in T4 and no cache of Kernel Tuner: give another")
    return dict.fromkeys(files, False)


def _read(files: Mapping[Path, bool]) -> dict[Path, RecordedSpace]:
    """The spaces of `_files`, by file.

    Raises:
        UserError: if a file cannot be read, or there is no space.
    """
    found, others = {}, []
    for path, has_to in files.items():
        try:
            found[path] = read_space(path)
        except NoSpaceError:
            if has_to:
                raise
            others.append(path)
    if not found:
        raise UserError("no file of these folders is T4 or a cache of Kernel Tuner: give others")
    if others:
        what = counted(len(others), "file")
        say(f"left out: {what} of folders, neither T4 nor a cache of Kernel Tuner", file=sys.stderr)
    return found


def _once(every: Mapping[Path, RecordedSpace]) -> dict[Path, RecordedSpace]:
    """The spaces by file, each once."""
    spaces, left_out = without_duplicates(every)
    for path, kept in left_out.items():
        say(f"left out: {path}, which holds the same trials as {kept}", file=sys.stderr)
    return spaces


def _large_enough(every: Mapping[Path, RecordedSpace], fewest: int) -> dict[Path, RecordedSpace]:
    """The spaces by file, but for small ones.

    Raises:
        UserError: if none is left.
    """
    spaces = {path: of for path, of in every.items() if len(of.table) >= fewest}
    left_out = len(every) - len(spaces)
    if not spaces:
        raise UserError(f"no space has {fewest} configurations: give fewer --trials")
    if left_out:
        small = f"{counted(left_out, 'space')} with fewer than {fewest} configurations"
        say(f"left out: {small}", file=sys.stderr)
    return spaces


def _progress() -> Callable[[int, int, str], None]:
    """Tells on stderr how far the replays are, about ten times, and how long they may take."""
    told, kept, start_s = -1, 0, 0.0

    def tell(done: int, every: int, last: str) -> None:
        nonlocal told, kept, start_s
        if told < 0:
            kept, start_s = done, time.monotonic()
        if done * _TENTHS // every > told:
            told = done * _TENTHS // every
            text = f"replayed {done} of {every} searches"
            text += f", the last by {last}" if last else ""
            if kept < done < every:
                left_s = (time.monotonic() - start_s) / (done - kept) * (every - done)
                text += f"; about {left_s:.0f} s left"
            say(text, file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    run_command(main, _PROG)
