# shellcheck shell=bash
# What the scripts share; sourced, not run.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
JOBS="$(nproc)"

# One clone's objects serve the next one: where the project lies is no part of ccache's key.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1

say() { printf '\n=== %s\n' "$*"; }

# Configures and builds one preset of CMakePresets.json: build PRESET [cmake arguments]. Tests are compiled two dozen
# sources at a time (rollcall_unity() of cmake/rollcall.cmake); what is shipped is compiled as users compile it.
build() {
  local preset="$1"
  shift
  cmake --preset "$preset" -DROLLCALL_UNITY=TESTS "$@" > /dev/null && cmake --build --preset "$preset" -- -j"$JOBS"
}
