#!/bin/sh
# Sets this folder up on a bare Debian; a later run does only what is missing.
# With the argument "test", it also installs what only the tests need.
set -eu
cd "$(dirname "$0")"

# PyPI's torch for Linux depends on several GB of CUDA libraries; this index has CPU builds.
torch_cpu_index=https://download.pytorch.org/whl/cpu

purpose=${1:-run}
python=.venv/bin/python
environment_stamp=.venv/set-up-for
unfinished=unfinished
cache=${XDG_CACHE_HOME:-${HOME:?is not set: give it the path of your home folder}/.cache}/triton-rvv-tuner
qemu_version=$(sed -n 's/^BUILT_VERSION = "\([0-9.]*\)".*/\1/p' triton_rvv/runtime/qemu.py)
built_qemu=$cache/qemu-$qemu_version/qemu-riscv64

say() {
    printf 'setup: %s\n' "$*" >&2
}

stop() {
    say "$@"
    exit 1
}

main() {
    lock
    packages=$(missing_packages)
    [ -z "$packages" ] || install_packages $packages
    make_environment
    takes_plugins || "$python" -m rvv_runner qemu >&2 || exit 1
    warm_caches
}

# Two set-ups of one folder must not overlap. The lock ends with the process, even if it is killed.
lock() {
    command -v flock >/dev/null || stop "flock is missing: install the package util-linux"
    why=$({ mkdir -p .build && : >>.build/setup.lock; } 2>&1) ||
        stop "$PWD/.build cannot be written to (${why##*: }): copy this folder to one of your own, and run make there"
    exec 9>.build/setup.lock
    flock -n 9 || { say "waiting for another set-up of this folder" && flock 9; }
}

# The missing Debian packages, on one line.
missing_packages() {
    list=
    if ! command -v qemu-riscv64 >/dev/null; then
        list="$list qemu-user"
    elif ! takes_plugins; then
        pkg-config --exists glib-2.0 2>/dev/null || list="$list pkgconf libglib2.0-dev"
    fi
    compiles_c || list="$list gcc libc6-dev"
    [ -x "$python" ] || makes_environments || list="$list python3 python3-venv"
    [ "$purpose" != test ] || has_sshd || list="$list openssh-server"
    echo $list
}

# The emulated board is a plug-in. QEMU is built where the system's has none: Debian 13, Ubuntu.
takes_plugins() {
    [ -x "$built_qemu" ] || qemu-riscv64 --help | grep -q '^-plugin '
}

# An SSH server stands for a board in the tests. Its folder is often in root's PATH alone.
has_sshd() {
    [ "$(whereis -b sshd)" != sshd: ]
}

compiles_c() {
    echo '#include <stdlib.h>' | "${CC:-cc}" -E - >/dev/null 2>&1
}

makes_environments() {
    base_python=$(find_python) && "$base_python" -c 'import ensurepip, venv' 2>/dev/null
}

# The first Python that is new enough, or failure; an older one stays installed.
find_python() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

install_packages() {
    command -v apt-get >/dev/null ||
        stop "this machine has no apt-get: install the packages that Debian calls $*"
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        stop "packages are missing: run sudo apt-get install $*"
    fi
    say "installing the Debian packages $*"
    # A fresh machine may have no package lists yet, or old ones.
    apt_install "$@" 2>/dev/null || { $as_root apt-get -qq update && apt_install "$@"; } ||
        stop "apt-get could not install the packages: run sudo apt-get install $* to see why"
    still_missing=$(missing_packages)
    case $still_missing in
        '') ;;
        *python3*) stop "there is no Python 3.11 or newer with venv on this Debian: install one" ;;
        "$*") stop "these packages are installed but do not work: $still_missing" ;;
        *) install_packages $still_missing ;; # that QEMU takes no plug-ins is only known now
    esac
}

apt_install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "$@" >&2
}

# The stamp says where the environment is, with which Python, and from which files it was made. Until
# the environment is complete, it has another last word, and the next set-up continues with it.
make_environment() {
    made_for=$(cat "$environment_stamp" 2>/dev/null) || made_for=
    [ "$made_for" != "$(environment_place) $(environment_files)" ] || return 0
    case $made_for in
        "$(environment_place) $unfinished")
            say "continuing with the virtual environment .venv, which is not complete"
            "$python" -m foundation.half_installed || stop ".venv cannot be changed: see above"
            ;;
        "$(environment_place) "*) ;;
        *)
            say "making the virtual environment .venv$(why_anew "$made_for") (some seconds)"
            rm -rf .venv
            "$(find_python)" -m venv .venv || stop "python3 -m venv .venv failed: see above"
            ;;
    esac
    echo "$(environment_place) $unfinished" >"$environment_stamp"
    install_python_packages
    echo "$(environment_place) $(environment_files)" >"$environment_stamp"
}

