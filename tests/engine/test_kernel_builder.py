"""Building one configuration for real: what is kept, what is found again, what cannot be built."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
from triton.backends.compiler import GPUTarget

from engine import new
from engine.workers import artifacts as artifacts_module
from engine.workers import kernel_builder as build_module
from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from engine.workers.toolchain import toolchain_versions
from foundation.config import Config
from foundation.errors import UserError
from kernels.spec import Problem
from launchers.arguments import Argument
from rvv_runner.assembly import assembly_file
from rvv_runner.measurement import ElfArtifact
from triton_rvv import version as version_module
from triton_rvv.codegen.llvm import code_bytes, generate
from triton_rvv.compiler import RVVBackend
from triton_rvv.targets.target import RVVTarget
from triton_rvv.version import folder_digest

CONFIG = Config({"BLOCK_SIZE": 256})


def builder(folder: Path, size: int = 1000) -> KernelBuilder:
    store = ArtifactStore(folder)
    return KernelBuilder(BuildRequest("vector_add", {"N": size}, "fp32", RVVTarget(), store))


def built(result: ElfArtifact | BuildFailure) -> ElfArtifact:
    assert isinstance(result, ElfArtifact), result
    return result


def test_a_build_is_kept_and_found_again(tmp_path: Path) -> None:
    first = built(builder(tmp_path).build(CONFIG))
    made_at = first.elf_path.stat().st_mtime_ns
    again = built(builder(tmp_path).build(CONFIG))
    assert again == first
    assert again.elf_path.stat().st_mtime_ns == made_at
    assert first.grid == (4, 1, 1)
    assert not first.elf_path.with_suffix(".s").exists()
    assembly = assembly_file(first.elf_path)
    assert assembly == first.elf_path.with_suffix(".s") == assembly_file(first.elf_path)
    assert "vle32.v" in assembly.read_text()
    assert first.provenance["config"] == {"BLOCK_SIZE": 256}
    compiled = first.elf_path.with_suffix(".o").read_bytes()
    assert first.provenance["code_bytes"] == code_bytes(compiled)
    other = built(builder(tmp_path).build(Config({"BLOCK_SIZE": 512})))
    assert other.elf_path != first.elf_path
    assert other.data_path == first.data_path
    larger = built(builder(tmp_path, size=2000).build(CONFIG))
    assert larger.data_path != first.data_path


def test_the_size_of_the_code_is_that_of_its_instructions() -> None:
    constants = "@table = constant [1000 x i8] zeroinitializer"
    returns = 'define i32 @{}() "target-features"="+c" {{ ret i32 7 }}'
    one, two = returns.format("one"), returns.format("two")
    # Two instructions of two bytes each: c.li and c.jr.
    for module, size_bytes in ((one, 4), (f"{constants}\n{one}\n{two}", 8)):
        compiled = generate(f'target triple = "riscv64"\n{module}', RVVTarget()).object
        assert code_bytes(compiled) == size_bytes


def test_the_same_build_elsewhere_is_the_same_elf(tmp_path: Path) -> None:
    elves = [built(builder(tmp_path / name).build(CONFIG)) for name in ("a", "b")]
    assert elves[0].sha256 == elves[1].sha256


def test_what_has_changed_since_it_was_built_is_built_again(tmp_path: Path) -> None:
    first = built(builder(tmp_path).build(CONFIG))
    data = first.data_path.read_bytes()
    first.elf_path.write_bytes(Path("/bin/true").read_bytes())
    first.data_path.write_bytes(data[:100])
    again = built(builder(tmp_path).build(CONFIG))
    assert (again.elf_path, again.sha256) == (first.elf_path, first.sha256)
    assert hashlib.sha256(first.elf_path.read_bytes()).hexdigest() == first.sha256
    assert again.data_path.read_bytes() == data


def test_what_does_not_compile_is_a_reason(tmp_path: Path) -> None:
    failure = builder(tmp_path).build(Config({"BLOCK_SIZE": 100}))
    assert isinstance(failure, BuildFailure)
    assert "power of 2" in failure.reason
    assert list((tmp_path / "vector_add").iterdir()) == []


def test_a_changed_compiler_or_launcher_builds_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = built(builder(tmp_path).build(CONFIG))
    elves = {first.elf_path}
    for name in ("triton_rvv", "launchers", "llvmlite"):
        versions = {**toolchain_versions(), name: "changed"}
        with monkeypatch.context() as patch:
            patch.setattr(build_module, "toolchain_versions", lambda versions=versions: versions)
            elves.add(built(builder(tmp_path).build(CONFIG)).elf_path)
    assert len(elves) == 4
    tools = cast(Mapping[str, str], first.provenance["tools"])
    assert set(tools) > {
        "triton_rvv",
        "launchers",
        "llvmlite",
    }


def test_every_file_of_a_package_but_bytecode_counts(tmp_path: Path) -> None:
    def digest_with(name: str, content: str, copy: str) -> str:
        folder = tmp_path / copy
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "code.py").write_text("code")
        (folder / name).write_text(content)
        return folder_digest(folder)

    script = digest_with("drop_debug.ld", "SECTIONS {}", "a")
    assert digest_with("drop_debug.ld", "SECTIONS { }", "b") != script
    assert digest_with("renamed.ld", "SECTIONS {}", "c") != script
    bytecode = digest_with("__pycache__/code.pyc", "some", "d")
    assert digest_with("__pycache__/code.pyc", "other", "e") == bytecode


def test_tritons_cache_key_follows_the_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = RVVBackend(GPUTarget("rvv", "spacemit-x60", 256))
    before = backend.hash()
    assert importlib.metadata.version("llvmlite") in before
    monkeypatch.setattr(version_module, "folder_digest", lambda _: "changed")
    assert backend.hash() != before


def test_data_of_another_format_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [Argument("n", "i32", 3)]
    first = ArtifactStore(tmp_path).data_file("kernel", arguments)
    assert ArtifactStore(tmp_path).data_file("kernel", arguments) == first
    monkeypatch.setattr(artifacts_module, "FORMAT_VERSION", 99)
    assert ArtifactStore(tmp_path).data_file("kernel", arguments) != first


def test_the_compiler_knows_the_sizes(tmp_path: Path) -> None:
    """As Triton's own JIT tells it of a multiple of 16."""
    texts = [
        built(builder(tmp_path, size).build(CONFIG)).elf_path.with_suffix(".ttir").read_text()
        for size in (1000, 1024)
    ]
    assert ["tt.divisibility = 16" in text for text in texts] == [False, True]


