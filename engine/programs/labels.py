"""Names of tasks for people, of which no two are alike."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kernels.captured.task import Task
from kernels.captured.task_values import Scalar

__all__ = ["differences", "short_key", "task_labels"]

_KEY_DIGITS = 8


def short_key(task: Task) -> str:
    """The beginning of a task's key."""
    return task.key[:_KEY_DIGITS]


def task_labels(tasks: Sequence[Task]) -> dict[str, str]:
    """By key: "softmax 256x512 bf16", and what tells a task from others of that name."""
    more = differences(tasks, _name)
    return {task.key: f"{_name(task)} {more[task.key]}".rstrip() for task in tasks}


def differences(tasks: Sequence[Task], name_of: Callable[[Task], str]) -> dict[str, str]:
    """What has to be added to each task's name so that no two are alike.

    Args:
        tasks: those of one capture.
        name_of: the name of a task so far.

    Returns:
        By key: "" where the name is enough; else what differs, such as "n=1000".
    """
    alike = defaultdict[str, list[Task]](list)
    for task in tasks:
        alike[name_of(task)].append(task)
    found: dict[str, str] = {}
    for group in alike.values():
        found |= {group[0].key: ""} if len(group) == 1 else _told_apart(group)
    return found


def _told_apart(tasks: Sequence[Task]) -> dict[str, str]:
    """As few facts as tell the tasks apart; for those that no fact tells apart, the key."""
    facts = {task.key: dict(_facts(task)) for task in tasks}
    left = list(dict.fromkeys(name for known in facts.values() for name in known))
    chosen: list[str] = []

    def texts(*more: str) -> dict[str, str]:
        return {key: _text(known, [*chosen, *more]) for key, known in facts.items()}

    def kinds(*more: str) -> int:
        return len(set(texts(*more).values()))

    while left and kinds() < len(tasks):
        best = max(left, key=kinds)
        if kinds(best) == kinds():
            break
        left.remove(best)
        chosen.append(best)
    found = texts()
    often = Counter(found.values())
    return {
        task.key: text if often[text] == 1 else f"{text} {short_key(task)}".lstrip()
        for task in tasks
        for text in (found[task.key],)
    }


def _text(facts: Mapping[str, str], names: Sequence[str]) -> str:
    return " ".join(facts[name] for name in names if name in facts)


def _facts(task: Task) -> Iterator[tuple[str, str]]:
    """What may tell a task from others, the easiest to understand first."""
    for name, value in task.parts.items():
        if isinstance(value, Scalar):
            yield name, f"{name}={value.value}"
    for name, tensor in task.tensors.items():
        yield name, f"{name}={'x'.join(map(str, tensor.shape)) or 'scalar'}"
    for name, value in {**task.constants, **task.options}.items():
        yield name, f"{name}={value}"
    for name, tensor in task.tensors.items():
        yield f"type of {name}", f"{name}={tensor.dtype}"
    yield "grid", f"grid={'x'.join(map(str, task.grid))}"
    yield "module", f"of {task.kernel.module}"
    for name, tensor in task.tensors.items():
        yield f"strides of {name}", f"{name} strides={','.join(map(str, tensor.strides))}"
        yield f"alignment of {name}", f"{name} aligned to {tensor.alignment}"


def _name(task: Task) -> str:
    """The kernel, and its largest tensor."""
    tensors = list(task.tensors.values())
    name = task.kernel.name.removesuffix("_kernel")
    if not tensors:
        return name
    largest = max(tensors, key=lambda tensor: math.prod(tensor.shape))
    return f"{name} {'x'.join(map(str, largest.shape))} {largest.dtype}"
