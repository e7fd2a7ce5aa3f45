"""Environments for reinforcement learning, for Gymnasium and PettingZoo.

With Gymnasium, vectors may have thousands of environments.

An agent is the congestion control of a flow on the path of an experiment. ``docs/environments.md`` describes the
observations, actions, rewards and presets, and their sources.

>>> import gymnasium, dupack.gym
>>> env = gymnasium.make("dupack/Path-v0", preset="aurora")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> env.close()
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _native
from ._catalog import Catalog, catalog as _the_catalog
from .errors import EnvError
from .experiment import Experiment

__all__ = ["FEATURES", "ParallelPaths", "PathEnv", "PathVectorEnv", "make_vec", "register"]

FEATURES: dict[str, str] = {
    name: f"{meaning}, in {unit}" if unit else meaning for name, unit, meaning, _, _ in _native.features()
}
"""Descriptions of the features that observations may contain, by name."""

PATH: dict[str, Any] = {
    "stacks": ["rack/cubic"],
    "duration": "30s",
    "path": {"rate": "10Mbit/s", "delay": "20ms", "buffer": "50pkt"},
}
"""Default path: a rate of 10 Mbit/s, a round-trip time of 40 ms, and a buffer of 50 packets."""

Floats = NDArray[np.float32]
_Settings = Mapping[str, Any]


def _text(experiment: Experiment | Mapping[str, Any] | None, fields: Mapping[str, Any]) -> tuple[str, Path]:
    if isinstance(experiment, Experiment):
        if fields:
            experiment = experiment.replace(fields)
        return experiment.toml, experiment._folder
    merged = {**PATH, **(experiment or {}), **fields}
    # The fields are passed on unchecked, because they may have values that are chosen at random for each episode.
    return _native.to_toml(json.dumps(merged)), Path()


class _Vector:
    """Common part of all environments."""

    def __init__(
        self,
        experiment: Experiment | Mapping[str, Any] | None,
        preset: str | None,
        settings: _Settings,
        count: int,
        threads: int | None,
        autoreset: str,
        catalog: Catalog | None,
    ) -> None:
        known = {"observation", "action", "reward", "interval", "ranges"}
        own = {key: value for key, value in settings.items() if key in known and value is not None}
        fields = {key: value for key, value in settings.items() if key not in known and value is not None}
        text, folder = _text(experiment, fields)
        native = (_the_catalog if catalog is None else catalog)._native
        self.native = _native.Environments(
            text, folder, native, preset or "", _native.to_toml(json.dumps(own)), count, threads or 0, autoreset
        )
        self.count = count
        self.agents: list[str] = self.native.agents
        self.names, low, high = self.native.observation_space
        self.width = len(self.names)
        self.observation_space = gymnasium.spaces.Box(
            np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32
        )
        _, low, high = self.native.action_space
        self.action_space = gymnasium.spaces.Box(
            np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32
        )
        self.size = count * len(self.agents)

    def reset(
        self,
        seed: int | None = None,
        seeds: Sequence[int] | None = None,
        which: Sequence[bool] | None = None,
        fixed: Mapping[str, Any] | None = None,
        into: Floats | None = None,
    ) -> Floats:
        observations = np.zeros(self.size * self.width, np.float32) if into is None else into
        text = None if not fixed else _native.to_toml(json.dumps({str(k): v for k, v in fixed.items()}))
        self.native.reset(
            observations,
            seed=seed,
            seeds=None if seeds is None else list(seeds),
            which=None if which is None else [bool(w) for w in which],
            fixed=text,
        )
        return observations

    def step(
        self, actions: Any
    ) -> tuple[Floats, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        given = np.ascontiguousarray(actions, np.float32).reshape(-1)
        observations = np.empty(self.size * self.width, np.float32)
        rewards = np.empty(self.size, np.float64)
        terminated, truncated = np.empty(self.size, np.bool_), np.empty(self.size, np.bool_)
        self.native.step(given, observations, rewards, terminated, truncated)
        return observations, rewards, terminated, truncated

    def info(self, number: int = 0) -> dict[str, Any]:
        told = self.native.infos([number])[0]
        return {} if told is None else told


def _one_agent(vector: _Vector, what: str) -> None:
    if len(vector.agents) != 1:
        raise EnvError(
            f"the path has {len(vector.agents)} flows of the agents' stack, but {what} has one agent",
            help="give all other flows another stack, or use dupack.gym.ParallelPaths",
        )


class PathEnv(gymnasium.Env[Floats, Floats]):
    """Environment ``dupack/Path-v0``: a path on which an agent is the congestion control of one flow.

    Args:
        experiment: experiment with the path, or the fields of an experiment; by default :data:`PATH`.
        preset: ``"aurora"`` or ``"orca"``. The preset sets the observation, the action, the reward and the duration
            of a step.
        observation: a different observation: the name of a preset, or ``{"features": [...], "history": 4}``.
        action: a different action: the name of a preset, or for example
            ``{"kind": "rate", "low": "1Mbit/s", "high": "40Mbit/s"}``.
        reward: a different reward: the name of a preset, or ``{"kind": "weights", "weights": {"throughput": 1.0}}``.
        interval: duration of a step: ``"10ms"``, ``"rtt"``, ``"0.5rtt"``, ``"ack"``.
        ranges: ranges of values that are chosen at random for every episode, by key of the experiment.
        fingerprint: ``True`` to add the hash of the episode's trace to ``info``.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        fields: other fields of the experiment, such as ``path`` and ``duration``.

    ``reset(options={"path.rate": "5Mbit/s"})`` sets a value that would be random otherwise. ``info`` contains the
    simulator's own measurements: goodput in Mbit/s, window in segments, and drops. After ``reset``, it also contains
    the random values.

    Raises:
        ExperimentError: if the path is invalid.
        EnvError: if a setting or a step is invalid.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        experiment: Experiment | Mapping[str, Any] | None = None,
        *,
        preset: str | None = "aurora",
        observation: str | _Settings | None = None,
        action: str | _Settings | None = None,
        reward: str | _Settings | None = None,
        interval: str | None = None,
        ranges: _Settings | None = None,
        fingerprint: bool = False,
        render_mode: str | None = None,
        catalog: Catalog | None = None,
        **fields: Any,
    ) -> None:
        settings = dict(
            fields, observation=observation, action=action, reward=reward, interval=interval, ranges=ranges
        )
        self._vector = _Vector(experiment, preset, settings, 1, 1, "disabled", catalog)
        _one_agent(self._vector, "a PathEnv")
        self._vector.native.fingerprint(fingerprint)
        self.render_mode = render_mode
        self.observation_space = self._vector.observation_space
        self.action_space = self._vector.action_space

    @property
    def observed(self) -> list[str]:
        """The names of the values in an observation."""
        return self._vector.names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin the episode of ``seed``. Without ``seed``, begin the next episode, which depends on the last seed.

        ``options`` sets values that would be random otherwise: ``{"path.rate": "5Mbit/s"}``.
        """
        super().reset(seed=seed)
        observation = self._vector.reset(seeds=None if seed is None else [seed], fixed=options)
        return observation, self._vector.info()

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Apply the agent's action, and advance by one step."""
        observation, rewards, terminated, truncated = self._vector.step(action)
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), self._vector.info()