def test_inputs_are_made_once_for_configurations_that_agree_on_what_makes_them(
    tmp_path: Path,
) -> None:
    spec = builder(tmp_path)._problem.spec
    made = []

    def arguments(problem: Problem, config: Config) -> tuple[Argument, ...]:
        made.append(config["BLOCK_SIZE"] == 1024)
        return spec.arguments(
            dataclasses.replace(problem, shape={"N": 500 + 500 * made[-1]}), config
        )

    def only_shape(problem: Problem, config: Config) -> tuple[Argument, ...]:
        made.append(True)
        return spec.arguments(problem, config)

    def builder_of(function: Callable[..., tuple[Argument, ...]]) -> KernelBuilder:
        made.clear()
        changed = builder(tmp_path)
        own = dataclasses.replace(spec, arguments=function)
        changed._problem = dataclasses.replace(changed._problem, spec=own)
        return changed

    def build(with_: KernelBuilder, sizes: Sequence[int]) -> list[Path]:
        configs = [Config({"BLOCK_SIZE": size}) for size in sizes]
        return [built(with_.build(config)).data_path for config in configs]

    by_shape = builder_of(only_shape)
    (data,) = set(build(by_shape, [256, 512, 256]))
    assert len(made) == 2  # for the check and for the timed runs
    data.unlink()
    assert build(by_shape, [256]) == [data]
    assert data.exists()
    small, large, again = build(builder_of(arguments), [256, 1024, 256])
    assert small == again != large == data
    assert len(made) == 3


def test_arguments_without_memory_for_them_are_no_configurations_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object) -> None:
        raise MemoryError("Unable to allocate 22.4 GiB")

    kernel_builder = builder(tmp_path)
    spec = dataclasses.replace(kernel_builder._problem.spec, arguments=too_large)
    kernel_builder._problem = dataclasses.replace(kernel_builder._problem, spec=spec)
    failure = kernel_builder.build(CONFIG)
    assert isinstance(failure, BuildFailure)
    assert failure.status == "board"
    assert "Unable to allocate 22.4 GiB" in failure.reason


def test_a_mistake_in_a_users_file_is_not_the_fault_of_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new.main(["mine"])
    path = tmp_path / "mine.py"
    path.write_text(path.read_text().replace("return (triton.cdiv", "return (triton.cdvi"))
    request = BuildRequest(str(path), {}, "fp32", RVVTarget(), ArtifactStore(tmp_path))
    with pytest.raises(UserError, match=r"mine\.py:\d+ fails in grid: AttributeError: .*cdvi"):
        KernelBuilder(request).build(Config({"BLOCK_M": 16, "BLOCK_N": 16}))


def test_a_fault_of_the_compiler_is_a_reason_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("tt.unheard_of")

    monkeypatch.setattr(build_module, "compile_kernel", broken)
    failure = builder(tmp_path).build(CONFIG)
    assert isinstance(failure, BuildFailure)
    report = Path(failure.reason.rpartition(" ")[2])
    assert "KeyError ('tt.unheard_of')" in failure.reason
    assert report.read_text().startswith("Traceback")
