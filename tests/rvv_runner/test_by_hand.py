"""Tuning by hand: the folder is built, runs with a bare Python, and comes back into the study."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from command_here import run_here
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from engine import build, collect
from engine.by_hand import run_perf
from engine.study.attributes import all_attributes
from foundation.errors import UserError
from launchers import Argument
from rvv_runner import verdict

LIMIT_S = 200
BOARD = """
kind = "x60"
[ssh]
host = "127.0.0.1"
lock = "{lock}"
busy_cores = 1000.0
wrapper = ["qemu-riscv64", "-cpu", "rv64,v=true,vlen=256,vext_spec=v1.0,zba=true,zbb=true,zbs=true"]
[events]
u_mode_cycle = "page-faults"
vector_inst = "no-such-event"
"""
# As the documents have it; what follows is this program's own.
COLUMNS = (
    "Timestamp,ELF Name,BLOCK_SIZE,Valid Output,Kernel Time (s),Total Time (s),u_mode_cycle,"
    "eu_vfpu_full,vidu_total_cycle,vector_micro_op,vector_load_inst,vector_store_inst,vector_inst,"
    "l1d_load_miss,l1d_load_access,l1d_access,l1d_miss,l2_access,l2_miss,l2_load_access,"
    "l2_store_access,"
)


@dataclass(frozen=True)
class Built:
    """A folder that engine.build made, and where its commands run."""

    home: Path
    tree: Path

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_here(self.home, name, *arguments, XDG_CONFIG_HOME=str(self.home / "config"))

    def trials(self) -> list[optuna.trial.FrozenTrial]:
        storage = JournalStorage(JournalFileBackend(str(self.home / "study.journal")))
        [name] = optuna.get_all_study_names(storage)
        return optuna.load_study(study_name=name, storage=storage).trials


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, ray_for_tests: None) -> Built:
    home = tmp_path_factory.mktemp("by hand")
    boards = home / "config" / "triton-rvv-tuner" / "boards"
    boards.mkdir(parents=True)
    (boards / "mine.toml").write_text(BOARD.format(lock=home / "lock"))
    built = Built(home, home / "a tree")
    arguments = ["--shape", "N=1000", "--board", "mine", "--proposals", "3"]
    done = built.command(
        "build", "vector_add", *arguments, "--out", "a tree", "--storage", "study.journal"
    )
    assert done.returncode == 0, done.stderr
    return built


@dataclass(frozen=True)
class Board:
    """A board's copy of the folder run."""

    folder: Path

    def configs(self) -> dict[str, Any]:
        configs: dict[str, Any] = json.loads((self.folder / "configs.json").read_text())
        return configs

    def run(self) -> subprocess.CompletedProcess[str]:
        """As on a laptop: no environment, and Python's standard library alone."""
        return subprocess.run(
            ["python3", "-I", "run_perf.py"],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def rows(self) -> list[dict[str, str]]:
        with (self.folder / "perf" / "perf_stats.csv").open(newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def board(built: Built, tmp_path: Path) -> Board:
    return Board(Path(shutil.copytree(built.tree / "run", tmp_path / "plain folder")))


def test_the_folder_is_the_documents_own(built: Built, board: Board) -> None:
    variants = board.configs()["variants"]
    assert len(variants) == len({variant["elf_path"] for variant in variants}) == 3
    for variant in variants:
        block = variant["BLOCK_SIZE"]
        assert variant["elf_path"] == f"bin/VL256_vector_add_{block}_g_static_O2.elf"
        elf = (board.folder / variant["elf_path"]).read_bytes()
        assert elf.startswith(b"\x7fELF")
        assembly = (built.tree / "run" / variant["asm_path"]).read_text()
        assert re.search(r"\tvl(e32|\dre32)\.v\t", assembly)
        folder = built.tree / "vector_add" / f"vector_add_{block}"
        assert json.loads((folder / "blk_constants.json").read_text()) == {"BLOCK_SIZE": block}
        header = (folder / "vector_add_kernel_launcher.h").read_text()
        assert f"static const int vector_add_kernel_BLOCK_SIZE = {block};" in header
        assert (board.folder / variant["test_data_path"]).is_file()
    assert board.configs()["perf_files"] == {"stat": "perf/perf_stats.csv"}


def test_results_come_back_into_the_study_once(built: Built, board: Board, tmp_path: Path) -> None:
    tree = Path(shutil.copytree(built.tree, tmp_path / "tree"))
    ran = board.run()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    text = (board.folder / "perf" / "perf_stats.csv").read_text()
    assert text.startswith(COLUMNS)
    rows = board.rows()
    assert [row["Valid Output"] for row in rows] == ["YES"] * 3
    assert all(float(row["Kernel Time (s)"]) > 0 for row in rows)
    assert {row["vector_inst"] for row in rows} == {""}  # which no core counts, is never 0
    assert board.run().stdout.startswith("every executable has its row")
    assert (board.folder / "perf" / "perf_stats.csv").read_text() == text

    shutil.copytree(board.folder / "perf", tree / "run" / "perf", dirs_exist_ok=True)
    taken = built.command("collect", str(tree))
    assert taken.returncode == 0, taken.stderr
    assert taken.stdout.startswith("3 added: correct\nbest of the study: ")
    trials = [trial for trial in built.trials() if trial.state.name == "COMPLETE"]
    assert {trial.params["BLOCK_SIZE"]: trial.value for trial in trials} == {
        int(row["BLOCK_SIZE"]): float(row["Kernel Time (s)"]) for row in rows
    }
    attributes = all_attributes(trials[0])
    assert attributes["board"] == "mine (by hand)"
    times_s = attributes["times_s"]
    assert isinstance(times_s, list)
    assert len(times_s) == 10
    again = built.command("collect", str(tree))
    assert again.stdout.startswith("3 already in the study\n")


BAD = {
    "wrong": ("((float *)args[0])[0] = 5;", "wrong", "v[0] is 5 and should be 1"),
    "illegal": (
        "__builtin_trap();",
        "runtime",
        "it was ended by SIGILL: the core lacks an instruction, perhaps of an extension: see "
        "rvv-tune boards check",
    ),
    "hangs": ('for (;;) __asm__ volatile("");', "timeout", "it did not finish within 2 s"),
    "floods": ('for (;;) puts("and again");', "runtime", "it printed more than 1 MiB"),
}


def test_a_bad_executable_gets_its_status_and_no_time(
    built: Built, board: Board, build_kernel: Any
) -> None:
    configs = board.configs()
    variant = configs["variants"][0]
    variants = []
    for name, (body, _, _) in BAD.items():
        expected = Argument("v", "*fp32", np.zeros(1, np.float32), np.ones(1, np.float32))
        artifact = build_kernel(body, [expected])
        paths = {"elf_path": f"bin/{name}.elf", "test_data_path": "test_data/bad"}
        shutil.copy(artifact.elf_path, board.folder / paths["elf_path"])
        shutil.copy(artifact.data_path, board.folder / paths["test_data_path"])
        of_build = {"sha256": artifact.sha256, "kernel": artifact.kernel}
        variants.append({**variant, **paths, **of_build})
    text = json.dumps({**configs, "variants": variants, "limit_s": 2, "events": {}})
    (board.folder / "configs.json").write_text(text)
    (judge,) = board.folder.rglob("verdict.py")
    share = f"_LEAST_SHARE = {verdict._LEAST_SHARE}\n"
    assert share in judge.read_text()
    judge.write_text(judge.read_text().replace(share, "_LEAST_SHARE = 1e-9\n"))  # as on an idle one
    ran = board.run()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = board.rows()
    found = [(row["Valid Output"], row["Status"], row["Reason"]) for row in rows]
    assert found == [("NO", status, reason) for _, status, reason in BAD.values()]
    assert {row["Kernel Time (s)"] for row in rows} == {""}


def test_another_kernels_executable_is_not_scored(board: Board) -> None:
    configs = board.configs()
    assert [variant["kernel"] for variant in configs["variants"]] == ["vector_add_kernel"] * 3
    configs["variants"] = [{**configs["variants"][0], "kernel": "matmul_kernel"}]
    (board.folder / "configs.json").write_text(json.dumps({**configs, "events": {}}))
    assert board.run().returncode == 0
    [row] = board.rows()
    assert (row["Status"], row["Kernel Time (s)"]) == ("board", "")
    assert row["Reason"] == "what ran was the kernel vector_add_kernel, not matmul_kernel"


def test_where_the_board_was_at_fault_it_is_measured_again(board: Board) -> None:
    path = board.folder / "configs.json"
    text = path.read_text()
    refused = ["qemu-riscv64", "-cpu", "rv64,?=1"]
    path.write_text(json.dumps({**board.configs(), "wrapper": refused}))
    for statuses in (["board"] * 3, ["board"] * 3 + ["correct"] * 3):
        ran = board.run()
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert [row["Status"] for row in board.rows()] == statuses
        path.write_text(text)


def test_a_file_that_did_not_arrive_whole_is_not_run(board: Board) -> None:
    elf = board.folder / board.configs()["variants"][1]["elf_path"]
    elf.write_bytes(elf.read_bytes()[:-1])
    ran = board.run()
    assert ran.returncode == 2
    assert f"bin/{elf.name} is not what was built: copy the folder again" in ran.stdout
    assert not (board.folder / "perf" / "perf_stats.csv").exists()


@pytest.fixture
def at_home(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process find the board file, and write beside the folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(built.home / "config"))
    monkeypatch.chdir(built.home)


def test_a_folder_with_something_in_it_is_not_built_into(at_home: None) -> None:
    with pytest.raises(UserError, match=r"^a tree already exists: give --out a new folder$"):
        build.main(["vector_add", "--out", "a tree", "--storage", "study.journal"])


def test_a_folder_of_another_compiler_is_refused(
    built: Built, at_home: None, tmp_path: Path
) -> None:
    shutil.copytree(built.tree, tmp_path / "old")
    path = tmp_path / "old" / "study.json"
    kept = json.loads(path.read_text())
    kept["made_with"]["compiler"] = "another"
    path.write_text(json.dumps(kept))
    with pytest.raises(UserError, match="were made with another compiler"):
        collect.main([str(tmp_path / "old")])
    with pytest.raises(UserError, match=r"is not a folder that `\S+ -m engine\.build` made"):
        collect.main([str(tmp_path)])


def test_what_travels_to_a_board_is_for_python_3_8(board: Board) -> None:
    """Its grammar, and generic types only where they are not evaluated."""
    files = [*board.folder.rglob("*.py"), Path(run_perf.__file__)]
    assert len(files) > 8
    for path in files:
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.Attribute) and node.attr.startswith("remove")), path
        for node in _evaluated(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                assert not node.value.id[0].isupper(), (path, node.lineno)
                assert node.value.id not in ("dict", "list", "set", "tuple", "type"), path


def _evaluated(tree: ast.AST) -> list[ast.AST]:
    """Every node but those of annotations, which `from __future__ import annotations` keeps."""
    nodes: list[ast.AST] = []
    front = [tree]
    while front:
        node = front.pop()
        nodes.append(node)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                children = value if isinstance(value, list) else [value]
                front += [child for child in children if isinstance(child, ast.AST)]
    return nodes
