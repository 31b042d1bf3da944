"""Compiles the method when its environment is made."""

import shutil
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    compiler = shutil.which("rustc") or sys.exit(
        "quadratic_rust needs Rust's compiler in /usr, as sandboxes have no home folder: "
        "apt install rustc"
    )
    source = Path(__file__).with_name("quadratic_fit.rs")
    program = Path(sys.prefix) / "fetched" / "quadratic_fit"
    program.parent.mkdir(exist_ok=True)
    command = [compiler, "--edition", "2021", "-O", "-o", str(program), str(source)]
    done = subprocess.run(command, check=False)
    sys.exit(done.returncode and "the compiler does not take quadratic_fit.rs")
