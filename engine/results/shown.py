"""A result that displays itself: tables if printed or in a notebook, one line as a repr."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING

from engine.results.result_html import result_html
from engine.results.table import print_tables
from engine.results.units import short_config, speedup_text, time_text
from engine.run.tuning import TuningResult
from engine.study.location import shown_storage
from engine.study.storage import read_studies
from foundation.config import ParameterValue
from foundation.console import EscapingConsole
from foundation.errors import UserError

if TYPE_CHECKING:
    import pandas

__all__ = ["ShownResult", "shown"]

_WIDTH = 100


@dataclasses.dataclass(frozen=True)
class ShownResult(TuningResult):
    """A `TuningResult` that displays itself."""

    def __str__(self) -> str:
        """The closing tables of `python -m engine.tune`."""
        file = io.StringIO()
        print_tables(self, EscapingConsole(file=file, width=_WIDTH, force_jupyter=False))
        return file.getvalue().rstrip()

    def __repr__(self) -> str:
        summary, winner = self.summary, self.summary.winner
        if winner is None:
            return f"<TuningResult of {self.study}: no valid configuration>"
        estimate = f" ({summary.estimate})" if summary.estimated else ""
        time = f"{time_text(winner.time_s or 0.0)}{estimate}"
        speedup = summary.speedup(winner)
        gain = "" if speedup is None else f", {speedup_text(speedup)} the default"
        tie = "" if summary.to_use is winner else ", tied: use the default"
        return f"<TuningResult of {self.study}: {short_config(winner.config)}, {time}{gain}{tie}>"

    def _repr_html_(self) -> str:
        """Tables for a notebook."""
        return result_html(self)

    @property
    def best(self) -> dict[str, ParameterValue]:
        """What to use: the winner's configuration, or the default's if that is as fast; empty if no
        configuration was valid."""
        to_use = self.summary.to_use
        return {} if to_use is None else dict(to_use.config)

    @property
    def trials(self) -> pandas.DataFrame:
        """One row per trial with an outcome, as `engine.export` writes them.

        Raises:
            UserError: if the storage cannot be read or no longer has the study.
        """
        from engine.results.trials_table import study_table  # pandas takes a while to import

        for stored in read_studies(self.storage):
            if stored.study_name == self.study:
                return study_table(stored)
        raise UserError(
            f"{shown_storage(self.storage)} has no study {self.study}: "
            "is this the folder it ran in?"
        )


def shown(result: TuningResult) -> ShownResult:
    """The same result as a `ShownResult`."""
    fields = dataclasses.fields(result)
    return ShownResult(**{field.name: getattr(result, field.name) for field in fields})