# Why an environment that is there is not kept, of which the stamp says this.
why_anew() {
    [ -e .venv ] || return 0
    case $1 in
        '') printf ' anew: the one that is there was not made by set-up' ;;
        "$PWD "*) printf ' anew: the Python of the one that is there has changed or is gone' ;;
        *) printf ' anew: the one that is there holds the paths of another folder, where it was made' ;;
    esac
}

environment_place() {
    echo "$PWD $("$python" -ISc 'import sys; print(*sys.version_info[:3])' 2>/dev/null)"
}

environment_files() {
    cat pyproject.toml constraints.txt | cksum
}

install_python_packages() {
    torch=$(grep '^torch==' constraints.txt)
    say "installing $torch for the CPU (about 200 MB)"
    if ! pip_install --no-deps "$torch+cpu" 2>/dev/null; then
        pip_install --no-deps --retries 1 --index-url "$torch_cpu_index" "$torch+cpu" 2>/dev/null ||
            say "no CPU build of $torch was found: installing PyPI's with CUDA (several GB)"
    fi
    say "installing the other Python packages (several hundred MB, a few minutes)"
    pip_install --constraint constraints.txt --editable '.[dev]' ||
        stop "pip could not install the packages: see above, then run make setup again"
}

# What it downloads and when it unpacks is told on stderr, for both take minutes.
pip_install() {
    rm -f .build/pip
    mkfifo .build/pip
    sed -un "$what_pip_tells" <.build/pip >&2 &
    pip_status=0
    "$python" -m pip install --disable-pip-version-check --progress-bar off "$@" >.build/pip ||
        pip_status=$?
    wait $!
    rm -f .build/pip
    return "$pip_status"
}

# Files of 10 MB and more, by name and version; a file of another index has its whole address.
what_pip_tells='
s|^ *Downloading .*/|Downloading |
s|^ *Downloading \([^-]*\)-\([^-]*\)-.*(\([0-9]\{2,\}[.0-9]* MB\))$|setup: downloading \1 \2 (\3)|p
s|^Installing collected packages:.*|setup: unpacking packages into .venv (some minutes on a slow disk)|p'

# The stamp is in the cache that it describes; its name changes with everything that is cached.
warm_caches() {
    key=$({
        cat constraints.txt launchers/*.[ch] rvv_runner/emulated/*.[ch]
        ls -lL "$(command -v qemu-riscv64)" "$built_qemu" 2>/dev/null || true
        echo "${CC:-cc} ${ZIG_GLOBAL_CACHE_DIR:-} $purpose"
    } | cksum | tr ' ' -)
    [ ! -e "$cache/set-up-$key" ] || return 0
    PURPOSE=$purpose "$python" - <<'PYTHON' || exit 1
import os
import sys

from launchers.objects import launcher_object
from rvv_runner.board import BoardError
from rvv_runner.devices import DEFAULT_DEVICE, load_board
from triton_rvv.targets.host_target import host_target
from triton_rvv.codegen.link import LinkError, warm_up
from triton_rvv.targets.target import RVVTarget
from triton_rvv.codegen.zig import ZigError

# The device host builds its own at its first use; tests should not wait for that.
targets = [RVVTarget(), host_target()] if os.environ["PURPOSE"] == "test" else [RVVTarget()]


def say(step):
    print(f"setup: {step}", file=sys.stderr, flush=True)


try:
    for target in targets:
        say(f"building the linker's C library for {target} (a minute or two the first time)")
        warm_up(target.backend)
        say(f"compiling the program around kernels for {target} (some seconds)")
        launcher_object(target)
    say("building the emulated board (some seconds)")
    board = load_board(DEFAULT_DEVICE)
    board.open()
    board.close()
except (BoardError, LinkError, ZigError) as error:
    sys.exit(f"setup: {error}")
PYTHON
    mkdir -p "$cache"
    : >"$cache/set-up-$key"
}

main
