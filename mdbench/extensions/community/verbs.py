"""The options of ``mdbench registry``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mdbench.cli.options import with_methods
from mdbench.cli.parameters import Json, NJobs, read_n_jobs

Registry = Annotated[
    Path, typer.Argument(metavar="REGISTRY", help="A folder of bundles, such as a git checkout.")
]


def submit(
    bundle: Annotated[
        Path,
        typer.Argument(metavar="BUNDLE", help="A bundle, or the file of an audit or withdrawal."),
    ],
    registry: Registry,
    n_jobs: NJobs = None,
) -> int:
    """Verify a bundle, score its answers again, and add it to a registry."""
    from mdbench.extensions.community.registry import submit_bundle

    return submit_bundle(bundle, registry, Console(highlight=False), read_n_jobs(n_jobs))


@with_methods
def audit(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Somebody else's bundle.")],
    share: Annotated[
        float | None,
        typer.Option(
            "--sample",
            metavar="SHARE",
            help="Part of each method's jobs to run again.  Default: 0.05, at least 60 jobs.",
        ),
    ] = None,
    salt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What else chooses the jobs, where nobody signs."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The result.")] = Path("audit.json"),
    sign: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="A private Ed25519 key that signs, and chooses the jobs."),
    ] = None,
    moved: Annotated[
        bool,
        typer.Option(
            "--moved",
            help="Run its methods of ode on the same laws with other constants, too.",
        ),
    ] = False,
    n_jobs: NJobs = None,
) -> int:
    """Run a random sample of a bundle's jobs again, and write how the results agree."""
    from mdbench.extensions.community.registry import audit_bundle

    console = Console(highlight=False)
    return audit_bundle(
        bundle,
        console,
        share=share,
        salt=salt,
        out=out,
        key=sign,
        moved=moved,
        n_jobs=read_n_jobs(n_jobs),
    )


def withdraw(
    sha256: Annotated[
        str, typer.Argument(metavar="SHA256", help="Of a bundle or an audit: its first digits.")
    ],
    registry: Registry,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, in one line.")],
    sign: Annotated[Path, typer.Option(metavar="KEY", help="A private SSH key.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The result.")] = Path(
        "withdrawal.json"
    ),
) -> int:
    """Write and sign that a bundle or an audit counts no more, and add that to a registry."""
    from mdbench.extensions.community.registry import withdraw as withdraw_from

    console = Console(highlight=False)
    return withdraw_from(sha256, registry, console, reason=reason, out=out, key=sign)


def board(
    registry: Registry,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The site.")] = Path("board"),
    title: Annotated[str, typer.Option(metavar="TEXT", help="Its heading.")] = "mdbench board",
    n_jobs: NJobs = None,
    json: Json = False,
) -> int:
    """Make a site of all bundles of a registry, with what is verified of each result."""
    from mdbench.extensions.community.registry import make_board

    console = Console(highlight=False, stderr=json)
    return make_board(registry, out, console, title=title, n_jobs=read_n_jobs(n_jobs), json_=json)


def difference(
    before: Annotated[Path, typer.Argument(metavar="A", help="A site of board.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="A later one.")],
) -> int:
    """Show what differs between two editions of a board: what they were made of, and results."""
    from mdbench.extensions.community.registry import show_difference

    return show_difference(before, after, Console(highlight=False))


def certify(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Folders of results, or bundles.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The certificates.")] = Path(
        "certificates.jsonl"
    ),
) -> int:
    """Write a proof of each verdict, identified or not, that has one."""
    from mdbench.extensions.community.certify import certify_results

    return certify_results(results, out, Console(highlight=False))


def verify(
    certificates: Annotated[Path, typer.Argument(help="What certify has written.")],
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS...", help="Folders of results, or bundles."),
    ] = None,
) -> int:
    """Check proofs of verdicts by a small program, and that they are of these records."""
    from mdbench.extensions.community.certify import verify_certificates

    return verify_certificates(certificates, results or [], Console(highlight=False))
