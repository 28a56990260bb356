"""Cells of tables that spreadsheets open, whatever boards and studies put into them."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["plain_cell"]

_T = TypeVar("_T")
# What begins a formula, as OWASP lists them under "CSV Injection".
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(value: _T) -> _T | str:
    """The value; a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
