"""Builds a QEMU that takes plug-ins from Debian's source, into the user's cache.

Debian's own packages are built without them since version 13, and so are Ubuntu's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from foundation.errors import UserError
from foundation.processors import cores
from foundation.scratch import UNFINISHED, scratch_folder
from triton_rvv.runtime.qemu import BUILT_VERSION, built_qemu, qemu_version

__all__ = ["build_qemu", "download"]

# What the .dsc of Debian 13's package says of it. Debian's archive drops a version for the next
# one; the archive of its history, as of that day, keeps it.
_SOURCE = f"qemu_{BUILT_VERSION}+ds.orig.tar.xz"
_SHA256 = "6a0888e806c2ffc0c5f0733e974f9aea55491950d3c47c98669c8b236dde59ae"
_ARCHIVES = (
    "https://deb.debian.org/debian",
    "https://snapshot.debian.org/archive/debian/20261121T000000Z",
)

_PACKAGES = "gcc libc6-dev pkgconf libglib2.0-dev"
_TOOLS = ("meson==1.8.1", "ninja==1.11.1.4", "pycotap==1.3.1")  # what QEMU is built with
_CONFIGURE = (
    "--target-list=riscv64-linux-user",
    "--without-default-features",
    "--enable-linux-user",
    "--enable-tcg",
    "--enable-plugins",
    "--disable-system",
    "--disable-install-blobs",
    "--disable-debug-info",
    "--disable-download",
)

_SILENCE_LIMIT_S = 60.0  # of a download
_STEP_LIMIT_S = 7200.0


def build_qemu(say: Callable[[str], None]) -> Path:
    """The path of the QEMU, which is downloaded and built if there is none that starts.

    Args:
        say: prints a line about what is being done.

    Raises:
        UserError: if a package for it is missing, its source is not to be had, or does not build.
    """
    built = built_qemu()
    if qemu_version(built):
        return built
    _check_packages()
    built.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(UNFINISHED, built.parent) as folder:
        say(f"downloading the source of QEMU {BUILT_VERSION} (40 MB)")
        urls = [f"{archive}/pool/main/q/qemu/{_SOURCE}" for archive in _ARCHIVES]
        download(urls, _SHA256, folder / _SOURCE)
        with tarfile.open(folder / _SOURCE) as archive:
            archive.extractall(folder)  # whose files these are, the hash has said
        say(f"building it on {cores()} processors (a few minutes of each)")
        _build(folder / f"qemu-{BUILT_VERSION}", folder / "build", built.name)
        (folder / "build" / built.name).replace(built)
    return built


def download(urls: Sequence[str], sha256: str, path: Path) -> None:
    """Write the file with this hash to `path`, from the first address that has it.

    Raises:
        UserError: if none has.
    """
    problems = []
    for url in urls:
        try:
            with (
                urllib.request.urlopen(url, timeout=_SILENCE_LIMIT_S) as source,
                path.open("wb") as file,
            ):
                shutil.copyfileobj(source, file)
        except OSError as error:
            problems.append(f"{url}: {error}")
            continue
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found == sha256:
            return
        problems.append(f"{url}: its hash is {found} instead of {sha256}")
    raise UserError(
        f"the source of QEMU cannot be downloaded ({'; '.join(problems)}): check the network"
    )


def _check_packages() -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    pkg_config = shutil.which("pkg-config")
    if compiler is not None and pkg_config is not None:
        found = subprocess.run([pkg_config, "--exists", "glib-2.0"], check=False)
        if found.returncode == 0:
            return
    raise UserError(
        f"packages to build QEMU with are missing: run sudo apt-get install {_PACKAGES}"
    )


def _build(source: Path, folder: Path, program: str) -> None:
    """Leave the program in `folder`, built with tools in an environment of their own."""
    folder.mkdir()
    tools = folder / "tools" / "bin"
    python = str(tools / "python")
    _run([sys.executable, "-m", "venv", str(tools.parent)], folder)
    _run([python, "-m", "pip", "install", "-q", *_TOOLS], folder)
    # configure calls ninja by its name.
    path = f"PATH={tools}{os.pathsep}{os.environ['PATH']}"
    _run(["env", path, str(source / "configure"), f"--python={python}", *_CONFIGURE], folder)
    _run([str(tools / "ninja"), f"-j{cores()}", program], folder)


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_STEP_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"QEMU was not built within {error.timeout:g} s: try again on a less busy machine"
        ) from None
    if done.returncode != 0:
        log = built_qemu().with_name("build.log")
        log.write_text(done.stdout, encoding="utf-8")
        raise UserError(f"QEMU cannot be built: the end of {log} says why")
