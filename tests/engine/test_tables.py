"""Tables of other programs: what an audit finds in them, and what a search takes from them."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.audit import main as audit
from engine.export import main as export
from engine.search import Search
from engine.study.history import history_of
from engine.study.identity import StudyIdentity
from engine.study.storage import open_study, read_studies
from engine.tables.findings import findings
from engine.tables.registry import read_table
from engine.winners.lookup import NotTunedError, lookup
from foundation.config import Config
from foundation.errors import UserError
from search_spaces.space import SearchSpace

import_tables = importlib.import_module("engine.import").main

GOOD: dict[str, Any] = {
    "BLOCK_SIZE_M": 16,
    "BLOCK_SIZE_N": 64,
    "BLOCK_SIZE_K": 128,
    "GROUP_SIZE_M": 1,
    "num_warps": 4,
    "num_stages": 3,
}
PRODUCT = "N=512,K=1024,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"
EXPERTS = "E=8,N=7168,device_name=NVIDIA_H200.json"
HEAD = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName"
ROW = "gfx942,304,{m},512,1024,torch.float8_e4m3fnuz,1,0,5.5,name"
MATMUL = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 1}


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def found(path: Path, **device: str) -> list[tuple[str, str]]:
    """Place and kind of each finding."""
    return [(f.row.place, f.fault.kind) for f in findings(read_table(path), device)]


def test_a_row_for_another_gpu_or_version_is_told(tmp_path):
    path = written(tmp_path, EXPERTS, {"triton_version": "3.4.0", "1": GOOD})
    assert found(path, gpu="NVIDIA H200 NVL", triton="3.4.0") == []  # one family, in vLLM
    assert found(path) == []
    assert found(path, gpu="NVIDIA H20", triton="3.7.1") == [
        ("M=1", "never hit"),
        ("M=1", "another version"),
    ]
    sglang = written(tmp_path, f"configs/triton_3_4_0/{EXPERTS}", {"1": GOOD})
    assert found(sglang, triton="3.7.1") == [("M=1", "another version")]
    assert read_table(sglang).format == "SGLang's experts"


def test_keys_and_values_that_stop_a_consumer_are_told(tmp_path):
    path = written(
        tmp_path,
        PRODUCT,
        '{"triton_version": "3.7.1", "small": {}, "4": {"BLOCK_SIZE_M": 48}, "4": 7}',
    )
    kinds = found(path)
    assert ("triton_version", "invalid") in kinds  # of products, every key is a number of rows
    assert ("small", "invalid") in kinds
    assert ("M=4", "duplicate") in kinds
    odd = written(tmp_path, EXPERTS, {"4": {**GOOD, "BLOCK_SIZE_M": 48}, "8": [], "16": {"a": 1e9}})
    assert found(odd) == [("M=4", "invalid"), ("M=8", "invalid")]


def test_ranges_that_no_m_finds(tmp_path):
    ranges = ("M_LEQ_16", "M_LEQ_48", "M_LEQ_64", "M_GEQ_16", "M_GEQ_64", "M_GEQ_128", "any")
    name = "gfx942/triton/gemm/gemm_a8w8_blockscale/GEMM-A8W8_BLOCKSCALE-N=512-K=1024.json"
    path = written(
        tmp_path, name, {key: {**GOOD, "GROUP_SIZE_M": n} for n, key in enumerate(ranges)}
    )
    assert found(path) == [("M_LEQ_48", "never hit"), ("M_GEQ_16", "shadowed")]
    assert {place for place, _ in found(path, arch="gfx950")} == set(ranges)
    written(
        tmp_path,
        str(Path(name).with_name("DEFAULT.json")),
        {"M_LEQ_16": {**GOOD, "GROUP_SIZE_M": 0}},
    )
    assert ("M_LEQ_16", "no better") in found(path)


def test_rows_of_a_csv(tmp_path):
    rows = [
        ROW.format(m=1),
        ROW.format(m=1).replace("5.5", "6.5"),
        ROW.format(m=2).replace("torch.float8_e4m3fnuz", "torch.float8_e4m3fn"),
        ROW.format(m=3).replace("torch.float8_e4m3fnuz", "fp8"),
        ROW.format(m=4).replace("304", "80"),
        ROW.format(m=-5).replace("5.5", "inf"),
    ]
    path = written(tmp_path, "a8w8_tuned_gemm.csv", "\n".join([HEAD, *rows, ""]))
    assert found(path, arch="gfx942", units="304") == [
        ("line 3", "duplicate"),
        ("line 4", "never hit"),
        ("line 5", "never hit"),
        ("line 6", "never hit"),
        ("line 7", "invalid"),
        ("line 7", "invalid"),
    ]


def test_rows_of_an_inductor_table(tmp_path):
    key = "((torch.bfloat16, [64, 200], [200, 1]), (torch.bfloat16, [200, 128], [128, 1]))+mm"
    entry = {"template_id": "triton::mm", "BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}
    table = {f"NVIDIA H200+{key}": [entry, {"BLOCK_M": 64}], "mm": [entry]}
    path = written(tmp_path, "table.json", table)
    first, second, third = read_table(path).rows
    assert (first.kernel, first.dtype) == ("matmul", "bf16")
    assert first.shape == {"M": 64, "N": 128, "K": 200}
    assert [f.kind for f in (*second.faults, *third.faults)] == ["invalid", "never hit"]
    assert (first.place, "never hit") in found(path, gpu="NVIDIA H100")


def test_rows_of_tune_gemm(tmp_path):
    keys = {**GOOD, "SPLIT_K": 1, "waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 1}
    keys |= {"schedule_hint": "none", "rowMajorA": "T", "rowMajorB": "T", "N": 8, "K": 8}
    entries = [{"M": 8, **keys}, {"M": 8, **keys}, {"M": 9, **keys, "speedup": 1.0}, {"M": 10}]
    path = written(tmp_path, "results.yaml", "\n".join(f"- {json.dumps(e)}" for e in entries))
    assert found(path) == [
        ("line 2", "duplicate"),
        ("line 3", "no better"),
        ("line 4", "invalid"),
        ("line 4", "invalid"),
    ]


def test_entries_of_a_cache_that_its_keys_do_not_find(tmp_path):
    cache = kernel_tuners({"16,16,16,1": 1.0, "1,16,16,16": 2.0})
    cache["tune_params"] = {"BLOCK_SIZE_M": [16]}
    cache["cache"]["1,16,16,16"] |= {"BLOCK_SIZE_M": 16, "GROUP_SIZE_M": 1}
    assert found(written(tmp_path, "cache.json", cache)) == [("1,16,16,16", "never hit")]


HOSTILE = {
    "deep.json": ("[" * 100_000, "nested too deeply"),
    "digits.json": ('{"1": ' + "9" * 5000 + "}", "is not JSON"),
    "nan.json": ('{"M_LEQ_1": {"a": NaN}}', "NaN is no number"),
    "cut.json": ('{"M_LEQ_1": {', "is not JSON"),
    "other.json": ("[1, 2]", "no table of a known format"),
    "wide.csv": ('cu_num,us,M,N,K\n"' + "x" * 200_000 + '"\n', "field larger"),
    "deep.yaml": ("[" * 40_000, "nested too deeply"),
    "text.yaml": ("- {M: 16\n- N", "line 2"),
    "empty.csv": (HEAD, "holds no rows"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_is_one_sentence(tmp_path, name):
    text, says = HOSTILE[name]
    with pytest.raises(UserError, match=says) as error:
        audit([str(written(tmp_path, name, text))])
    assert "\n" not in str(error.value)


def test_what_a_terminal_would_obey_is_escaped(tmp_path, capsys):
    row = ROW.format(m="\x1b[2J\u202e")
    path = written(tmp_path, "a8w8_tuned_gemm.csv", f"{HEAD}\n{row.replace('torch.', '[b]')}\n")
    assert audit([str(path), "--storage", str(tmp_path / "none")]) == 1
    said = capsys.readouterr().out
    assert "\\x1b[2J\\u202e" in said
    assert "\x1b" not in said
    assert "[b]float8" in said  # no markup


def test_infinite_values_are_no_configuration(tmp_path):
    path = written(
        tmp_path, EXPERTS, '{"1": {"BLOCK_SIZE_M": 1e999}, "2": {"a": 1' + "0" * 400 + "}}"
    )
    assert found(path) == [("M=1", "invalid"), ("M=2", "invalid")]


def study(storage: str, default_s: float) -> None:
    """A study of a product with scales on an H200: the default, and a table's row in 10 us."""
    identity = StudyIdentity(
        "gemm_a8w8_blockscale",
        {"M": 4, "N": 512, "K": 1024},
        "fp8e4nv",
        "nvidia-h200",
        "grid",
        {"c": "1"},
    )
    implied: dict[str, Any] = {"NUM_KSPLIT": 1, "cache_modifier": "", "B_COLUMN_MAJOR": True}
    default = {**GOOD, "num_warps": 8, **implied}
    space = SearchSpace.from_configs([default, {**GOOD, **implied}])
    search = Search(space, "grid", trials=open_study(storage, identity, space))
    while (config := search.ask()) is not None:
        is_default = config == default
        time_s, notes = (default_s, {"wall_s": 1.0}) if is_default else (1e-5, {})
        search.tell(config, time_s, attributes={"board": "cuda", **notes})


