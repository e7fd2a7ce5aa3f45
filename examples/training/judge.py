"""Compares the trained policy with ``rack/cubic`` on held-out paths, and prints its report card.

The metric and the paths were fixed before the weights were trained: 27 paths with rates and delays within the range of the training, and
0.5, 1 and 2 % loss. The metric is goodput: on each path as a ratio to that of ``rack/cubic``, paired by seed, and over all paths as the
geometric mean of the ratios. The costs are shown beside it: queueing delay, and the harm to a standing CUBIC flow.

    python examples/training/judge.py            # the held-out paths
    python examples/training/judge.py --card     # and a quick RFC 9743 report card
"""

from __future__ import annotations

import argparse
import math

import dupack
from learned import Learned

HELD_OUT = {
    "path.rate": ["4Mbit/s", "12Mbit/s", "30Mbit/s"],
    "path.delay": ["10ms", "30ms", "60ms"],
    "path.loss": ["0.5%", "1%", "2%"],
}


def judge(seeds: int = 5, duration: str = "30s") -> dupack.Results:
    """Runs both stacks on the held-out paths."""
    catalog = dupack.Catalog()
    catalog.register(Learned)
    experiment = dupack.Experiment(
        title="A policy trained for five minutes, on paths that it has not seen",
        stacks=["rack/cubic", "rack/learned"],
        path={"rate": "10Mbit/s", "delay": "20ms", "buffer": "100pkt"},
        sweep=HELD_OUT,
        seeds=seeds,
        duration=duration,
        catalog=catalog,
    )
    return experiment.run()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seeds", type=int, default=5)
    words.add_argument("--card", action="store_true")
    given = words.parse_args()
    results = judge(given.seeds)
    for failure in results.failures:
        print(failure.traceback)
    labels = {row["point"]: row["label"] for row in results.points.rows()}
    told: dict[int, dict[str, str]] = {}
    ratios: list[float] = []
    better = worse = 0
    for row in results.summary.rows():
        own = told.setdefault(row["point"], {})
        name = {"queueing_delay_p95_ms": "queue", "harm_goodput_share": "harm"}.get(row["measure"])
        if name is not None:
            own[f"{name} of {row['stack']}"] = f"{row['mean']:.2f}"
        if row["stack"] == "rack/learned" and row["measure"] == "goodput_mbit_s":
            low, high = row["ratio_ci95_low"] or 0.0, row["ratio_ci95_high"] or math.inf
            own["goodput"] = f"{row['ratio_to_first']:.2f} ({low:.2f} to {high:.2f})"
            ratios.append(row["ratio_to_first"])
            better += low > 1.0
            worse += high < 1.0
    print(f"{'':46} {'goodput over':22} {'queue p95, ms':>16} {'harm to CUBIC':>16}")
    print(f"{'path':46} {'rack/cubic':22} {'cubic':>8}{'learned':>8} {'cubic':>8}{'learned':>8}")
    for point, own in told.items():
        costs = [own.get(f"{what} of rack/{who}", "–") for what in ("queue", "harm") for who in ("cubic", "learned")]
        print(f"{labels[point]:46} {own['goodput']:22} {costs[0]:>8}{costs[1]:>8} {costs[2]:>8}{costs[3]:>8}")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean ×{mean:.2f}; better on {better} of {len(ratios)} paths, worse on {worse}, by their intervals")
    if given.card:
        catalog = dupack.Catalog()
        catalog.register(Learned)
        (card,) = dupack.evaluate("rack/learned", quick=True, catalog=catalog)
        for row in card.rows:
            print(f"{row['section']:10} {row['verdict']:16} {row['title']}")


if __name__ == "__main__":
    main()
