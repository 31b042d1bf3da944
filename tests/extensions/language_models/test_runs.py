"""Methods that ask a language model, and some that ask for more, in every way of isolation."""

from __future__ import annotations

import json
import threading
import time
import zipfile
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from asking_bench import ASKER, Bench, asking
from clusters import open_here
from flavours import FLAVOURS, traces
from harness import HereRuntime, Quiet, known, make_workspace, out_of_time
from isolated import HOME
from model_server import Stub
from one_node_slurm import missing, one_node_slurm

from mdbench.backends.local import LocalBackend
from mdbench.cli import main
from mdbench.errors import MethodError, UsageError
from mdbench.extensions.clusters.dask import DaskBackend
from mdbench.extensions.clusters.slurm import SlurmBackend
from mdbench.extensions.language_models.exchanges import Exchange
from mdbench.extensions.language_models.options import asked_of
from mdbench.extensions.language_models.service import LanguageModels
from mdbench.methods import find
from mdbench.records import RecordStore, Status, comparable
from mdbench.reports.bundle import opened, write_bundle
from mdbench.runs.execute import execute as run_plan
from mdbench.runs.job import begin_job
from mdbench.runs.plan import make_plan, resolve_jobs
from mdbench.runs.study import RunOptions
from mdbench.runs.worker_pool import EnvironmentCache, WorkerSlot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.runs.spec import JobSpec

KEY = "sk-test-5f3a9c81d2e47b60"
GOES_ON = (Status.PARTIAL, Status.UNAVAILABLE)
ATTACKER = '''
import json, os, signal, socket, time
import numpy as np
from pathlib import Path
from mdbench.worker import BudgetSpent, language_model

BODY = json.dumps({"messages": [{"role": "user", "content": "x0"}]}).encode()
MARK = b"sk-" + b"test-"


def raw(sent):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["MDBENCH_LLM_SOCKET"])
        try:
            connection.sendall(sent)
        except BrokenPipeError:
            pass
        said = b""
        while block := connection.recv(65536):
            said += block
    return said.split()[1].decode() if said else "nothing"


def post(path, body, *headers):
    head = [f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", *headers, "", ""]
    return raw("\\r\\n".join(head).encode() + body)


def search():
    """Look for the key wherever a method can look."""
    found = [name for name, value in os.environ.items() if MARK in value.encode()]
    places = [*Path("/proc").glob("[0-9]*/environ"), *Path("/proc").glob("[0-9]*/cmdline")]
    places += [p for p in Path(".").resolve().rglob("*")]
    places += [p for top in ("/mdbench", "/tmp") for p in Path(top).glob("*")]
    for place in places:
        try:
            if place.is_file() and MARK in place.read_bytes()[:2**20]:
                found.append(str(place))
        except OSError:
            pass
    return found


class Adapter:
    def __init__(self, *, seed, threads): ...

    def fit(self, problem):
        self.targets = len(problem.targets)
        llm = language_model()
        path = "/v1/chat/completions"
        told = {}
        told["key"] = search()
        told["models"] = raw(b"GET /v1/models HTTP/1.1\\r\\n\\r\\n")
        told["embeddings"] = post("/v1/embeddings", BODY)
        told["stream"] = post(path, BODY[:-1] + b', "stream": true}')
        told["tools"] = post(path, BODY[:-1] + b', "tools": [{"type": "function"}]}')
        told["large"] = post(path, b" " * 10 * 2**20)
        told["chunked"] = raw(
            b"POST /v1/chat/completions HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
            + b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(BODY), BODY)
        )
        told["smuggled"] = post(path, BODY + b"POST /v1/chat/completions HTTP/1.1\\r\\n\\r\\n")
        two = b"POST /v1/chat/completions HTTP/1.1\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(BODY)
        told["two"] = raw(two + BODY + two + BODY)
        told["forged"] = post(
            path, BODY[:-1] + b', "model": "dear"}', "Authorization: Bearer mine",
            "Host: elsewhere", "X-Forwarded-For: 1.2.3.4", "Cookie: a=b",
        )
        idle = []
        for _ in range(100):
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            try:
                connection.connect(os.environ["MDBENCH_LLM_SOCKET"])
            except OSError:
                pass
            idle.append(connection)
        for connection in idle:
            connection.close()
        told["after_idle"] = post(path, BODY)
        pid = os.fork()
        if pid == 0:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(os.environ["MDBENCH_LLM_SOCKET"])
            connection.sendall(two + BODY)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        count = 0
        try:
            while True:
                count += len(llm.chat([{"role": "user", "content": f"x0 {count}"}], n=4))
        except BudgetSpent:
            told["count"] = count
        told["spent"] = post(path, BODY)
        try:
            socket.create_connection(("127.0.0.1", 9), 0.2)
            told["network"] = "open"
        except OSError as error:
            told["network"] = type(error).__name__
        print(json.dumps(told))

    def predict(self, problem):
        return np.zeros((len(problem.X), self.targets))

    def equations(self):
        return ["0"] * self.targets
'''


