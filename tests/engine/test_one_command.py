"""`python -m engine` and rvv-tune: a table of all commands, each as a subcommand; completion."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from engine.__main__ import COMMANDS, main
from engine.arguments.options import SAMPLER_NAMES
from engine.search.samplers.registry import SAMPLERS
from foundation.command_line import invoked_as
from foundation.programs import python_command
from kernels.registry import kernel_names

REPOSITORY = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join([str(REPOSITORY), os.environ["PYTHONPATH"]])
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
LIMIT_S = 200
HEAVY = "{'torch', 'triton', 'ray', 'optuna', 'pandas', 'scipy', 'paramiko'}"


@pytest.fixture(scope="module")
def rvv_tune(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The console script, as pip would write it."""
    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts["rvv-tune"].split(":")
    script = tmp_path_factory.mktemp("bin") / "rvv-tune"
    script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
    script.chmod(0o755)
    return script


def run(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": PATHS, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_every_command_is_listed_on_a_line_of_its_own(rvv_tune: Path) -> None:
    by_module, by_script = run(sys.executable, "-m", "engine"), run(rvv_tune)
    assert by_module.returncode == by_script.returncode == 0
    assert by_script.stdout.startswith("usage: rvv-tune COMMAND")
    assert by_module.stdout == by_script.stdout.replace("rvv-tune", python_command("engine"))
    listed = [line.split() for line in by_script.stdout.splitlines()]
    for name, command in COMMANDS.items():
        assert [name, *command.summary.split()] in listed


def test_the_table_has_every_command_there_is() -> None:
    """A command is a file of engine/ that runs as a program."""
    files = {path.stem for path in (REPOSITORY / "engine").glob("*.py")}
    runnable = {
        f"engine.{name}"
        for name in files - {"__main__"}
        if "\nif __name__ ==" in (REPOSITORY / "engine" / f"{name}.py").read_text()
    }
    others = {"rvv_runner.__main__", "triton_rvv.__main__"}
    assert {command.module for command in COMMANDS.values()} == runnable | others


def usage(start: Callable[[], int], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 0
    return capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_lines_can_be_pasted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[name]
    by_itself = importlib.import_module(command.module).main
    module = command.module.removesuffix(".__main__")
    shown = usage(lambda: by_itself([*command.words, "--help"]), capsys)
    assert shown.startswith(f"usage: {' '.join([python_command(module), *command.words])} ")
    with invoked_as("rvv-tune"):
        as_subcommand = usage(lambda: main([name, "--help"]), capsys)
    assert as_subcommand.startswith(f"usage: rvv-tune {name} ")


def test_version_is_all_that_is_printed(rvv_tune: Path) -> None:
    assert run(rvv_tune, "--version").stdout == f"{VERSION}\n"


def test_sources_that_were_not_installed_have_a_version(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "foundation", tmp_path / "foundation")
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    show = "from foundation.version import project_version; print(project_version())"
    done = run(sys.executable, "-S", "-c", show, PYTHONPATH=str(tmp_path))
    assert done.stdout == f"{VERSION}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["tunne"],
            "there is no command named tunne: did you mean tune or tune-all or tune-list?",
        ),
        (
            ["tune", "matmul", "--trials", "x"],
            "--trials: must be a positive integer, not x (see `rvv-tune tune --help`)",
        ),
        pytest.param(
            ["measure"], "KERNEL is missing: see `rvv-tune measure --help`", marks=pytest.mark.long
        ),
        (["boards", "check"], "DEVICE is missing: see `rvv-tune boards check --help`"),
        pytest.param(
            ["tune", "matmull"],
            "there is no kernel named matmull: did you mean matmul",
            marks=pytest.mark.long,
        ),
        pytest.param(
            ["tune", "/dev"],
            "/dev is a folder: give the path of a Python file with a kernel",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    rvv_tune: Path, words: list[str], sentence: str
) -> None:
    done = run(rvv_tune, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rvv-tune: {sentence}")
    assert done.stderr.count("\n") == 1


def test_arguments_and_exit_status_are_the_subcommands(rvv_tune: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [rvv_tune, "new", "axpy"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PATHS},
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "axpy.py").is_file()
    assert run(rvv_tune, "find", "matmul", "--storage", str(tmp_path / "none")).returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        pytest.param(["--help"], marks=pytest.mark.long),
        pytest.param(["--version"], marks=pytest.mark.long),
        ["tunne"],
        ["tune", "--help"],
    ],
)
def test_help_and_mistakes_import_nothing_heavy(words: list[str]) -> None:
    script = (
        "import sys; from engine.__main__ import start\n"
        "try: start()\n"
        f"finally: print(*{HEAVY} & sys.modules.keys())"
    )
    assert run(sys.executable, "-c", script, *words).stdout.splitlines()[-1] == ""


