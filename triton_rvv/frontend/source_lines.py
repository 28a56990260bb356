"""Carries the lines of a kernel's source through LLVM, into its assembly and its executable."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

__all__ = ["SourceLines", "for_people", "with_source_comments"]

_UNIT, _VERSION, _SUBPROGRAM, _TYPE, _FIRST_FREE = 0, 1, 2, 3, 4


class SourceLines:
    """Marks on instructions that say which line of the source they come from.

    They are LLVM's debug locations, in the kind of unit that makes a table of lines in an object,
    beside the code and without changing it.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._marks: dict[str, str] = {}
        self._definitions: list[str] = []

    def mark(self, line: str) -> str:
        """What an instruction ends with that comes from a line, given as "file:line"."""
        if not line:
            return ""
        if line not in self._marks:
            name, _, number = line.rpartition(":")
            file = self._file(name)
            block = self._define(
                f"!DILexicalBlockFile(scope: !{_SUBPROGRAM}, file: !{file}, discriminator: 0)"
            )
            place = self._define(f"!DILocation(line: {number}, column: 0, scope: !{block})")
            self._marks[line] = f", !dbg !{place}"
        return self._marks[line]

    @property
    def function_mark(self) -> str:
        """What the head of a function that has marks ends with."""
        return f" !dbg !{_SUBPROGRAM}"

    def metadata(self, function: str) -> list[str]:
        """The lines of the module that define what the marks refer to."""
        file = self._file("kernel")
        return [
            f"!llvm.dbg.cu = !{{!{_UNIT}}}",
            f"!llvm.module.flags = !{{!{_VERSION}}}",
            f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, "
            f"emissionKind: {_TABLE})",
            f'!{_VERSION} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f'!{_SUBPROGRAM} = distinct !DISubprogram(name: "{function}", file: !{file}, '
            f"type: !{_TYPE}, unit: !{_UNIT}, spFlags: DISPFlagDefinition)",
            f"!{_TYPE} = !DISubroutineType(types: null)",
            *self._definitions,
        ]

    def _file(self, name: str) -> int:
        if name not in self._files:
            self._files[name] = self._define(f'!DIFile(filename: "{name}", directory: "")')
        return self._files[name]

    def _define(self, definition: str) -> int:
        number = _FIRST_FREE + len(self._definitions)
        self._definitions.append(f"!{number} = {definition}")
        return number


# Kinds of unit: a table of lines in an object, or directives in assembly and nothing else.
_TABLE, _DIRECTIVES = "LineTablesOnly", "DebugDirectivesOnly"

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"\.LBB\w+:")
_FRAME = re.compile(r"\s*\.cfi_|\s*\.Ltmp\d+:|\s*\.Lfunc_begin\d+:")


def for_people(llir: str) -> str:
    """A module whose assembly has directives for lines in place of the table's bytes."""
    return llir.replace(f"emissionKind: {_TABLE}", f"emissionKind: {_DIRECTIVES}")


def with_source_comments(assembly: str) -> str:
    """Assembly with each directive of a source line replaced by that line, as a comment."""
    files: dict[str, str] = {}
    written: list[str] = []
    note = ""
    for line in assembly.splitlines():
        if match := _FILE.match(line):
            files[match[1]] = str(Path(match[2] or "", match[3]))
        elif match := _PLACE.match(line):
            before, note = note, _note(files[match[1]], int(match[2]))
            if note and note != before:
                written.append(note)
        elif not _FRAME.match(line):
            written.append(line)
            if note and _LABEL.match(line):
                written.append(note)  # what comes before may belong to another line
    return "\n".join(written) + "\n"


def _note(name: str, number: int) -> str:
    """The comment for a line of a file, "" for line 0, which stands for none."""
    text = linecache.getline(name, number).strip()
    return f"\t# {Path(name).name}:{number}: {text}" if number else ""
