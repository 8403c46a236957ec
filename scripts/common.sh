# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts; sourced, not run.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
JOBS="$(nproc)"

# Clones share cached objects: the project's path is not part of ccache's key.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1

say() { printf '\n=== %s\n' "$*"; }

# Configures and builds one preset of CMakePresets.json: build PRESET [cmake arguments]. Tests are compiled two dozen
# sources at a time (rollcall_unity() of cmake/rollcall.cmake); the shipped code is compiled as users compile it.
build() {
  local preset="$1"
  shift
  cmake --preset "$preset" -DROLLCALL_UNITY=TESTS "$@" > /dev/null && cmake --build --preset "$preset" -- -j"$JOBS"
}
