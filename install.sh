#!/bin/sh
# Prepares environments ahead of the first run, or removes them:
#   ./install.sh                   the core's, .venv, and those of all methods
#   ./install.sh sindy operon      the core's and those of some methods
#   ./install.sh --cluster         the core's, with Dask and submitit, for --backend dask and slurm
#   ./install.sh --clean           removes all that were made here
set -eu
root=$(dirname -- "$(readlink -f -- "$0")")
. "$root/scripts/environment.sh"
if [ "$*" = --clean ]; then
    find_python
    exec "$python" "$root/scripts/bootstrap.py" --clean
fi
environment .venv requirements.lock
if [ "${1-}" = --cluster ]; then
    shift
    "$root/.venv/bin/python" "$root/scripts/bootstrap.py" --add .venv requirements-cluster.lock
    [ $# -gt 0 ] || exit 0
fi
exec "$root/.venv/bin/mdbench" install "$@"
