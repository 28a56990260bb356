"""Which processors of a board over SSH kernels run on."""

from __future__ import annotations

from rvv_runner.board_file import BoardFile
from rvv_runner.ssh.facts import BoardFacts, processor_numbers
from rvv_runner.usage import cores_text

__all__ = ["chosen_processors"]


def chosen_processors(board_file: BoardFile, facts: BoardFacts, count: int) -> tuple[int, ...]:
    """The last `count` processors of the board's kind of core, up to the one in the board file.

    Neighbours share caches, so the last ones fill a cluster before they take from another.

    Returns:
        Their numbers, ascending; empty if processes cannot be bound, or should not be.

    Raises:
        ValueError: if too few are online, they are of another kind, or cannot be bound.
    """
    assert board_file.ssh is not None
    last = board_file.ssh.core
    if last is not None and last not in facts.processors:
        raise ValueError(f"it has no processor {last}: change core in the board file")
    if last is not None and count == 1:
        return (last,) if facts.has_taskset else ()
    found = _of_kind(board_file, facts)
    if last is not None:
        found = [number for number in found if number <= last]
    if len(found) < count:
        raise ValueError(
            f"it has too few processors for {cores_text(count)}, since it can use "
            f"{', '.join(map(str, found)) or 'none'} only: give --cores {len(found) or 1}, "
            "or bring others online"
        )
    _check_kind(board_file, facts, found[-count:])
    if last is None and board_file.enter is not None:
        return ()
    if count > 1 and not facts.has_taskset:
        raise ValueError("it lacks taskset, which binds kernels to cores: install it there")
    return tuple(found[-count:]) if facts.has_taskset else ()


def _of_kind(board_file: BoardFile, facts: BoardFacts) -> list[int]:
    """The online processors of the board's kind of core; all of them if it has one kind."""
    if board_file.processors is None:
        return sorted(facts.processors)
    own = set(processor_numbers(board_file.processors))
    found = sorted(number for number in facts.processors if number in own)
    if not found:
        raise ValueError(
            f"none of its processors {board_file.processors} is online: "
            "change processors in the board file"
        )
    if not facts.has_taskset:
        raise ValueError("it lacks taskset, which chooses the core type: install it there")
    return found


def _check_kind(board_file: BoardFile, facts: BoardFacts, numbers: list[int]) -> None:
    if board_file.processors is None:
        return
    for number in numbers:
        wanted, told = board_file.marchid, facts.marchids.get(number)
        if None not in (wanted, told) and wanted != told:
            raise ValueError(
                f"its processor {number} has the marchid {told}, and {board_file.kind} "
                f"has {wanted}: change processors in the board file"
            )
