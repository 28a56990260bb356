"""A command that is stopped ends in a sentence, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAITS = """
import time
from foundation.command_line import run_command

def wait(argv):
    print("waiting", flush=True)
    time.sleep(60)

run_command(wait, "tried")
"""

# Ray's wait goes on at any other exception.
WAITS_AS_RAY = WAITS.replace(
    "    time.sleep(60)",
    """    try:
        time.sleep(60)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None
    except BaseException as error:
        print(error, file=sys.stderr)
    """,
).replace("import time", "import sys\nimport time")

# As if Ctrl-C came when a module is looked for.
SITE = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
"""


@pytest.mark.parametrize("program", [WAITS, WAITS_AS_RAY])
def test_a_command_at_sigterm(program: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=200)
    assert (process.returncode, err) == (143, "tried: stopped by SIGTERM\n")


@pytest.mark.parametrize(
    ("command", "module"),
    [("engine.tune", "engine.arguments"), ("rvv_runner", "rvv_runner.board")],
)
def test_ctrl_c_while_a_command_is_imported(command: str, module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SITE.format(module=module))
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", command, "check"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "stopped\n")
