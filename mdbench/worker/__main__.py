"""Start a worker: ``python -m mdbench.worker ADAPTER_FOLDER [OPTION ...]`` (docs/protocol.md).

Run by the interpreter of a method's environment, in which mdbench is not installed: the host
puts a folder on the path that holds this package below an empty ``mdbench``.  So an adapter, and
every process that it starts, imports its types by the same name as everywhere else, and finds
nothing else of mdbench.
"""

import sys

from mdbench.worker.serve import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