def completions(line: str, script: Path, **variables: str) -> list[str]:
    """What bash offers where TAB is pressed behind `line`, by argcomplete's own bash function."""
    register = Path(sys.executable).with_name("register-python-argcomplete")
    press_tab = """
        eval "$($REGISTER rvv-tune)"
        COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9 IFS=' '
        COMP_WORDS=($LINE) COMP_CWORD=${#COMP_WORDS[@]}
        $(complete -p rvv-tune | sed 's/.*-F \\([^ ]*\\).*/\\1/') rvv-tune
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{script.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {"REGISTER": str(register), "LINE": line, "PATH": path, **variables}
    done = run("bash", "--norc", "-c", press_tab, **given)
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in done.stdout.splitlines() if word]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("rvv-tune ", list(COMMANDS)),
        pytest.param("rvv-tune tu", ["tune", "tune-list", "tune-all"], marks=pytest.mark.long),
        pytest.param("rvv-tune tune ", kernel_names(), marks=pytest.mark.long),
        ("rvv-tune tune matmul --st", ["--storage", "--study"]),
        pytest.param(
            "rvv-tune tune matmul --sampler ", list(SAMPLER_NAMES), marks=pytest.mark.long
        ),
        pytest.param(
            "rvv-tune tune matmul --sampler tpe --until ", ["converged"], marks=pytest.mark.long
        ),
        ("rvv-tune tune matmul --device emulated:x", ["x100", "x60", "x60-ime"]),
        pytest.param(
            "rvv-tune boards ",
            ["trust", "check", "stat", "calibrate", "core", "qemu"],
            marks=pytest.mark.long,
        ),
        pytest.param("rvv-tune boards check --w", ["--write"], marks=pytest.mark.long),
        pytest.param("rvv-tune export --format s", ["sglang"], marks=pytest.mark.long),
        ("rvv-tune tune fused_moe --for ", ["vllm", "sglang"]),
        pytest.param("rvv-tune --v", ["--version"], marks=pytest.mark.long),
    ],
)
def test_bash_completes(line: str, offered: list[str], rvv_tune: Path) -> None:
    assert completions(line, rvv_tune) == offered


def test_bash_completes_the_names_of_stored_studies(rvv_tune: Path, tmp_path: Path) -> None:
    storage = str(tmp_path / "s.journal")
    opened = JournalStorage(JournalFileBackend(storage))
    for name in ("one", "two", "other"):
        optuna.create_study(storage=opened, study_name=name)
    optuna.delete_study(storage=opened, study_name="two")
    for command in ("report", "explain", "export"):
        line = f"rvv-tune {command} --storage {storage} "
        assert completions(line, rvv_tune) == ["one", "other"]
    assert completions(f"rvv-tune report --storage {tmp_path} o", rvv_tune) == []


def test_samplers_are_completed_by_the_names_they_have() -> None:
    assert list(SAMPLER_NAMES) == list(SAMPLERS)


def test_completion_imports_nothing_heavy(tmp_path: Path) -> None:
    """The interpreter says what was imported where it ends, which argcomplete does at once."""
    script = tmp_path / "rvv-tune"
    script.write_text(
        f"#!{sys.executable}\nimport os, sys\nend = os._exit\n"
        f"def tell(status):\n    open({str(tmp_path / 'told')!r}, 'w').write(' '.join({HEAVY} & "
        "sys.modules.keys()) or 'nothing')\n    end(status)\n"
        "os._exit = tell\nfrom engine.__main__ import start\nstart()\n"
    )
    script.chmod(0o755)
    assert completions("rvv-tune tune matmul --sampler gp --device ho", script) == ["host"]
    assert (tmp_path / "told").read_text() == "nothing"


def test_advice_names_commands_as_the_user_started_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    given = {module: python_command(module) for module in ("engine.tune_list", "rvv_runner", "pip")}
    assert given == {module: f".venv/bin/python -m {module}" for module in given}
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv/bin/rvv-tune"), "tune"])
    assert python_command("engine.tune_list") == ".venv/bin/rvv-tune tune-list"
    assert python_command("rvv_runner") == ".venv/bin/rvv-tune boards"
    assert python_command("pip") == ".venv/bin/python -m pip"