class PathVectorEnv(VectorEnv[Floats, Floats, Any]):
    """Vector of many paths. Threads in Rust advance the paths without the interpreter's lock.

    The result of a step does not depend on the number of threads.

    Args:
        num_envs: number of environments.
        threads: number of threads that advance the environments; by default one per processor.
        autoreset_mode: treatment of an environment whose episode is over.

    The other arguments are those of :class:`PathEnv`. ``info`` is empty, except for ``final_obs`` with
    ``AutoresetMode.SAME_STEP``, because thousands of mappings per step would cost more than the steps. Call
    :meth:`infos` to get these mappings.
    """

    def __init__(
        self,
        num_envs: int = 1,
        experiment: Experiment | Mapping[str, Any] | None = None,
        *,
        preset: str | None = "aurora",
        observation: str | _Settings | None = None,
        action: str | _Settings | None = None,
        reward: str | _Settings | None = None,
        interval: str | None = None,
        ranges: _Settings | None = None,
        threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        fingerprint: bool = False,
        render_mode: str | None = None,
        catalog: Catalog | None = None,
        **fields: Any,
    ) -> None:
        settings = dict(
            fields, observation=observation, action=action, reward=reward, interval=interval, ranges=ranges
        )
        self._mode = AutoresetMode(autoreset_mode)
        names = {
            AutoresetMode.NEXT_STEP: "next_step",
            AutoresetMode.SAME_STEP: "same_step",
            AutoresetMode.DISABLED: "disabled",
        }
        self._vector = _Vector(experiment, preset, settings, num_envs, threads, names[self._mode], catalog)
        _one_agent(self._vector, "a vector of paths")
        self._vector.native.fingerprint(fingerprint)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.single_observation_space = self._vector.observation_space
        self.single_action_space = self._vector.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shape = (num_envs, self._vector.width)
        self._last: Floats = np.zeros(self._shape, np.float32)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode in each environment.

        ``seed`` is one seed, from which the seeds of all environments are derived, or a list with one seed for each
        environment. ``options`` sets values that would be random otherwise; ``options["reset_mask"]`` selects the
        environments to reset.
        """
        fixed = dict(options or {})
        mask = fixed.pop("reset_mask", None)
        one = seed if isinstance(seed, int) else None
        each = None
        if seed is not None and not isinstance(seed, int):
            if any(own is None for own in seed):
                raise EnvError(
                    "some seeds are None", help="give one seed, one for each environment, or none"
                )
            each = [own for own in seed if own is not None]
        into = None
        if mask is not None:
            into = self._last.reshape(-1).copy()
        observations = self._vector.reset(one, each, None if mask is None else list(mask), fixed, into)
        self._last = observations.reshape(self._shape)
        return self._last, {}

    def step(
        self, actions: Any
    ) -> tuple[Floats, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance each environment by one step."""
        observations, rewards, terminated, truncated = self._vector.step(actions)
        self._last = observations.reshape(self._shape)
        info: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and (ended := terminated | truncated).any():
            final = np.zeros(self._vector.size * self._vector.width, np.float32)
            self._vector.native.last_observations(final)
            kept = np.empty(self.num_envs, dtype=object)
            for number in np.flatnonzero(ended):
                kept[number] = final.reshape(self._shape)[number]
            info = {"final_obs": kept, "_final_obs": ended}
        return self._last, rewards, terminated, truncated, info

    def infos(self, which: Sequence[int] | None = None) -> list[dict[str, Any] | None]:
        """Return the simulator's own measurements of the environments ``which``; by default of all environments."""
        return self._vector.native.infos(list(range(self.num_envs) if which is None else which))


