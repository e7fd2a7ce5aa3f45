"""Trains the policy of ``learned.py`` by the cross-entropy method, with NumPy only.

    python examples/training/train.py                # five minutes on two processors
    python examples/training/train.py --seconds 5    # a short trial

The method (Rubinstein 1999): draw policies from a normal distribution, run each on the same paths, fit the distribution to
the best policies, and repeat. Every generation has new random paths; the held-out paths of ``judge.py`` are never among them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from dupack.gym import PathVectorEnv
from learned import FEATURES, SETTINGS, actions

POLICIES, PATHS, BEST = 64, 4, 8
EPISODE_S = 10
RANGES = {
    "path.rate": {"low": "2Mbit/s", "high": "40Mbit/s", "scale": "log"},
    "path.delay": {"low": "5ms", "high": "80ms"},
    "path.buffer": {"low": "20pkt", "high": "300pkt", "scale": "log"},
    "path.loss": {"low": "0%", "high": "3%"},
}


def train(seconds: float, seed: int = 1, say: bool = True) -> np.ndarray:
    """Returns the weights after ``seconds`` of training."""
    rng = np.random.default_rng(seed)
    env = PathVectorEnv(
        POLICIES * PATHS,
        path={"rate": "10Mbit/s", "delay": "20ms", "buffer": "50pkt"},
        ranges=RANGES,
        duration=f"{EPISODE_S}s",
        autoreset_mode="Disabled",
        **SETTINGS,
    )
    mean, deviation = np.zeros(len(FEATURES) + 1), np.full(len(FEATURES) + 1, 1.0)
    begin, generation = time.monotonic(), 0
    while time.monotonic() - begin < seconds or generation == 0:
        weights = rng.normal(mean, deviation, (POLICIES, len(mean)))
        # Every policy on the same paths.
        seeds = rng.integers(0, 2**31, PATHS)
        observations, _ = env.reset(seed=[int(s) for s in np.tile(seeds, POLICIES)])
        each = np.repeat(weights, PATHS, axis=0)
        total, over = np.zeros(len(each)), False
        while not over:
            observations, rewards, _, truncated, _ = env.step(actions(observations, each)[:, None])
            total += rewards
            over = bool(truncated.all())
        scores = total.reshape(POLICIES, PATHS).mean(axis=1)
        best = weights[np.argsort(scores)[-BEST:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.3 / (1 + generation)
        generation += 1
        if say and generation % 5 == 1:
            print(f"generation {generation}: best {scores.max():.1f}, mean {scores.mean():.1f}", flush=True)
    if say:
        print(f"{generation} generations of {len(each)} episodes in {time.monotonic() - begin:.0f} s")
    return mean


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seconds", type=float, default=300.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--out", type=Path, default=Path(__file__).parent / "weights.json")
    given = words.parse_args()
    weights = train(given.seconds, given.seed)
    told = {"features": ["1", *FEATURES], "weights": [round(float(w), 4) for w in weights]}
    given.out.write_text(json.dumps(told, indent=1) + "\n")
    print(told)


if __name__ == "__main__":
    main()
