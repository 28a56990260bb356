"""Reads the project's documents: their code blocks, links and file names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "DOCUMENTS",
    "REPOSITORY",
    "CodeBlock",
    "code_blocks",
    "links",
    "paths_named",
    "prose",
    "with_own_file",
]

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), REPOSITORY / "studies/README.md"]
)

# What only runs leave behind, and names that stand for any name.
_MADE_BY_RUNS = ("studies/", "builds/", "artifacts/", ".venv", ".build")
_PLACEHOLDERS = ("NAME", "KERNEL", "~")


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block.

    Args:
        language: what stands behind the fence, "" for nothing.
        text: its lines.
        file: the path on the line above, where there is one.
    """

    language: str
    text: str
    file: str | None


def code_blocks(document: Path) -> list[CodeBlock]:
    found = re.finditer(
        r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```",
        document.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    return [CodeBlock(match["language"], match["text"], match["file"]) for match in found]


def links(document: Path) -> list[str]:
    """Targets of links within the repository, as they are written."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(document))
    return [target.split("#")[0] for target in targets if "://" not in target]


def paths_named(document: Path) -> list[str]:
    """Paths in code spans: what has a slash and a known beginning, or the ending of a file."""
    spans = re.findall(r"`([^`\s]+)`", prose(document))
    folders = {f"{path.name}/" for path in REPOSITORY.iterdir() if path.is_dir()}
    return [
        span
        for span in spans
        if (span.startswith(tuple(folders)) or re.search(r"\w\.(py|md|toml|sh|txt|c|h)$", span))
        and not span.startswith(_MADE_BY_RUNS)
        and not any(word in span for word in _PLACEHOLDERS)
    ]


def prose(document: Path) -> str:
    """A document without its code blocks."""
    return re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def with_own_file(word: str, folder: Path) -> str:
    """The path of a file in place of the name of the reader's own; other words as is."""
    if not re.fullmatch(r"\w+\.py", word) or Path(word).exists():
        return word
    (folder / word).write_text("import triton\n")
    return str(folder / word)
