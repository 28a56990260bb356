"""Writes reports as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from engine.reports.content import check_comparable, study_content
from engine.reports.explanation import Explanation, kept
from engine.reports.page import plotly_script, report_html
from engine.reports.why import why_of
from engine.study.location import file_stem, reports_dir
from engine.study.trials import StoredTrials
from foundation.scratch import UNFINISHED, scratch_folder

__all__ = ["report_path", "write_report"]


def report_path(storage: str, names: Sequence[str]) -> Path:
    """Where the report of these studies stands, unless the user says where."""
    return reports_dir(storage) / f"{file_stem('_and_'.join(names))}.html"


def write_report(
    studies: Sequence[StoredTrials],
    path: Path,
    explanation: Explanation = kept,
    *,
    alone: bool = False,
) -> None:
    """Write the report of one study, or of two compared.

    Args:
        studies: one or two.
        path: of the page.
        explanation: where the cycles of a study's winner and default went.
        alone: put all that the page needs into it, so that it can be sent; otherwise pages of a
            folder share the file that draws their charts.

    Raises:
        UserError: for two studies that cannot be compared.
        OSError: if the file cannot be written.
    """
    contents = [study_content(stored) for stored in studies]
    if len(contents) > 1:
        check_comparable(*contents)
    spent = [explanation(s, content.summary) for s, content in zip(studies, contents, strict=True)]
    contents = [
        dataclasses.replace(content, why=why_of(of_study)) if of_study else content
        for content, of_study in zip(contents, spent, strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    html = report_html(contents, None if alone else _shared_plotly(path.parent))
    _write_whole(path, html)


def _shared_plotly(folder: Path) -> str:
    """The name of the file that draws the charts of a folder's pages; it is there afterwards."""
    name = f"plotly-{version('plotly')}.min.js"
    if not (folder / name).exists():
        _write_whole(folder / name, plotly_script())
    return name


def _write_whole(path: Path, text: str) -> None:
    """Write a file by a rename: a full disk leaves the one that was there.

    Raises:
        OSError: if it cannot be written.
    """
    with scratch_folder(UNFINISHED, path.parent) as unfinished:
        written = unfinished / path.name
        written.write_text(text, encoding="utf-8")
        written.replace(path)
