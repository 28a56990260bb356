"""What set-up does about a missing package: installs it, or says in one sentence what to run."""

from __future__ import annotations

import pytest
from fake_machine import QEMU, STATIC_QEMU, Machine

from triton_rvv.runtime.qemu import BUILT_VERSION

# Installs what it is asked for by putting it into the PATH.
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$CALLS"
case "$*" in
    *update*) touch "$HOME/updated" ;;
    *install*) [ -z "${APT_NEEDS_UPDATE:-}" ] || [ -e "$HOME/updated" ] || exit 100
               eval "${APT_INSTALLS:-}" ;;
esac
"""
INSTALL_QEMU = 'cp "${0%/*}/packaged-qemu" "${0%/*}/qemu-riscv64"'


@pytest.fixture
def debian(machine: Machine) -> Machine:
    """Debian as root, without QEMU."""
    machine.remove_tool("qemu-riscv64")
    machine.add_tool("packaged-qemu", QEMU)
    machine.add_tool("apt-get", APT_GET)
    machine.add_tool("id", "echo 0")
    machine.environment["APT_INSTALLS"] = INSTALL_QEMU
    return machine


def test_not_debian_names_what_to_install(machine: Machine) -> None:
    machine.remove_tool("qemu-riscv64")
    machine.remove_tool("cc")
    status, said = machine.set_up()
    assert status == 1
    assert said == (
        "setup: this machine has no apt-get: "
        "install the packages that Debian calls qemu-user gcc libc6-dev"
    )
    assert machine.calls() == []


def test_without_root_or_sudo_one_command_is_named(debian: Machine) -> None:
    debian.add_tool("id", "echo 1000")
    status, said = debian.set_up()
    assert status == 1
    assert said == "setup: packages are missing: run sudo apt-get install qemu-user"
    assert debian.calls() == []


def test_sudo_with_a_password_is_not_used(debian: Machine) -> None:
    debian.add_tool("id", "echo 1000")
    debian.add_tool("sudo", 'echo "sudo $*" >>"$CALLS"; exit 1')
    status, said = debian.set_up()
    assert status == 1
    assert said == "setup: packages are missing: run sudo apt-get install qemu-user"
    assert debian.calls() == ["sudo -n true"]


def test_sudo_without_a_password_installs(debian: Machine) -> None:
    debian.add_tool("id", "echo 1000")
    debian.add_tool("sudo", 'shift; echo sudo >>"$CALLS"; exec "$@"')
    debian.add_tool("true")
    status, _ = debian.set_up()
    assert status == 0
    calls = debian.calls()
    assert calls[:2] == ["sudo", "sudo"]
    assert calls[2].startswith("apt-get")
    assert calls[2].endswith("install --no-install-recommends qemu-user")


def test_root_installs_after_fetching_the_lists_of_packages(debian: Machine) -> None:
    debian.environment["APT_NEEDS_UPDATE"] = "yes"
    status, _ = debian.set_up()
    assert status == 0
    apt_calls = [call.split()[0:3] for call in debian.calls() if call.startswith("apt-get")]
    assert apt_calls == [
        ["apt-get", "-qq", "-y"],
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "-y"],
    ]


def test_an_ssh_server_is_for_the_tests_alone(debian: Machine) -> None:
    debian.add_tool("qemu-riscv64", QEMU)
    debian.add_tool("whereis", "echo sshd:")
    assert debian.set_up()[0] == 0
    assert not any(call.startswith("apt-get") for call in debian.calls())
    debian.add_tool("id", "echo 1000")
    status, said = debian.set_up(arguments=["test"])
    assert status == 1
    assert said == "setup: packages are missing: run sudo apt-get install openssh-server"


@pytest.fixture
def newer(debian: Machine) -> Machine:
    """Debian 13 as root, whose package for QEMU is static."""
    debian.add_tool("packaged-qemu", STATIC_QEMU)
    debian.add_tool("packaged-pkg-config")
    debian.environment["APT_INSTALLS"] = (
        f'case "$*" in *glib*) cp "${{0%/*}}/packaged-pkg-config" "${{0%/*}}/pkg-config" ;; '
        f"*) {INSTALL_QEMU} ;; esac"
    )
    return debian


def test_a_qemu_without_plugins_is_built_with_what_that_needs(newer: Machine) -> None:
    assert newer.set_up()[0] == 0
    calls = newer.calls()
    installed = [call.split("recommends ")[1] for call in calls if call.startswith("apt-get")]
    assert installed == ["qemu-user", "pkgconf libglib2.0-dev"]
    assert calls[-2:] == ["python -m rvv_runner qemu", "python -"]


def test_a_qemu_that_was_built_is_not_built_again(newer: Machine) -> None:
    newer.add_tool("qemu-riscv64", STATIC_QEMU)
    built = newer.folder / f"home/.cache/triton-rvv-tuner/qemu-{BUILT_VERSION}/qemu-riscv64"
    newer.environment["WHEN_QEMU_IS_BUILT"] = f"mkdir -p '{built.parent}'; cp \"$0\" '{built}'"
    assert newer.set_up()[0] == 0
    assert "python -m rvv_runner qemu" in newer.calls()
    assert newer.set_up()[0] == 0
    assert newer.calls() == []


def test_a_qemu_that_cannot_be_built_stops_set_up(newer: Machine) -> None:
    newer.environment["WHEN_QEMU_IS_BUILT"] = "echo 'no network' >&2; exit 2"
    assert newer.set_up() == (1, "no network")
    assert newer.calls()[-1] == "python -m rvv_runner qemu"


def test_an_install_that_fails_names_the_command(debian: Machine) -> None:
    debian.environment["APT_INSTALLS"] = "exit 100"
    status, said = debian.set_up()
    assert status == 1
    assert said == (
        "setup: apt-get could not install the packages: "
        "run sudo apt-get install qemu-user to see why"
    )


def test_an_install_that_brings_nothing_is_noticed(debian: Machine) -> None:
    debian.environment["APT_INSTALLS"] = ""
    status, said = debian.set_up()
    assert status == 1
    assert said == "setup: these packages are installed but do not work: qemu-user"


def test_a_compiler_without_headers_is_no_compiler(debian: Machine) -> None:
    debian.add_tool("qemu-riscv64", QEMU)
    debian.add_tool("id", "echo 1000")
    debian.add_tool("cc", "cat >/dev/null; exit 1")
    _, said = debian.set_up()
    assert said == "setup: packages are missing: run sudo apt-get install gcc libc6-dev"


@pytest.mark.parametrize("what", ["PYTHON_TOO_OLD", "PYTHON_WITHOUT_VENV"])
def test_a_python_that_cannot_be_used_names_the_package(debian: Machine, what: str) -> None:
    debian.add_tool("qemu-riscv64", QEMU)
    debian.add_tool("id", "echo 1000")
    debian.environment[what] = "1"
    status, said = debian.set_up()
    assert status == 1
    assert said == "setup: packages are missing: run sudo apt-get install python3 python3-venv"


def test_a_debian_whose_python_is_too_old_says_so(debian: Machine) -> None:
    debian.add_tool("qemu-riscv64", QEMU)
    debian.environment["PYTHON_TOO_OLD"] = "1"
    status, said = debian.set_up()
    assert status == 1
    assert said == ("setup: there is no Python 3.11 or newer with venv on this Debian: install one")


def test_a_newer_python_beside_an_old_one_is_taken(machine: Machine) -> None:
    python = (machine.folder / "tools" / "python3").read_text()
    machine.add_tool("python3.12", python)
    machine.add_tool("python3", "exit 1")
    status, _ = machine.set_up()
    assert status == 0
    assert machine.calls()[0] == "python3.12 -m venv .venv"


def test_no_flock_names_the_package(machine: Machine) -> None:
    machine.remove_tool("flock")
    status, said = machine.set_up()
    assert (status, said) == (1, "setup: flock is missing: install the package util-linux")


@pytest.mark.parametrize(("what", "why"), [("", "File exists"), ("setup.lock", "Is a directory")])
def test_a_folder_that_cannot_be_written_to_is_named(machine: Machine, what: str, why: str) -> None:
    build = machine.project / ".build"
    if what:
        (build / what).mkdir(parents=True)
    else:
        build.touch()
    status, said = machine.set_up()
    assert status == 1
    assert said == (
        f"setup: {build} cannot be written to ({why}): "
        "copy this folder to one of your own, and run make there"
    )
    assert machine.calls() == []
