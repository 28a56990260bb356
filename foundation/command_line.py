"""The generic part of every command: its parser, argument types and exit status."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn

from foundation.completion import complete
from foundation.errors import CommandError, UserError, nearest
from foundation.printing import say
from foundation.programs import python_command
from foundation.refusals import refusal
from foundation.user_folders import triton_elsewhere

__all__ = [
    "EXIT_FOUND",
    "EXIT_MISTAKE",
    "EXIT_NOTHING_VALID",
    "ArgumentParser",
    "duration_s",
    "host_and_port",
    "integer",
    "invocation",
    "invoked_as",
    "natural_number",
    "one_of",
    "percentage",
    "positive_integer",
    "positive_number",
    "run_command",
    "run_script",
]

EXIT_FOUND = 0
EXIT_NOTHING_VALID = 1
EXIT_MISTAKE = 2
_EXIT_TERMINATED = 128 + signal.SIGTERM  # as shells write it


_invoked_as: ContextVar[str | None] = ContextVar("_invoked_as", default=None)


def invocation(module: str) -> str:
    """How to start a command, for usage lines that can be pasted."""
    return _invoked_as.get() or python_command(module)


@contextlib.contextmanager
def invoked_as(words: str) -> Iterator[None]:
    """Within the block, the command is a subcommand, started as `words`: "rvv-tune tune"."""
    before = _invoked_as.set(words)
    try:
        yield
    finally:
        _invoked_as.reset(before)


# How arguments are declared that go on to a program or to another parser.
_PASSED_ON = (argparse.REMAINDER, argparse.PARSER)


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors are UserErrors with one sentence.

    Args:
        prog: how the command is started, from `invocation`.
        description, epilog: for --help.
    """

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog=prog, description=description, epilog=epilog, allow_abbrev=False)
        self._finish: list[Callable[[argparse.Namespace], None]] = []

    def finish_with(self, step: Callable[[argparse.Namespace], None]) -> None:
        """Call `step` with the arguments once they are parsed, where one depends on another."""
        self._finish.append(step)

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """The arguments; if the shell asks for completions, it prints them and ends the process."""
        complete(self)
        self._refuse_unknown(sys.argv[1:] if argv is None else argv)
        arguments = self.parse_args(argv)
        for step in self._finish:
            step(arguments)
        return arguments

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """The value of an argument; none takes an empty word, as an unset variable leaves it."""
        if "" in arg_strings and action.nargs not in _PASSED_ON:
            raise argparse.ArgumentError(action, "must not be empty")
        return super()._get_values(action, arg_strings)

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        """Raise for an unknown option before its value is taken for something else."""
        if any(action.nargs in _PASSED_ON for action in self._actions):
            return
        for word in words:
            if word == "--":
                return
            option = word.split("=")[0]
            if option.startswith("--") and option not in self._option_string_actions:
                raise self._no_such(option)

    def _no_such(self, option: str) -> UserError:
        return UserError(f"there is no argument {option}: {nearest(option, self._options(), 0.7)}")

    def error(self, message: str) -> NoReturn:
        """Raise a UserError; argparse calls this for every mistake."""
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            option = unknown[1].split("=")[0]
            if not option.startswith("-"):
                raise UserError(f"{option} is one argument too many: see `{self.prog} --help`")
            raise self._no_such(option)
        message = message.removeprefix("argument ").rstrip(".")
        if message.startswith("the following arguments are required: "):
            missing = message.partition(": ")[2]
            raise UserError(f"{missing} is missing: see `{self.prog} --help`")
        raise UserError(f"{message} (see `{self.prog} --help`)")

    def _options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]