def make_vec(num_envs: int, **settings: Any) -> PathVectorEnv:
    """Create a :class:`PathVectorEnv` of ``num_envs`` paths, as ``gymnasium.make_vec("dupack/Path-v0")`` does."""
    return PathVectorEnv(num_envs, **settings)


def ParallelPaths(experiment: Experiment | Mapping[str, Any] | None = None, **settings: Any) -> Any:
    """Create an environment of competing flows, each with its own agent, for PettingZoo's parallel API.

    Every flow of the experiment that runs the stack in ``stacks`` has an agent. The arguments are those of
    :class:`PathEnv`.

    >>> paths = ParallelPaths(flows=[{"count": 2}], duration="1s")
    >>> observations, infos = paths.reset(seed=1)
    >>> sorted(observations) == paths.agents
    True

    Raises:
        ImportError: if PettingZoo is not installed (``pip install 'dupack[gym]'``).
    """
    from ._parallel import ParallelPathsEnv

    return ParallelPathsEnv(experiment, **settings)


def register() -> None:
    """Register ``dupack/Path-v0`` with Gymnasium. Importing this module calls this function."""
    if "dupack/Path-v0" not in gymnasium.registry:
        gymnasium.register(
            id="dupack/Path-v0",
            entry_point="dupack.gym:PathEnv",
            vector_entry_point="dupack.gym:PathVectorEnv",
        )


register()

