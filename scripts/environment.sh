# Makes the environments at the repository's root; sourced by scripts that have set $root.

# Modules of another Python, as a module system of a cluster puts there, are none of ours.
unset PYTHONPATH PYTHONHOME

# Sets $python to an interpreter that is new enough, or ends the script.
find_python() {
    for python in ${MDBENCH_PYTHON:+"$MDBENCH_PYTHON"} \
        python3 python3.11 python3.12 python3.13 python3.14 python3.15; do
        # An interpreter that does not answer, such as a pyenv shim without a version, is none.
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            return
        fi
        if [ "$python" = "${MDBENCH_PYTHON-}" ]; then
            echo "mdbench: MDBENCH_PYTHON is '$python', which is no Python 3.11 or newer." >&2
            exit 2
        fi
    done
    if python=$(uv python find '>=3.11' 2>/dev/null); then
        return
    fi
    echo "mdbench: no Python 3.11 or newer was found (python3 here: $(python3 -V 2>&1 || true))." >&2
    echo "  Install one, or set where it is: MDBENCH_PYTHON=/path/to/python3.12 ./run.sh ..." >&2
    exit 2
}

# environment FOLDER LOCK: makes $root/FOLDER from $root/LOCK, unless that was done before.
environment() {
    # All that the environment depends on; whether it is whole is seen without starting Python.
    content=$(cd "$root" && cat -- "$2" pyproject.toml scripts/bootstrap.py | cksum)
    key="$content ${MDBENCH_PYTHON-} $root"
    stamp=$root/$1/.mdbench-stamp
    if [ -x "$root/$1/bin/python" ] && [ "$(cat -- "$stamp" 2>/dev/null)" = "$key" ]; then
        return
    fi
    if [ -L "$root/$1" ]; then
        printf '%s\n' "$1 is a link to $(readlink -- "$root/$1"), which would be made again for this folder." \
            "Remove the link: rm $1" >&2
        exit 2
    fi
    if [ ! -w "$root" ]; then
        # A clone of somebody else's: what its owner made serves, whichever interpreter was named.
        case $(cat -- "$stamp" 2>/dev/null) in
            "$content "*" $root") [ ! -x "$root/$1/bin/python" ] || return 0 ;;
        esac
        echo "mdbench: you may not write $root, and its $1 is missing, older than the files, or made with a Python that you may not run." >&2
        echo "  Ask its owner to type there: MDBENCH_PYTHON=/usr/bin/python3 ./install.sh; or clone into a folder of yours." >&2
        exit 2
    fi
    find_python
    # In the background of this shell, which passes on what is to end it: alone it would leave its child behind.
    "$python" "$root/scripts/bootstrap.py" "$1" "$2" "$key" &
    child=$!
    trap 'kill -TERM "$child" 2>/dev/null' INT TERM HUP
    status=0
    wait "$child" || status=$?
    while kill -0 "$child" 2>/dev/null; do # a signal broke into the wait
        status=0
        wait "$child" || status=$?
    done
    trap - INT TERM HUP
    [ "$status" -eq 0 ] || exit "$status"
}