def run_command(command: Callable[[Sequence[str] | None], int], prog: str) -> NoReturn:
    """Run a command on the process's arguments, and end the process with its exit status.

    A user's mistake prints one sentence on stderr and gives status 2, and so does what this
    machine refuses, such as a full disk. Ctrl-C, and output that nobody reads any more, print one
    sentence and give status 1, SIGTERM one and status 143.
    """
    terminated: list[int] = []

    def terminate(number: int, _frame: object) -> NoReturn:
        # Ray ends a wait at nothing else, with a new one: at any other, with a SystemError later.
        terminated.append(number)
        raise KeyboardInterrupt

    _mend_streams()
    try:
        signal.signal(signal.SIGTERM, terminate)
        # A shell without job control starts what runs in the background with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _check_current_folder()
        os.environ.update(triton_elsewhere(os.environ))
        status = command(None)
        sys.stdout.flush()
    except BrokenPipeError:  # as with `| head`
        status = _end(f"{prog}: stopped, since nothing reads its output", EXIT_NOTHING_VALID)
    except CommandError as error:
        status = _end(f"{prog}: {error}", EXIT_MISTAKE)
    except KeyboardInterrupt:
        by, status = (" by SIGTERM", _EXIT_TERMINATED) if terminated else ("", EXIT_NOTHING_VALID)
        status = _end(f"{prog}: stopped{by}", status)
    except OSError as error:
        reason = refusal(error)
        if reason is None:
            raise
        status = _end(f"{prog}: {reason}", EXIT_MISTAKE)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # what packages do at the end of Python
    gc.freeze()  # else Python looks for garbage in all that torch and Ray made, for a second
    sys.exit(status)


def run_script(main: Callable[[], object]) -> NoReturn:
    """Run a script of `benchmarks/` on the process's arguments, and end as `run_command` does.

    Args:
        main: what it does, with an exit status or None.
    """

    def command(_: Sequence[str] | None) -> int:
        status = main()
        return status if isinstance(status, int) else EXIT_FOUND

    run_command(command, Path(sys.argv[0]).name)


def _check_current_folder() -> None:
    """Nearly every command asks for it, if only to name a program of this environment."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UserError("the current folder was removed: go to another one") from None


def _mend_streams() -> None:
    """Closed streams are as /dev/null; characters that a stream cannot show are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 # as long as sys
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _end(sentence: str, status: int) -> int:
    """Print the sentence where that is possible; nothing is printed after it."""
    with contextlib.suppress(OSError):
        say(sentence, file=sys.stderr, flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # what it still holds would be tried again at the very end
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return status


def host_and_port(text: str) -> str:
    """An address as HOST:PORT, for argparse."""
    if not re.fullmatch(r"[^:/\s]+:\d{1,5}", text) or int(text.rpartition(":")[2]) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not HOST:PORT")
    return text


def positive_integer(text: str) -> int:
    """An integer that is at least 1, for argparse."""
    if not re.fullmatch(r"\+?\d+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, not {text or 'nothing'}")
    return int(text)


def integer(text: str) -> int:
    """An integer, for argparse."""
    if not re.fullmatch(r"[+-]?\d+", text):
        raise argparse.ArgumentTypeError(f"must be an integer, not {text}")
    return int(text)


def natural_number(text: str) -> int:
    """An integer that is not negative, for argparse."""
    number = integer(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, and {text} is")
    return number


def positive_number(text: str) -> float:
    """A finite number above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number, not {text}")
    return value


def duration_s(text: str) -> float:
    """A time in seconds, for argparse: "90", "30m", "1h30m"."""
    parts = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?", text)
    try:
        numbers = [float(part or 0) for part in parts.groups()] if parts else []
    except ValueError:
        numbers = []
    seconds = sum(n * unit for n, unit in zip(numbers, (3600, 60, 1), strict=False))
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"must be a time such as 30m, 2h or 90s, not {text}")
    return seconds


def percentage(text: str) -> float:
    """A percentage of at least 0, as a fraction, for argparse: "5" is 0.05."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a percentage, not {text}")
    return value / 100


def one_of(what: str, names: Callable[[], list[str]]) -> Callable[[str], str]:
    """A type for argparse that accepts one of `names()`; an error suggests the nearest names."""

    def parse(text: str) -> str:
        if text not in names():
            raise UserError(f"there is no {what} named {text}: {nearest(text, names())}")
        return text

    return parse
