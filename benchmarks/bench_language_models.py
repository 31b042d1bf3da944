"""Cost of the proxy of a language model by call, its memory, and whether budgets hold.

Each call goes from a client to the bench's socket, through the proxy, to a stub on this machine,
and back; for comparison the same request goes to the stub without the bench.  Usage:

    .venv/bin/python benchmarks/bench_language_models.py [CALLS [RUNS]]

CALLS of one kind are timed, 1,000 by default; the budget is tried in RUNS runs, 20 by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from harness import HereRuntime, Quiet, add_method, make_workspace  # noqa: E402

from mdbench.backends.local import LocalBackend  # noqa: E402
from mdbench.extensions.language_models.accounts import LlmLimits, LlmSettings  # noqa: E402
from mdbench.extensions.language_models.conversation import Conversation  # noqa: E402
from mdbench.extensions.language_models.endpoint import Endpoint  # noqa: E402
from mdbench.extensions.language_models.exchanges import ExchangeLog  # noqa: E402
from mdbench.extensions.language_models.proxy import NAME, Proxy  # noqa: E402
from mdbench.extensions.language_models.responder import LiveResponder  # noqa: E402
from mdbench.extensions.language_models.stub import Stub  # noqa: E402
from mdbench.runs.execute import execute  # noqa: E402
from mdbench.runs.plan import make_plan  # noqa: E402
from mdbench.runs.study import RunOptions  # noqa: E402
from mdbench.worker import LanguageModel  # noqa: E402

MESSAGES = [{"role": "user", "content": "Variables: x0, x1. " + "Find the law. " * 200}]
WARM, ALLOWED = 100, 100
SERVER = (
    "import sys; from mdbench.extensions.language_models.stub import Stub\n"
    "with Stub() as stub: print(stub.port, flush=True); sys.stdin.read()"
)
ASKER = """
import os, signal, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from mdbench.worker import BudgetSpent, language_model

class Adapter:
    def __init__(self, *, seed, threads): self.seed = seed
    def fit(self, problem):
        self.targets = len(problem.targets)
        llm = language_model()
        def ask(first):
            count = 0
            try:
                while True:
                    messages = [{"role": "user", "content": f"x0 {first} {count}"}]
                    count += len(llm.chat(messages))
            except BudgetSpent:
                return count
        pid = os.fork()
        if pid == 0:
            ask(-1)
            os._exit(0)
        time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(4)))
    def predict(self, problem): return np.zeros((len(problem.X), self.targets))
    def equations(self): return ["0"] * self.targets
"""


def rss_mb() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def overhead(folder: Path, calls: int) -> None:
    """Time calls through the proxy and past it."""
    command = [sys.executable, "-c", SERVER]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        body = json.dumps({"model": "m", "messages": MESSAGES, "max_tokens": 64}).encode()
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with closing(Endpoint(url)) as endpoint:
            log = ExchangeLog(folder / "log.llm.ndjson")
            talk = LlmSettings("m", {}, LlmLimits(calls=10**9))
            with closing(Conversation(LiveResponder(endpoint), talk, log)) as conversation:
                proxy = Proxy(descriptor, conversation.answer)
                llm = LanguageModel(str(folder / NAME))
                past, through, extra_cpu = [], [], []
                for number in range(calls + WARM):
                    start, cpu = time.perf_counter(), time.process_time()
                    endpoint.ask(body)
                    middle, cpu_past = time.perf_counter(), time.process_time()
                    llm.chat(MESSAGES, max_tokens=64)
                    end, cpu_through = time.perf_counter(), time.process_time()
                    if number == WARM:
                        before = rss_mb()
                    if number >= WARM:
                        past.append(middle - start)
                        through.append(end - middle)
                        extra_cpu.append(cpu_through - cpu_past - (cpu_past - cpu))
                after = rss_mb()
                conversation.end()
                proxy.close()
        server.communicate()
    extra = median(through) - median(past)
    print(f"a call past the proxy: {1e3 * median(past):.2f} ms (median of {calls})")
    print(f"a call through it:     {1e3 * median(through):.2f} ms")
    cpu_ms = 1e3 * sum(extra_cpu) / len(extra_cpu)
    print(f"the proxy adds:        {1e3 * extra:.2f} ms; CPU, with the client: {cpu_ms:.2f} ms")
    print(f"memory after {WARM} calls {before:.1f} MiB, after {calls} more {after:.1f} MiB")


def budget(folder: Path, runs: int) -> None:
    """Run a method that asks four at a time, and a child of which is killed in mid-call."""
    workspace = make_workspace(folder)
    add_method(workspace, "asker", ASKER, more="[access]\nllm = true")
    exact = 0
    for number in range(runs):
        with Stub(mode="slow", delay=0.005) as stub:
            asked: dict[str, Any] = {"llm_model": "m", "llm_url": stub.url, "llm_calls": ALLOWED}
            options = RunOptions(
                ("asker",),
                "ode",
                datasets=("rc-circuit",),
                result_dir=folder / str(number),
                n_jobs=1,
                **asked,
            )
            (record,) = execute(
                make_plan(options, workspace), HereRuntime(), Quiet(), LocalBackend()
            ).records
            assert record.llm is not None
            assert record.exchanges is not None
            lines = (folder / str(number) / record.exchanges).read_text().splitlines()
            replies = sum(json.loads(line)["reply"] is not None for line in lines)
            exact += record.status == "ok" and record.llm.calls == stub.count == replies == ALLOWED
    print(f"budget of 100 calls, four at a time, a caller killed: exactly 100 in {exact} of {runs}")


def main(calls: int = 1000, runs: int = 20) -> None:
    """Measure all of it."""
    with tempfile.TemporaryDirectory() as name:
        overhead(Path(name), calls)
    with tempfile.TemporaryDirectory() as name:
        budget(Path(name), runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