def test_a_row_that_is_no_better_than_the_default(tmp_path, capsys):
    path = written(tmp_path, PRODUCT, {"4": GOOD})
    fast, slow = str(tmp_path / "fast.journal"), str(tmp_path / "slow.journal")
    study(fast, 8e-6)
    study(slow, 2e-5)
    assert audit([str(path), "--storage", slow]) == 0
    assert audit([str(path), "--storage", fast]) == 1
    assert "no better" in (said := capsys.readouterr().out)
    assert "25.0%" in said


def test_our_own_exports_pass(tmp_path):
    storage = str(tmp_path / "s.journal")
    study(storage, 2e-5)
    assert export(["--storage", storage, "--format", "kernel-tuner", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*/kernel_tuner_cache.json")
    assert audit([str(path), "--storage", storage]) == 0


def kernel_tuners(times_ms: dict[str, float | None]) -> dict:
    """A cache of Kernel Tuner's for a 256x512x256 product."""
    names = list(MATMUL)
    entries: dict[str, dict[str, object]] = {}
    for key, time_ms in times_ms.items():
        entries[key] = dict(zip(names, map(int, key.split(",")), strict=True))
        entries[key] |= (
            {"__error__": "CompilationFailedConfig"} if time_ms is None else {"time": time_ms}
        )
    return {
        "device_name": "NVIDIA A100",
        "kernel_name": "matmul",
        "problem_size": [256, 512, 256],
        "tune_params_keys": names,
        "tune_params": {},
        "objective": "time",
        "cache": entries,
    }


CACHE = {f"{m},{n},16,1": 100.0 / (m + n) for m in (16, 32, 64) for n in (16, 32)} | {
    "8,8,8,1": None
}


def matmul(device: str = "emulated:x60") -> StudyIdentity:
    return StudyIdentity(
        "matmul", {"M": 256, "N": 512, "K": 256}, "fp32", device, "auto", {"c": "1"}
    )


def test_a_search_starts_from_a_cache_and_no_lookup_sees_it(tmp_path, capsys):
    storage = str(tmp_path / "s.journal")
    path = written(tmp_path, "cache.json", kernel_tuners(CACHE))
    assert import_tables([str(path), "--storage", storage]) == 0
    assert "7 configurations with times" in capsys.readouterr().out
    assert import_tables([str(path), "--storage", storage]) == 1  # nothing new
    assert "already there" in capsys.readouterr().out
    (imported,) = read_studies(storage)
    space = SearchSpace.from_configs([{**MATMUL, "BLOCK_SIZE_M": m} for m in (16, 32, 64)])
    past = history_of(open_study(storage, matmul(), space), matmul(), space)
    assert past is not None
    assert past.name == imported.study_name
    fastest, time_s = past.trials[0]
    assert (fastest["BLOCK_SIZE_M"], fastest["BLOCK_SIZE_N"]) == (64, 32)
    assert time_s == pytest.approx(100 / 96 * 1e-3)
    assert past.trials[-1] == (Config(dict.fromkeys(MATMUL, 8) | {"GROUP_SIZE_M": 1}), None)
    with pytest.raises(NotTunedError):
        lookup("matmul", M=256, N=512, K=256, dtype="fp32", storage=storage)


def test_a_cache_of_this_gpu_is_nearer_than_another_boards_study(tmp_path):
    storage = str(tmp_path / "s.journal")
    path = written(tmp_path, "cache.json", kernel_tuners(CACHE))
    import_tables([str(path), "--storage", storage])
    space = SearchSpace.from_configs([{**MATMUL, "BLOCK_SIZE_M": 2**n} for n in range(4, 10)])
    other = matmul("nvidia-h100")
    search = Search(space, "grid", trials=open_study(storage, other, space))
    while (config := search.ask()) is not None:
        search.tell(config, 1e-3, attributes={"board": "cuda"})
    for device, nearest in (
        ("nvidia-a100", "imported-nvidia-a100"),
        ("nvidia-h100-warm", "nvidia-h100"),
    ):
        identity = matmul(device)
        past = history_of(open_study(storage, identity, space, device), identity, space)
        assert past is not None
        assert f"-{nearest}-" in past.name


def test_a_table_without_times_suggests_the_nearest_rows_first(tmp_path):
    storage = str(tmp_path / "s.journal")
    rows = {str(m): {**GOOD, "BLOCK_SIZE_M": min(m, 128)} for m in (16, 32, 64, 128, 256, 1024)}
    path = written(tmp_path, PRODUCT, rows)
    assert import_tables([str(path), "--storage", storage]) == 0
    identity = StudyIdentity(
        "gemm_a8w8_blockscale",
        {"M": 48, "N": 512, "K": 1024},
        "fp8e4nv",
        "nvidia-h200",
        "auto",
        {"c": "1"},
    )
    implied: dict[str, Any] = {"NUM_KSPLIT": 1, "cache_modifier": "", "B_COLUMN_MAJOR": True}
    default = Config({**GOOD, **implied, "num_warps": 8})
    blocks = [{**GOOD, **implied, "BLOCK_SIZE_M": m} for m in (16, 32, 64, 128)]
    space = SearchSpace.from_configs([default, *blocks])
    past = history_of(open_study(storage, identity, space), identity, space)
    assert past is not None
    assert "-M64-" in past.name
    assert [config["BLOCK_SIZE_M"] for config, _ in past.trials] == [64, 32, 128, 16]
    search = Search(replace(space, default=default), "random", history=past.trials)
    assert search.ask() == default
    search.tell(default, 1e-3)
    assert search.ask()["BLOCK_SIZE_M"] == 64


def test_ranges_are_suggestions_too(tmp_path, capsys):
    storage = str(tmp_path / "s.journal")
    config = {**GOOD, "NUM_KSPLIT": 1, "cache_modifier": None}
    ranges = {key: {**config, "GROUP_SIZE_M": n} for n, key in enumerate(("M_LEQ_16", "any"), 1)}
    name = "gfx942/triton/gemm/gemm_a8w8_blockscale/GEMM-A8W8_BLOCKSCALE-N=512-K=1024.json"
    assert import_tables([str(written(tmp_path, name, ranges)), "--storage", storage]) == 0
    said = capsys.readouterr().out
    assert said.startswith("gemm_a8w8_blockscale-M16-N512-K1024-fp8e4nv-imported-gfx942-")
    assert "1 configuration without times" in said


@pytest.mark.parametrize(
    ("change", "arguments", "says"),
    [
        ({"kernel_name": "convolution"}, [], "is about convolution, which is no kernel here"),
        ({"problem_size": 17}, [], "does not say M and N and K of matmul: give --shape M=..."),
        ({"tune_params_keys": ["x"]}, [], "no configuration that can be used"),
        ({}, ["--kernel", "softmax"], "does not say"),
        ({}, ["--write", "mine"], "are for bundles, and none was given"),
        (
            {},
            ["--kernel", "flash_attention_fwd", "--shape", "Z=1,H=1,N_CTX=64,D=32"],
            "has no|does not",
        ),
    ],
)
def test_mistakes_in_an_import_are_sentences(tmp_path, change, arguments, says):
    path = written(tmp_path, "cache.json", {**kernel_tuners(CACHE), **change})
    storage = str(tmp_path / "s.journal")
    with pytest.raises(UserError, match=says):
        import_tables([str(path), *arguments, "--storage", storage])
    assert read_studies(storage) == []
