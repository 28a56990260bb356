#!/bin/sh
# Runs the compiler's tests with another version of Triton: tests/with_triton.sh 3.6.0, or "3.*" for
# the newest 3.x. Everything else comes from .venv, which has to be set up.
set -eu
cd "$(dirname "$0")/.."
version=$1
case $version in *\**) name=newest ;; *) name=$version ;; esac
folder=.build/triton-$name
[ -x "$folder/bin/python" ] || .venv/bin/python -m venv --without-pip "$folder"
purelib='import sysconfig; print(sysconfig.get_path("purelib"))'
packages=$("$folder/bin/python" -c "$purelib")
# Behind the folder's own packages, so that its Triton is the one that is found.
printf 'import site; site.addsitedir("%s")\n' "$(.venv/bin/python -c "$purelib")" \
    >"$packages/shared.pth"
.venv/bin/python -m pip --python "$folder/bin/python" install --quiet --no-deps --upgrade \
    --disable-pip-version-check "triton==$version"
"$folder/bin/python" -c 'import triton; print("triton", triton.__version__)'
exec "$folder/bin/python" -m pytest tests/triton_rvv
