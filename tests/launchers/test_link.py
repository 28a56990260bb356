"""Linking to a static executable."""

from __future__ import annotations

import errno
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from launchers.objects import launcher_object
from triton_rvv.codegen import link, zig
from triton_rvv.codegen.link import LinkError, link_elf
from triton_rvv.codegen.zig import ZigError, ZigStopped, has_libc, run_zig_cc
from triton_rvv.codegen.zig_files import shared_zig
from triton_rvv.targets.target import RVVTarget

MISSING = "extern void absent_function(void); absent_function();"


@pytest.fixture
def launcher():
    return launcher_object(RVVTarget(vlen_bits=256))


def test_same_objects_give_the_same_bytes_whatever_the_paths(build_object, launcher, tmp_path):
    kernel = build_object("")
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "renamed.o"
    moved.write_bytes(kernel.read_bytes())
    link_elf([kernel, launcher], tmp_path / "one.elf")
    link_elf([moved, launcher], tmp_path / "elsewhere" / "two.elf")
    one = (tmp_path / "one.elf").read_bytes()
    assert one == (tmp_path / "elsewhere" / "two.elf").read_bytes()
    assert str(tmp_path).encode() not in one


def test_executable_keeps_symbols_and_drops_debug_information(build_elf):
    elf = build_elf("")
    contents = elf.read_bytes()
    assert elf.stat().st_mode & 0o111
    assert b"\0triton_rvv_kernel\0" in contents
    assert b".debug_" not in contents
    assert b".interp" not in contents
    assert len(contents) < 200_000


def test_links_at_once_do_not_disturb_each_other(build_object, launcher, tmp_path):
    kernel = build_object("")
    outputs = [tmp_path / f"{i % 3}.elf" for i in range(6)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda output: link_elf([kernel, launcher], output), outputs))
    assert len({output.read_bytes() for output in outputs}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.elf", "1.elf", "2.elf"]


def test_missing_symbol_is_named_and_nothing_is_overwritten(build_object, launcher, tmp_path):
    output = tmp_path / "kernel.elf"
    output.write_text("what stood here before")
    with pytest.raises(LinkError, match="undefined symbol: absent_function"):
        link_elf([build_object(MISSING), launcher], output)
    assert output.read_text() == "what stood here before"
    assert list(tmp_path.iterdir()) == [output]


def test_the_libc_is_the_same_wherever_one_works(build_object, launcher, tmp_path, monkeypatch):
    """Another takes minutes to build; paths are as in the folder where one works."""
    (tmp_path / "kernel.o").write_bytes(build_object("").read_bytes())
    said = []
    for folder in (Path(sys.prefix).parent, tmp_path):
        monkeypatch.chdir(folder)
        command = ["-v", "-static", "-O2", str(tmp_path / "kernel.o"), str(launcher)]
        said.append(run_zig_cc([*command, "-o", str(tmp_path / "linked")], timeout_s=600))
    used = [re.findall(r"\S+/libc\.a", text)[-1] for text in said]
    assert used[0] == used[1]
    link_elf([Path("kernel.o"), launcher], Path("kernel.elf"))
    assert (tmp_path / "kernel.elf").exists()


def test_file_that_is_no_object_is_refused(launcher, tmp_path):
    (tmp_path / "kernel.o").write_text("no object")
    with pytest.raises(LinkError, match=r"error: .*/kernel\.o"):
        link_elf([tmp_path / "kernel.o", launcher], tmp_path / "kernel.elf")


def test_message_is_the_first_error_and_not_a_warning_before_it(tmp_path):
    (tmp_path / "source.c").write_text("#warning careful\n#error first\n#error second\n")
    with pytest.raises(ZigError, match=r"^source\.c:2:2: error: first$"):
        run_zig_cc(["-c", "source.c", "-o", "source.o"], timeout_s=200, folder=tmp_path)


def test_too_low_a_limit_of_open_files_is_named(tmp_path, monkeypatch):
    """And is the machine's fault, not the kernel's: containers may allow 1,024, with no way up."""
    few = tmp_path / "zig"
    few.write_text(f'#!/bin/sh\nulimit -n 8\nexec "{zig.zig_program()}" "$@"\n')
    few.chmod(0o755)
    (tmp_path / "source.c").write_text("int one;\n")
    monkeypatch.setattr(zig, "zig_program", lambda: few)
    with pytest.raises(ZigStopped, match=r"limit of \d+: raise it"):
        run_zig_cc(["-c", "source.c", "-o", "source.o"], timeout_s=200, folder=tmp_path)


def test_link_that_takes_too_long_is_given_up(build_object, launcher, tmp_path, monkeypatch):
    monkeypatch.setattr(link, "LINK_TIMEOUT_S", 0.001)
    with pytest.raises(ZigStopped, match="did not finish within"):
        link_elf([build_object(""), launcher], tmp_path / "kernel.elf")
    assert list(tmp_path.iterdir()) == []


def test_warm_up_leaves_nothing_and_prints_nothing(capfd):
    link.warm_up()
    assert capfd.readouterr() == ("", "")


def test_a_cache_without_a_libc_for_the_target_is_known(monkeypatch, tmp_path):
    """The first link takes minutes then."""
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path))
    assert not has_libc("rvv")
    archive = tmp_path / "o" / "0123" / "libc.a"
    archive.parent.mkdir(parents=True)
    elf = bytearray(b"!<arch>\nindex" + b"\x7fELF\x02\x01\x01".ljust(64, b"\0"))
    at = elf.index(b"\x7fELF") + 18
    for machine, is_there in ((62, False), (243, True)):
        elf[at : at + 2] = machine.to_bytes(2, "little")
        archive.write_bytes(elf)
        assert has_libc("rvv") == is_there


@pytest.fixture
def installed(tmp_path):
    """A zig in two environments."""
    for name in ("one", "two"):
        (tmp_path / name / "lib" / "libc").mkdir(parents=True)
        (tmp_path / name / "lib" / "libc" / "exit.c").write_text("exit")
        (tmp_path / name / "zig").write_text("zig")
    return tmp_path / "one" / "zig", tmp_path / "two" / "zig"


def test_environments_share_the_files_that_zig_knows_its_libc_by(installed, tmp_path):
    one, two = installed
    cache = tmp_path / "cache"
    shared = shared_zig(one, cache, "0.17.0")
    assert shared_zig(two, cache, "0.17.0") == shared
    assert shared.samefile(one)
    assert (shared.parent / "lib/libc/exit.c").samefile(one.parent / "lib/libc/exit.c")
    assert shared_zig(two, cache, "0.18.0").samefile(two)
    assert {path.name for path in cache.iterdir()} == {"files-0.17.0", "files-0.18.0"}
    two.write_text("another")  # by a package with the same version
    assert shared_zig(two, cache, "0.17.0") == two


def test_where_files_cannot_be_linked_the_installed_zig_runs(installed, tmp_path, monkeypatch):
    def refused(*_names, **_options):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refused)
    assert shared_zig(installed[0], tmp_path / "cache", "0.17.0") == installed[0]
    assert not list((tmp_path / "cache").iterdir())


def test_a_libc_that_was_linked_is_found(launcher):
    link.warm_up()
    assert has_libc("rvv")