@pytest.fixture(params=FLAVOURS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param, make_workspace(tmp_path, HOME), ATTACKER)
    yield made
    made.runtime.close()
    assert traces() == []


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    made = Bench("plain", make_workspace(tmp_path, HOME), ASKER)
    yield made
    made.runtime.close()


def exchanges(bench: Bench, record: Record, folder: str = "results") -> list[Exchange]:
    text = (bench.workspace.root / folder / known(record.exchanges)).read_text(encoding="utf-8")
    return [Exchange.model_validate_json(line) for line in text.splitlines()]


@pytest.mark.slow
def test_one_who_asks_for_more_gets_what_is_his(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", KEY)
    with Stub(mode="echo") as stub:
        (record,) = bench.ask(stub, llm_key_env="SECRET_OF_MINE")
        assert record.status is Status.OK, record.reason
        told = json.loads(bench.log(record).splitlines()[-1])
        own = {"Host", "Authorization", "Content-Type", "Content-Length", "Accept"}
        assert all(set(each) <= own | {"Accept-Encoding"} for each in stub.headers)
        assert {each["Authorization"] for each in stub.headers} == {f"Bearer {KEY}"}
        assert {each["model"] for each in stub.requests} == {"asked"}
    assert told == {
        "key": [],
        "models": "404",
        "embeddings": "404",
        "stream": "400",
        "tools": "400",
        "large": "413",
        "chunked": "411",
        "smuggled": "400",
        "two": "400",
        "forged": "200",
        "after_idle": "200",
        "count": 17,  # with the two above, and the one of the child that was killed
        "spent": "429",
        # a network of its own, with nothing in it; in a container nobody listens
        "network": "ConnectionRefusedError" if bench.flavour == "docker" else "OSError",
    }
    assert stub.count == 20
    llm = known(record.llm)
    assert (llm.calls, llm.failed, llm.spent) == (20, 0, True)
    assert len(exchanges(bench, record)) == 20
    assert record.runtime.details["network"] == "one endpoint"
    assert bench.found(KEY.encode()) == []
    assert b"127.0.0.1" not in record.to_line().encode()


@pytest.mark.slow
def test_the_same_again_without_asking_anybody(bench: Bench) -> None:
    bench.add(ASKER)
    bench.make_front()
    with Stub() as stub:
        (live,) = bench.ask(stub, seeds=(3,))
        assert stub.count == 20
    for number in (1, 2):
        folder = f"again-{number}"
        (again,) = bench.ask(None, folder, seeds=(3,), llm_replay=bench.workspace.root / "results")
        assert comparable(again) == comparable(live)
        assert live.status is Status.OK, live.reason
    curve = known(known(live.llm).curve)
    assert [point.calls for point in curve] == sorted({point.calls for point in curve})
    losses = [known(point.loss) for point in curve]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(known(live.selection).loss)


def test_a_model_has_to_be_named_and_found(here: Bench) -> None:
    with pytest.raises(UsageError, match="none was named"):
        here.ask(None, llm_model=None)
    with pytest.raises(UsageError, match="no endpoint was named"):
        here.ask(None)
    with pytest.raises(UsageError, match="does not exist"):
        here.ask(None, llm_replay=here.workspace.root / "none")
    with pytest.raises(UsageError, match="--llm-price"):
        here.ask(None, llm_money=1.0)


def test_what_is_asked_is_a_part_of_the_key_of_those_that_ask(here: Bench) -> None:
    here.add('raise RuntimeError("not imported")', more="", name="plain")
    options = asking(("nasty",), "ode", datasets=("rc-circuit",), llm_model="a")

    def parts(**changes: Any) -> dict[str, str]:
        (job,) = make_plan(replace(options, **changes), here.workspace).jobs
        return job.key_parts()

    usual = parts()
    assert usual["llm_model"] == "a"
    assert usual["prompt"] == "anon"
    assert usual["llm_calls"] == "1000"
    changed = parts(
        llm_settings='{"top_p": 0.5}',
        prompt="named",
        llm_calls=7,
        llm_prompt_tokens=8,
        llm_completion_tokens=9,
        llm_seconds=1.5,
        llm_money=2.5,
        llm_price=(0.15, 0.6),
    )
    assert {name: part for name, part in changed.items() if usual.get(name) != part} == {
        "llm_settings": '{"top_p": 0.5}',
        "prompt": "named",
        "llm_calls": "7",
        "llm_prompt_tokens": "8",
        "llm_completion_tokens": "9",
        "llm_seconds": "1.5",
        "llm_money": "2.5",
        "llm_price": "0.15/0.6",
    }
    plain = parts(algorithms=("plain",))
    assert not [name for name in plain if name.startswith("llm") or name == "prompt"]


def test_access_goes_with_tables_alone(here: Bench) -> None:
    toml = here.workspace.algorithms / "nasty" / "method.toml"
    toml.write_text(toml.read_text().replace('"table"', '"trajectory"'))
    with pytest.raises(MethodError, match="goes with view = 'table'"):
        find("nasty", here.workspace.algorithms)


@pytest.mark.parametrize("prompt", ["anon", "named", "prior", "wrong-prior"])
def test_each_view_is_described_and_its_answer_translated(here: Bench, prompt: str) -> None:
    here.make_front()
    truth = {"anon": "x1", "named": "u1"}.get(prompt, "u1")
    with Stub(answer=truth, knows=1.0, write=lambda _, text: f"```\n{text}\n```") as stub:
        (record,) = here.ask(stub, prompt=prompt, seeds=(1,), llm_calls=2)
    assert record.status is Status.OK, record.reason
    said = stub.requests[0]["messages"][0]["content"]
    assert ("oscillator" in said) == (prompt != "anon")
    assert ("does not depend on" in said) == (prompt == "prior")
    assert "harmonic-oscillator" not in said
    assert known(record.llm).prompt == prompt
    order = np.random.default_rng([1, *b"prompt columns"]).permutation(2)
    expected = f"u{order[1]}" if prompt == "anon" else "u1"
    assert record.equations == (expected, expected)


def test_a_name_that_was_not_given_is_no_answer(here: Bench) -> None:
    here.make_front()
    with Stub(answer="u1", knows=1.0, write=lambda _, text: f"```\n{text}\n```") as stub:
        (record,) = here.ask(stub, llm_calls=1)
    assert record.status is Status.INVALID_OUTPUT
    assert "unknown_u1" in record.reason


@pytest.mark.parametrize(
    ("mode", "status", "words"),
    [
        ("fence", Status.OK, ""),
        ("prose", Status.OK, ""),
        ("truncated", Status.OK, ""),
        ("loop", Status.OK, ""),
        ("import", Status.OK, ""),
        ("slow", Status.OK, ""),
        ("bad-json", Status.UNAVAILABLE, "no chat completion"),
        ("wrong-n", Status.OK, ""),
        ("no-choices", Status.OK, ""),
        ("401", Status.UNAVAILABLE, "the endpoint answered 401 Unauthorized"),
    ],
)
def test_modes_end_in_the_right_status(here: Bench, mode: str, status: Status, words: str) -> None:
    here.make_front()
    with Stub(mode=mode, delay=0.01) as stub:
        (record,) = here.ask(stub, llm_calls=24)
    assert record.status is status, record.reason
    assert words in record.reason
    counted = [each for each in exchanges(here, record) if not each.ended]
    assert len(counted) == known(known(record.llm).calls)


def test_a_job_whose_time_is_up_waits_for_no_answer(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Stub(mode="never-ends") as stub:
        out_of_time(monkeypatch, lambda _: bool(stub.count))
        (record,) = here.ask(stub)
    assert record.status is Status.TIMEOUT
    (first, *_) = exchanges(here, record)
    assert first.error == "the job had ended"


def test_a_job_that_is_killed_in_mid_search_goes_on_from_its_log(here: Bench) -> None:
    here.make_front()
    with Stub(mode="slow", delay=0.02) as stub:
        options = asking(
            *(("nasty",), "ode"),
            datasets=("rc-circuit",),
            llm_model="m",
            llm_url=stub.url,
            llm_calls=20,
        )
        plan = make_plan(options, here.workspace)
        (one,) = resolve_jobs(plan, here.runtime)
        folder = here.workspace.root / "results"
        environments = EnvironmentCache(here.runtime)
        with WorkerSlot(
            plan.catalog, here.runtime, environments, folder, connections=plan.connections
        ) as slot:

            def kill() -> None:
                while stub.count < 5:
                    time.sleep(0.002)
                slot.interrupt()

            killer = threading.Thread(target=kill)
            killer.start()
            killed = begin_job(one, slot)()
            killer.join()
        assert killed.status is Status.INTERRUPTED
        assert 5 <= known(known(killed.llm).calls) < 20
        stub.count = 0
        with WorkerSlot(
            plan.catalog, here.runtime, environments, folder, connections=plan.connections
        ) as slot:
            record = begin_job(one, slot)()
        plan.connections["llm"].close()
    assert record.status is Status.OK, record.reason
    logged = exchanges(here, record)
    assert known(record.llm).calls == sum(one.reply is not None for one in logged) == 20
    # What was in flight when the job was killed is in the log, charged by an estimate.
    for lost in logged:
        if lost.reply is None:
            assert known(lost.usage).estimated
    assert known(record.measured.llm_resumed) == 20 - stub.count > 0
    assert not list(folder.rglob("*.before"))


@pytest.mark.parametrize(
    ("mode", "jobs", "credit"),
    [
        ("quota", 5, 2),
        pytest.param("503", 12, 3, marks=pytest.mark.slow),
        pytest.param("quota", 183, 20, marks=pytest.mark.nightly),
        pytest.param("503", 183, 20, marks=pytest.mark.nightly),
    ],
)
def test_a_run_whose_credit_ends_goes_on_later_and_nothing_is_paid_twice(
    here: Bench, mode: str, jobs: int, credit: int
) -> None:
    """Of a run of 183 with credit for 20 and a half, no job is failed by the server's fault."""
    here.make_front()
    calls = 4
    asked: dict[str, Any] = {"seeds": tuple(range(jobs)), "llm_calls": calls}
    with Stub(mode=mode, first=credit * calls + 2) as stub:
        stub.keeps = False
        first = here.ask(stub, patience=0.0, **asked)
    statuses = Counter(record.status for record in first)
    rest = jobs - credit - 1
    assert statuses == {Status.OK: credit, Status.PARTIAL: 1, Status.UNAVAILABLE: rest}
    (partial,) = [record for record in first if record.status is Status.PARTIAL]
    assert partial.reason.startswith("the best after 2 completions, where the endpoint ended it: ")
    assert known(partial.equations)
    paid = credit * calls + 2
    assert sum(known(record.llm).calls or 0 for record in first) == paid
    with Stub() as stub:
        stub.keeps = False
        second = here.ask(stub, **asked)
        assert stub.count == jobs * calls - paid
    assert Counter(record.status for record in second) == {Status.OK: jobs}
    assert {known(record.llm).calls for record in second} == {calls}
    assert sum(record.measured.llm_resumed or 0 for record in second) == 2  # of the one begun
    with Stub() as stub:
        whole = here.ask(stub, "whole", **asked)
    for again, once in zip(second, whole, strict=True):
        assert comparable(again) == comparable(once)


@pytest.mark.parametrize(
    ("budget", "enough"),
    [
        ({"llm_completion_tokens": 16_383}, False),
        ({"llm_completion_tokens": 16_384}, True),
        ({"llm_prompt_tokens": 10}, False),
        ({"llm_money": 0.001, "llm_price": (0.0, 1.0)}, False),
        ({"llm_completion_tokens": 1000, "llm_settings": '{"max_tokens": 1000}'}, True),
    ],
)
def test_a_budget_below_one_completion_is_no_fault_of_the_method(
    here: Bench, budget: dict[str, Any], enough: bool
) -> None:
    """The user reads what a completion may take, and what to type; the method is not failed."""
    here.make_front()
    with Stub() as stub:
        (record,) = here.ask(stub, **budget)
    assert (known(record.llm).calls != 0) == enough
    assert record.status is (Status.OK if enough else Status.UNAVAILABLE), record.reason
    assert ("less than one completion may take" in record.reason) == (not enough)


def test_an_outage_is_none_of_a_jobs_time(here: Bench) -> None:
    here.make_front()
    with Stub(mode="503", first=4, failures=12) as stub:
        (record,) = here.ask(stub, patience=60.0, llm_calls=8)
    assert record.status is Status.OK, record.reason
    assert known(record.measured.llm_waited_s) > 0
    assert known(record.llm).calls == 8
    assert known(record.llm).failed == 0


@pytest.mark.parametrize(
    ("place", "whole"),
    [
        pytest.param("dask", False, marks=pytest.mark.slow),
        pytest.param("dask", True, marks=pytest.mark.nightly),
        pytest.param("submitit-local", True, marks=pytest.mark.nightly),
        pytest.param("slurm", True, marks=pytest.mark.nightly),
    ],
)
def test_jobs_on_other_machines_ask_and_the_key_is_in_a_file_of_the_users_alone(
    here: Bench, place: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node has its own connection: its job's budget is kept there, its log goes on there."""
    here.make_front()
    nodes = ExitStack()
    if place == "slurm":
        if why := missing():
            pytest.skip(why)
        node = nodes.enter_context(one_node_slurm(here.workspace.root / "node"))
        monkeypatch.setenv("SLURM_CONF", str(node.config))
    # A home of its own: the keys' files of tests that run at the same time are not this one's.
    workspace = replace(here.workspace, home=here.workspace.root / "home")
    monkeypatch.setenv("SECRET_OF_MINE", KEY)
    options = asking(
        algorithms=("nasty",),
        data_type="ode",
        datasets=("harmonic-oscillator",),
        seeds=(1, 2),
        n_jobs=2 if whole else 1,
        timeout_s=60.0,
        llm_model="asked",
        llm_calls=8,
        result_dir=here.workspace.root / "results",
        llm_key_env="SECRET_OF_MINE",
        llm_patience=0.0,
    )

    def run(folder: str, elsewhere: bool, **changes: Any) -> list[Record]:
        given = replace(options, result_dir=here.workspace.root / folder, **changes)
        backend: Any = LocalBackend()
        if elsewhere and place == "dask":
            backend = DaskBackend(opens=open_here)
        elif elsewhere:
            backend = SlurmBackend(local=place != "slurm", opens=open_here, poll_seconds=0.5)
        plan = make_plan(given, workspace)
        seen: list[str] = []
        there = {*workspace.home.glob("llm-key-*")}  # of one that was killed

        class Watching(Quiet):
            def job_ended(self, job: JobSpec, record: Record) -> None:
                super().job_ended(job, record)
                new = {*workspace.home.glob("llm-key-*")} - there
                seen.extend(oct(path.stat().st_mode)[-3:] for path in new)

        with backend:
            records = list(run_plan(plan, HereRuntime(), Watching(), backend).records)
        assert {*seen} == ({"600"} if elsewhere and asked_of(given).llm_url else set())
        assert {*workspace.home.glob("llm-key-*")} <= there
        return records

    with nodes:
        with Stub() as stub:
            local = run("local", elsewhere=False, llm_url=stub.url)
            away = run("away", elsewhere=True, llm_url=stub.url)
            assert {each["Authorization"] for each in stub.headers} == {f"Bearer {KEY}"}
            assert stub.count == 2 * 2 * 8
        assert [comparable(record) for record in away] == [comparable(record) for record in local]
        assert here.found(KEY.encode()) == []
        if whole:
            with Stub(mode="quota", first=11) as stub:
                ended = run("later", elsewhere=True, llm_url=stub.url)
                assert {record.status for record in ended} <= {Status.OK, *GOES_ON}
                assert {record.status for record in ended} & {*GOES_ON}
                stub.mode = "good"
                later = run("later", elsewhere=True, llm_url=stub.url)
            replay = run("replay", elsewhere=True, llm_replay=here.workspace.root / "local")
            for found in (later, replay):
                assert [comparable(record) for record in found] == [
                    comparable(record) for record in local
                ]
            assert here.found(KEY.encode()) == []


def test_the_money_of_a_run_elsewhere_is_what_its_jobs_may_spend(here: Bench) -> None:
    asked: dict[str, Any] = {"llm_price": (1.0, 1.0), "llm_url": "http://127.0.0.1:9/v1"}
    options = asking(("nasty",), "ode", seeds=(0, 1, 2, 3), llm_model="m", **asked)
    backend = DaskBackend(opens=open_here)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"llm_money_total": 1.0}, "e.g. --llm-money 0.25"),
        ({"llm_money_total": 1.0, "llm_money": 0.5}, "may cost 2 together"),
    )
    for more, words in cases:
        given = replace(options, datasets=("rc-circuit",), **more)
        plan = make_plan(given, here.workspace)
        with pytest.raises(UsageError) as caught:
            run_plan(plan, HereRuntime(), Quiet(), backend)
        assert words in f"{caught.value.message} {caught.value.hint}"
        plan.connections["llm"].close()


