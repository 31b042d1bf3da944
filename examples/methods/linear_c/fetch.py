"""Compiles the method when its environment is made."""

import shutil
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    compiler = shutil.which("cc") or sys.exit(
        "linear_c needs a C compiler: apt install gcc libc6-dev"
    )
    source = Path(__file__).with_name("linear_fit.c")
    program = Path(sys.prefix) / "fetched" / "linear_fit"
    program.parent.mkdir(exist_ok=True)
    command = [compiler, "-std=gnu11", "-O2", "-o", str(program), str(source), "-lm"]
    done = subprocess.run(command, check=False)
    sys.exit(done.returncode and "the compiler does not take linear_fit.c")
