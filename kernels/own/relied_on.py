"""Which inputs a configuration relies on that the check finds wrong with other inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from foundation.config import Config
from foundation.errors import UserError
from kernels.own.changed_inputs import Change
from kernels.own.journal import Journal, Run, outcome_of
from launchers.arguments import Argument

__all__ = ["on_relied", "relied_on"]

# By the clock: nothing more is run after so long, as where Triton's interpreter gives what is
# expected.
_PATIENCE_S = 60.0


def relied_on(
    run: Run,
    arguments: Callable[[Mapping[str, Change]], tuple[Argument, ...]],
    changes: Mapping[str, Change],
    journal: Journal,
) -> tuple[str, ...]:
    """The fewest inputs that have to stay as the file makes them for outputs to be right, or more
    if runs take too long; empty if the configuration is right with all changes, or wrong without
    any.

    Args:
        run: of the configuration.
        arguments: gives those under some changes, with what is expected.
        changes: of the check's inputs, by name.
        journal: gives the outcomes of runs.
    """
    end_s = time.monotonic() + _PATIENCE_S

    def is_right(kept: tuple[str, ...]) -> bool:
        if run.gave_up or time.monotonic() > end_s:  # each further run may take as long
            return False
        others = {name: change for name, change in changes.items() if name not in kept}
        try:
            tried = arguments(others)
        except UserError:
            return False
        return journal.outcome(lambda: outcome_of(run, tried)).is_right

    kept = tuple(changes)
    if not kept or is_right(()) or not is_right(kept):
        return ()
    for name in changes:
        fewer = tuple(one for one in kept if one != name)
        if fewer and is_right(fewer):
            kept = fewer
    return kept


def on_relied(config: Config, names: Sequence[str], maker: str, kept_inputs: str) -> str:
    """One sentence on these inputs; "" for none.

    Args:
        config: the configuration.
        names: what `relied_on` gave.
        maker: the file's function that makes them.
        kept_inputs: the name by which the file keeps inputs.
    """
    if not names:
        return ""
    them = "them" if len(names) > 1 else "it"
    return (
        f"{config} is right with {', '.join(names)} as {maker} makes {them}, and wrong as the "
        f"check changes {them}: if the kernel gets nothing else, write {kept_inputs} = "
        f"{list(names)} into the file"
    )
