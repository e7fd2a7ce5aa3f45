"""Tests of environments: the rules of Gymnasium and PettingZoo, and agreement with experiments."""

from __future__ import annotations

import warnings

import dupack
import gymnasium
import numpy as np
import pytest
from dupack.gym import FEATURES, ParallelPaths, PathEnv, PathVectorEnv
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

SHORT = {"duration": "2s"}


@pytest.mark.parametrize("preset", ["aurora", "orca"])
def test_environments_pass_the_check_of_gymnasium(preset: str) -> None:
    env = gymnasium.make("dupack/Path-v0", preset=preset, disable_env_checker=True, **SHORT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The check warns about spaces that are unbounded or not from -1 to 1.
        warnings.filterwarnings("ignore", message=".*Box (action|observation) space.*")
        warnings.filterwarnings("ignore", message=".*render_modes.*")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("how", ["import dupack.gym; name = 'dupack/Path-v0'", "name = 'dupack.gym:dupack/Path-v0'"])
def test_gymnasium_finds_the_environment(how: str) -> None:
    import subprocess
    import sys

    code = f"import gymnasium; {how}; env = gymnasium.make(name); print(env.reset(seed=3)[0].shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(30,)"


def roll(env: PathEnv, seed: int, actions: np.ndarray) -> tuple[list[np.ndarray], list[float]]:
    observation, _ = env.reset(seed=seed)
    seen, rewards = [observation], []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            break
    return seen, rewards


def test_a_seed_determines_the_episode() -> None:
    actions = np.random.default_rng(1).uniform(-1, 1, (50, 1)).astype(np.float32)
    env = PathEnv(path={"rate": "10Mbit/s", "delay": "20ms", "buffer": "50pkt", "loss": "1%"}, interval="10ms", **SHORT)
    one, rewards = roll(env, 5, actions)
    again, same = roll(env, 5, actions)
    assert np.array_equal(one, again) and rewards == same
    other, _ = roll(env, 6, actions)
    assert not np.array_equal(one, other)


def test_a_vector_equals_single_environments() -> None:
    fields = {"interval": "10ms", "ranges": {"path.loss": {"low": "0%", "high": "3%"}}, **SHORT}
    rng = np.random.default_rng(2)
    actions = rng.uniform(-1, 1, (30, 5, 1)).astype(np.float32)
    found = []
    for threads in (1, 2):
        vector = PathVectorEnv(5, threads=threads, **fields)
        vector.reset(seed=[11, 12, 13, 14, 15])
        found.append([vector.step(step)[:4] for step in actions])
    for one, two in zip(*found):
        assert all(np.array_equal(a, b) for a, b in zip(one, two))
    single = PathEnv(**fields)
    single.reset(seed=13)
    for step, (observations, rewards, *_) in zip(actions, found[0]):
        observation, reward, *_ = single.step(step[2])
        assert np.array_equal(observation, observations[2]) and reward == rewards[2]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_end_and_reset_by_mode(mode: AutoresetMode) -> None:
    vector = PathVectorEnv(3, interval="100ms", duration="500ms", autoreset_mode=mode)
    first, _ = vector.reset(seed=1)
    ends = []
    for _ in range(5):
        observations, _, terminated, truncated, info = vector.step(np.zeros((3, 1), np.float32))
        ends.append(truncated.all())
    assert ends == [False] * 4 + [True] and not terminated.any()
    if mode is AutoresetMode.SAME_STEP:
        assert info["_final_obs"].all() and info["final_obs"][0].shape == (30,)
        assert np.array_equal(observations, first) or observations.shape == first.shape
    elif mode is AutoresetMode.NEXT_STEP:
        _, rewards, _, truncated, _ = vector.step(np.zeros((3, 1), np.float32))
        assert not rewards.any() and not truncated.any()
    else:
        with pytest.raises(dupack.errors.EnvError, match="call reset"):
            vector.step(np.zeros((3, 1), np.float32))
        vector.reset(options={"reset_mask": np.array([True, True, True])})
        vector.step(np.zeros((3, 1), np.float32))


def test_gymnasium_makes_vectors() -> None:
    vector = gymnasium.make_vec("dupack/Path-v0", num_envs=4, vectorization_mode="vector_entry_point", **SHORT)
    observations, _ = vector.reset(seed=1)
    assert observations.shape == (4, 30) and vector.action_space.shape == (4, 1)


def test_drawn_values_can_be_fixed() -> None:
    env = PathEnv(ranges={"path.rate": {"low": "5Mbit/s", "high": "6Mbit/s"}}, interval="100ms", **SHORT)
    _, info = env.reset(seed=1)
    assert 5e6 <= float(info["drawn"]["path.rate"].removesuffix("bit/s")) <= 6e6
    _, info = env.reset(seed=1, options={"path.rate": "20Mbit/s"})
    assert info["drawn"]["path.rate"] == "20Mbit/s"


def test_a_constant_pace_fills_the_link() -> None:
    env = PathEnv(
        action={"kind": "rate", "low": "1Mbit/s", "high": "20Mbit/s"},
        observation={"features": ["throughput", "queueing"], "history": 1},
        reward={"kind": "weights", "weights": {"throughput": 1.0}},
        interval="100ms",
        duration="10s",
    )
    env.reset(seed=1)
    done = False
    while not done:
        observation, reward, _, done, info = env.step(np.array([0.5], np.float32))
    # The action 0.5 is a rate of 1 Mbit/s times 20 to the power of 0.75: 9.46 Mbit/s.
    assert info["agents"][0]["goodput"] == pytest.approx(9.4, abs=0.1)
    assert reward == pytest.approx(observation[0])


def test_competing_flows_pass_the_check_of_pettingzoo() -> None:
    from pettingzoo.test import parallel_api_test

    paths = ParallelPaths(flows=[{"count": 2}], interval="50ms", duration="1s")
    parallel_api_test(paths, num_cycles=60)
    assert paths.possible_agents == sorted(set(paths.possible_agents))


def test_every_feature_has_a_description() -> None:
    assert "throughput" in FEATURES and all(FEATURES.values())
    env = PathEnv(observation={"features": list(FEATURES), "history": 1}, **SHORT)
    assert env.observed == list(FEATURES) or len(env.observed) == len(FEATURES)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preset": "orka"}, "did you mean `orca`"),
        ({"observation": "aurra"}, "aurora"),
        ({"observation": {"features": ["rt"]}}, "did you mean `rtt`"),
        ({"interval": "0ms"}, "makes no progress"),
        ({"action": {"kind": "speed"}}, "rate_factor"),
        ({"reward": {"kind": "weights", "weights": {"speed": 1.0}}}, "throughput"),
        ({"ranges": {"path.speed": {"low": "1Mbit/s", "high": "2Mbit/s"}}}, "path.speed"),
        ({"ranges": {"path.rate": {"low": "3Mbit/s", "high": "2Mbit/s"}}}, "path.rate"),
        ({"path": {"rate": "10Mbit"}}, "rate"),
        ({"stacks": ["rack/cubik"]}, "cubic"),
        ({"flows": [{"count": 2}]}, "one agent"),
    ],
)
def test_invalid_settings_are_explained(settings: dict[str, object], words: str) -> None:
    with pytest.raises(dupack.DupackError, match=words):
        PathEnv(**settings)


@pytest.mark.parametrize("action", [[np.nan], [1e9], [0.0, 0.0], []])
def test_an_invalid_action_changes_nothing(action: list[float]) -> None:
    env = PathEnv(interval="10ms", **SHORT)
    env.reset(seed=1)
    with pytest.raises(dupack.errors.EnvError):
        env.step(np.array(action, np.float32))
    other = PathEnv(interval="10ms", **SHORT)
    other.reset(seed=1)
    good = np.array([0.3], np.float32)
    assert np.array_equal(env.step(good)[0], other.step(good)[0])


def test_a_step_before_a_reset_is_refused() -> None:
    with pytest.raises(dupack.errors.EnvError, match="reset"):
        PathEnv(**SHORT).step(np.zeros(1, np.float32))
