"""YAML and JSON files as mappings with line numbers, so that an error can name the line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from foundation.bounded_text import bounded_text
from foundation.errors import UserError, nearest

__all__ = ["Entry", "read_document", "read_list"]

_T = TypeVar("_T")

_MOST_BRACKETS = 200
_BRACKETS = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\'\n]*\'|[\[\]{}]')


@dataclass(frozen=True)
class Entry:
    """A mapping in a file.

    Every method that reads a key raises a UserError with the file, the line and the key if the
    value has the wrong type, or if it is missing and has no default.

    Args:
        path: of the file, as the user gave it.
        node: the mapping, as PyYAML parsed it.
        kind: what the mapping describes, for messages.
    """

    path: Path
    node: MappingNode
    kind: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, in the order of the file."""
        return tuple(self._nodes())

    def only(self, known: Collection[str]) -> Entry:
        """This entry, after a check that it has only known keys, each at most once."""
        seen = set()
        for key, _ in self.node.value:
            name = str(key.value)
            if name not in known:
                self._fail(key, f"{name} is not a key of {self.kind}: {nearest(name, known)}")
            if name in seen:
                self._fail(key, f"{name} is given twice")
            seen.add(name)
        return self

    def whole(self, key: str, default: int | None = None) -> int:
        """A positive integer."""
        node = self._node(key)
        if node is None:
            return self._default(key, default)
        return self._whole(key, node)

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of positive integers, at least one."""
        return tuple(self._whole(key, item) for item in self._items(key))

    def number(self, key: str) -> float | None:
        """A number that is not negative, or None if it is missing."""
        node = self._node(key)
        if node is None:
            return None
        value = _value(node)
        number = -1.0
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            # YAML 1.1 reads 1e-2, without a point, as text.
            with contextlib.suppress(ValueError):
                number = float(value)
        if not 0 <= number < float("inf"):
            self._fail(node, f"{key} is {_spelt(node)}: give it a number that is not negative")
        return number

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not empty."""
        node = self._node(key)
        if node is None:
            return self._default(key, default)
        value = _value(node)
        if not isinstance(value, str) or not value:
            self._fail(node, f"{key} is {_spelt(node)}: give it some text")
        return value

    def scalar(self, key: str) -> int | float | bool | str:
        """A number, a truth value or text."""
        node = self._node(key)
        if node is None:
            return self._default(key, None)
        value = _value(node)
        if not isinstance(value, int | float | bool | str):
            self._fail(node, f"{key} is {_spelt(node)}: give it a number or text")
        return value

    def entry(self, key: str, kind: str) -> Entry:
        """A mapping."""
        node = self._node(key)
        if node is None:
            return self._default(key, None)
        return self._entry(node, kind)

    def entries(self, key: str, kind: str) -> list[Entry]:
        """A list of mappings, at least one."""
        return [self._entry(item, kind) for item in self._items(key)]

    def fail(self, key: str, what: str) -> NoReturn:
        """Reject the value of a key, or the whole entry if it does not have the key.

        Raises:
            UserError: always, with file and line before `what`.
        """
        self._fail(self._node(key) or self.node, what)

    def _whole(self, key: str, node: Node) -> int:
        value = _value(node)
        if not _is_int(value) or not isinstance(value, int) or value < 1:
            self._fail(node, f"{key} is {_spelt(node)}: give it a positive integer")
        return value

    def _items(self, key: str) -> list[Node]:
        node = self._node(key)
        if node is None:
            return self._default(key, None)
        if not isinstance(node, SequenceNode) or not node.value:
            self._fail(node, f"{key} is {_spelt(node)}: give it a list of at least one")
        return list(node.value)

    def _entry(self, node: Node, kind: str) -> Entry:
        if not isinstance(node, MappingNode):
            self._fail(node, f"{_spelt(node)} is not a {kind}: write it as keys and values")
        return Entry(self.path, node, kind)

    def _nodes(self) -> dict[str, Node]:
        return {str(key.value): value for key, value in self.node.value}

    def _node(self, key: str) -> Node | None:
        return self._nodes().get(key)

    def _default(self, key: str, default: _T | None) -> _T:
        if default is None:
            self._fail(self.node, f"{self.kind} has no {key}: add it")
        return default

    def _fail(self, node: Node, what: str) -> NoReturn:
        raise UserError(f"{self.path}, line {node.start_mark.line + 1}: {what}")


def read_document(path: Path, kind: str) -> Entry:
    """The mapping in a YAML or JSON file.

    Raises:
        UserError: if the file cannot be read or holds something else; with file and line.
    """
    node = _parse(path)
    if not isinstance(node, MappingNode):
        raise UserError(f"{path}, line 1: this is not a {kind}: write it as keys and values")
    return Entry(path, node, kind)


def read_list(path: Path, kind: str) -> list[Entry]:
    """The mappings in a YAML or JSON file that is a list of them, at least one.

    Raises:
        UserError: if the file cannot be read or holds something else; with file and line.
    """
    node = _parse(path)
    if not isinstance(node, SequenceNode) or not node.value:
        raise UserError(f"{path}, line 1: this is not a list: start a line with - for each {kind}")
    entries = []
    for item in node.value:
        if not isinstance(item, MappingNode):
            line = item.start_mark.line + 1
            raise UserError(f"{path}, line {line}: {_spelt(item)} is not a {kind}: give its keys")
        entries.append(Entry(path, item, kind))
    return entries


def _parse(path: Path) -> Node | None:
    try:
        text = bounded_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{path} cannot be read ({reason}): give another file") from error
    if _is_deep(text):
        raise UserError(f"{path} is nested too deeply: no file that is read here is")
    try:
        node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise UserError(f"{path}, line {line}: {error.problem}: write YAML or JSON") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path} is neither YAML nor JSON: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path} is nested too deeply: no file that is read here is") from error
    return node


def _is_deep(text: str) -> bool:
    """Whether brackets are open within more others than any file has, outside of quotes.

    PyYAML looks through all of them for each one that opens.
    """
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > _MOST_BRACKETS:
            return True
    return False


def _value(node: Node) -> object:
    """The value of a scalar; None for a list or a mapping."""
    if not isinstance(node, ScalarNode):
        return None
    try:
        value: object = SafeConstructor().construct_object(node)
    except (ValueError, yaml.YAMLError):  # such as an impossible date
        return None
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _spelt(node: Node) -> str:
    """A value as the file spells it, shortened."""
    if isinstance(node, ScalarNode):
        return str(node.value)[:40] or "empty"
    kind = "list" if isinstance(node, SequenceNode) else "mapping"
    return f"a {kind}" if node.value else f"an empty {kind}"
