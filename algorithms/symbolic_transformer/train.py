"""Trains the weights: ``python train.py [--minutes N]`` in the method's own environment.

Every step has new tables of new laws.  A second run continues where the one before was stopped.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / "shared" / "table_transformer"
sys.path.insert(0, str(SHARED))

from pretraining import FEATURES, Bigram, Table, drawn_table, features  # noqa: E402
from skeletons import ARITY, read_laws  # noqa: E402
from table_network import TOKENS, NetworkSizes, TableNetwork  # noqa: E402

ROWS, BATCH, POOL, EACH_LAW = 64, 64, 8, 2
RATE, WARM_UP, STEPS = 1e-3, 500, 6000
SEED = 1


def tables(bigram: Bigram, many: int, rng: np.random.Generator) -> list[Table]:
    """Draw tables, two of each law."""
    found: list[Table] = []
    while len(found) < many:
        tokens = bigram.draw(rng)
        for _ in range(EACH_LAW):
            dummies = int(rng.random() < 0.15)  # noqa: PLR2004
            table = drawn_table(tokens, ROWS, rng, dummies=dummies)
            if table is not None:
                found.append(table)
    return found[:many]


def batches(bigram: Bigram, rng: np.random.Generator) -> list[list[Table]]:
    """Draw batches of tables that have about as many columns: little is padded."""
    drawn = sorted(tables(bigram, BATCH * POOL, rng), key=lambda table: table.X.shape[1])
    parts = [drawn[first : first + BATCH] for first in range(0, len(drawn), BATCH)]
    return [parts[place] for place in rng.permutation(len(parts))]


def batched(drawn: list[Table]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Put tables side by side: cells, which columns are there, and codes, -1 behind the end."""
    columns = max(table.X.shape[1] for table in drawn)
    cells = np.zeros((len(drawn), ROWS, columns + 1, FEATURES), np.float32)
    there = np.zeros((len(drawn), columns + 1), bool)
    codes = np.full((len(drawn), max(len(table.tokens) for table in drawn)), -1, np.int64)
    for row, table in enumerate(drawn):
        own = features(table.X, table.y)
        cells[row, :, : own.shape[1] - 1] = own[:, :-1]
        cells[row, :, -1] = own[:, -1]
        there[row, : own.shape[1] - 1] = there[row, -1] = True
        codes[row, : len(table.tokens)] = [
            TOKENS.index(name) if name in ARITY else len(TOKENS) + int(name[1:])
            for name in table.tokens
        ]
    return torch.from_numpy(cells), torch.from_numpy(there), torch.from_numpy(codes)


def loss_of(
    network: TableNetwork, drawn: list[Table], device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean cross-entropy of a token, and the share of laws predicted in every token."""
    cells, there, codes = (each.to(device) for each in batched(drawn))
    read = network.read(cells, there)
    logits = network(read, there, codes[:, :-1].clamp(min=0))
    loss = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), codes, ignore_index=-1, label_smoothing=0.0
    )
    right = ((logits.argmax(-1) == codes) | (codes < 0)).all(1)
    return loss, right.float().mean()


def main() -> None:
    """Train, and leave weights and the curve of the loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=180, help="the most time (default: 180)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--state", type=Path, default=Path("state.pt"), help="to continue from")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the whole training")
    parser.add_argument("--into", type=Path, default=SHARED, help="folder of the weights")
    asked = parser.parse_args()
    begin = time.monotonic()
    torch.set_num_threads(asked.threads)
    torch.manual_seed(SEED)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = TableNetwork(NetworkSizes()).to(device)
    print(f"{sum(each.numel() for each in network.parameters())} weights, {device}", flush=True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * step / asked.steps)),
    )
    bigram = Bigram(list(read_laws(SHARED / "laws.txt").values()))
    step = 0
    curve: list[tuple[int, float, float]] = []
    if asked.state.exists():
        state = torch.load(asked.state, weights_only=True)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        step, curve = state["step"], state["curve"]
    losses: list[float] = []
    shares: list[float] = []
    pool: list[list[Table]] = []
    while step < asked.steps and time.monotonic() - begin < 60 * asked.minutes:
        if not pool:
            pool = batches(bigram, np.random.default_rng([SEED, step]))
        loss, share = loss_of(network, pool.pop(), device)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        step += 1
        losses.append(float(loss.detach()))
        shares.append(float(share))
        if step % (10 * POOL) == 0 or step == asked.steps:
            curve.append((step, float(np.mean(losses)), float(np.mean(shares))))
            print(f"{step} {curve[-1][1]:.4f} {curve[-1][2]:.3f} {time.monotonic() - begin:.0f} s",
                  flush=True)  # fmt: skip
            losses, shares = [], []
            state = {
                "network": network.state_dict(), "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(), "step": step, "curve": curve,
            }  # fmt: skip
            torch.save(state, asked.state)
            network.save(asked.into / "weights.npz")
            (asked.into / "curve.csv").write_text(
                "step,loss,laws_foretold\n"
                + "".join(f"{at},{one:.4f},{share:.3f}\n" for at, one, share in curve),
                encoding="utf-8",
            )


if __name__ == "__main__":
    main()
