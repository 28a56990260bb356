"""Writes reports as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from engine.reports.content import check_comparable, study_content
from engine.reports.explanation import Explanation, kept
from engine.reports.page import report_html
from engine.reports.why import why_of
from engine.study.location import file_stem, reports_dir
from engine.study.trials import StoredTrials

__all__ = ["report_path", "write_report"]


def report_path(storage: str, names: Sequence[str]) -> Path:
    """Where the report of these studies stands, unless the user says where."""
    return reports_dir(storage) / f"{file_stem('_and_'.join(names))}.html"


def write_report(
    studies: Sequence[StoredTrials], path: Path, explanation: Explanation = kept
) -> None:
    """Write the report of one study, or of two compared.

    Args:
        studies: one or two.
        path: of the page.
        explanation: where the cycles of a study's winner and default went.

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
    html = report_html(contents)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8")
