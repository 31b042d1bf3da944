#!/bin/sh
# Runs methods on datasets:  ./run.sh --algorithm sindy --data-type ode
# The first run makes the core environment, .venv, from requirements.lock.
set -eu
root=$(dirname -- "$(readlink -f -- "$0")")
. "$root/scripts/environment.sh"
environment .venv requirements.lock
exec "$root/.venv/bin/mdbench" run "$@"