@pytest.mark.parametrize("more", [{"backend": "dask"}, {"scheduler": "tcp://127.0.0.1:1"}])
def test_it_is_an_option_of_this_machine(more: dict[str, Any]) -> None:
    number: dict[str, Any] = {"llm_concurrency": 32, "llm_model": "m"}
    with pytest.raises(UsageError, match="--llm-concurrency") as caught:
        LanguageModels().check(RunOptions(("direct",), "ode", **more, **number), ["direct"])
    assert "--n-jobs 32" in caught.value.hint


def test_the_stub_is_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdbench.extensions.language_models.printing.wait", stop)
    assert main(["llm", "stub", "--port", "0", "--mode", "prose"]) == 0
    said = capsys.readouterr().out
    assert "/v1 answers with prose" in said
    assert "0 requests" in said
    assert main(["llm", "stub", "--mode", "pros"]) == 2


def test_an_endpoint_that_is_not_there_is_no_fault_of_the_method(here: Bench) -> None:
    with Stub() as stub:
        url = stub.url
    (record,) = here.ask(None, llm_url=url, llm_calls=2)
    assert record.status is Status.UNAVAILABLE
    assert "nobody listens at that address" in record.reason
    assert url not in record.to_line()


def test_a_replay_that_lacks_an_answer_is_a_failure_whatever_the_method_does(here: Bench) -> None:
    here.make_front()
    with Stub() as stub:
        (live,) = here.ask(stub)
    log = here.workspace.root / "results" / known(live.exchanges)
    lines = log.read_text().splitlines(keepends=True)
    (here.workspace.root / "torn.llm.ndjson").write_text("".join(lines[:6]))
    (again,) = here.ask(None, "again", llm_replay=here.workspace.root / "torn.llm.ndjson")
    assert again.status is Status.FAILED
    assert "the replay has no answer to request" in again.reason
    (other,) = here.ask(None, "other", llm_replay=here.workspace.root / "results", seeds=(9,))
    assert other.status is Status.UNAVAILABLE
    assert "has no" in other.reason


def test_a_bundle_has_what_was_said_and_is_reproduced_from_it(
    here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here.make_front()
    monkeypatch.setenv("SECRET_OF_MINE", KEY)
    with Stub(mode="good") as stub:
        (record,) = here.ask(stub, llm_key_env="SECRET_OF_MINE")
    results = here.workspace.root / "results"
    out = here.workspace.root / "b.zip"
    write_bundle([results], out, methods={})
    with zipfile.ZipFile(out) as archive:
        name = f"records/{record.exchanges}"
        assert archive.read(name) == (results / known(record.exchanges)).read_bytes()
        assert not [n for n in archive.namelist() if KEY.encode() in archive.read(n)]
    with opened(out) as place:
        assert (place / known(record.exchanges)).is_file()
    assert len(RecordStore(results / "nasty-ode.jsonl").read()) == 1

    monkeypatch.setattr("mdbench.workspace.Workspace.find", lambda: here.workspace)
    with closing(here.runtime):
        monkeypatch.setattr("mdbench.cli.results.open_runtime", lambda *_, **__: here.runtime)
        assert main(["reproduce", str(out)]) == 0
    assert "1 of 1 record reproduced" in capsys.readouterr().out
    assert stub.count == 20
