#!/bin/bash
# Builds the native extension under a sanitizer in a folder of its own and runs programs with it.
#
#   tests/sanitizers/run.sh [address|thread] [more pytest arguments]
#
# `address` (the default) means AddressSanitizer with UndefinedBehaviorSanitizer. The package in
# src/ is not touched: its Python files are linked into the folder, beside the other extension.
# Environment: PYTHON (an interpreter with the dependencies and pytest), BUILD (the folder; kept,
# so that the next run only rebuilds what changed).
set -euo pipefail

kind=${1:-address}
shift || true
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
build=${BUILD:-${TMPDIR:-/tmp}/jitney-sanitize-$kind}
case $kind in
  address) flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"; library=libasan ;;
  thread) flags="-fsanitize=thread"; library=libtsan ;;
  *) echo "usage: $0 [address|thread] [pytest arguments]" >&2; exit 2 ;;
esac

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
cmake -S "$root" -B "$build/cmake" "${generator[@]}" -DCMAKE_BUILD_TYPE=None \
  -DPython_EXECUTABLE="$(command -v "$python")" \
  -DCMAKE_CXX_FLAGS="-g -O1 -fno-omit-frame-pointer $flags" >"$build.log" 2>&1 ||
  { cat "$build.log"; exit 1; }
cmake --build "$build/cmake" -j "${JOBS:-2}"

package=$build/src/jitney
rm -rf "$build/src"
mkdir -p "$package"
for item in "$root"/src/jitney/*; do
  case $(basename "$item") in
    _native*.so | __pycache__) ;;
    *) ln -s "$item" "$package/" ;;
  esac
done
cp "$build"/cmake/_native*.so "$package/"

compiler=${CXX:-g++}
preload=$("$compiler" -print-file-name="$library.so")
preload+=:$("$compiler" -print-file-name=libstdc++.so)
# The interpreter leaks by design, so leaks are not asked for (tests/robustness watches memory);
# pymalloc is off, so that Python's objects have red zones as well. Generated kernels are not
# instrumented: tests/robustness/test_memory_bounds.py guards them with pages of no access.
# Pytest hides what tests print, and a report ends the process: reports go to files.
rm -f "$build"/report*
export PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS="detect_leaks=0:log_path=$build/report:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="log_path=$build/report:print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="log_path=$build/report:suppressions=$root/tests/sanitizers/thread.supp:halt_on_error=0:exitcode=66:${TSAN_OPTIONS:-}"
export PYTHONPATH=$package/..
export JITNEY_SANITIZED=$kind
if [ "$kind" = address ]; then
  tests=(tests/native tests/sanitizers --deselect
    tests/native/test_dispatch.py::test_a_million_calls_leak_nothing)  # a sanitizer keeps memory
else
  tests=(tests/sanitizers tests/native/test_pool.py tests/native/test_program.py
    --deselect tests/native/test_pool.py::test_fork     # ThreadSanitizer cannot follow a fork
    --deselect tests/native/test_program.py::test_fork)
fi
cd "$root"
loaded=$(LD_PRELOAD=$preload "$python" -c 'from jitney import _native; print(_native.__file__)')
case $loaded in
  "$package"/*) ;;
  *) echo "$0: $python loads $loaded, which is not instrumented: jitney is installed there to be edited in place" >&2
     exit 2 ;;
esac
status=0
LD_PRELOAD=$preload "$python" -m pytest -q -p no:cacheprovider "${tests[@]}" "$@" || status=$?
if compgen -G "$build/report*" >/dev/null; then
  head -c 20000 "$build"/report*
  status=1
fi
exit "$status"
