"""Environment of competing flows for PettingZoo's parallel API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from ._catalog import Catalog
from .experiment import Experiment
from .gym import Floats, _Settings, _Vector


class ParallelPathsEnv(ParallelEnv[str, Floats, Floats]):
    """Environment that :func:`dupack.gym.ParallelPaths` creates."""

    metadata: dict[str, Any] = {"name": "dupack/Paths-v0", "render_modes": []}

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
        self._vector.native.fingerprint(fingerprint)
        self.render_mode = render_mode
        self.possible_agents = list(self._vector.agents)
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._vector.observation_space for agent in self.possible_agents}
        self.action_spaces = {agent: self._vector.action_space for agent in self.possible_agents}

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Floats]:
        """Return the observation space of ``agent``."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Floats]:
        """Return the action space of ``agent``."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, dict[str, Any]]]:
        """Begin an episode, as in :meth:`dupack.gym.PathEnv.reset`.

        Options without a dot in their name are ignored, because PettingZoo's own test passes such an option.
        """
        fixed = {key: value for key, value in (options or {}).items() if "." in key}
        observations = self._vector.reset(seeds=None if seed is None else [seed], fixed=fixed)
        self.agents = list(self.possible_agents)
        return self._by_agent(observations), self._infos()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Floats], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Apply the actions of the remaining agents, and advance by one step."""
        neutral = np.clip(np.zeros(1, np.float32), self._vector.action_space.low, self._vector.action_space.high)
        given = [np.asarray(actions.get(agent, neutral), np.float32).reshape(-1) for agent in self.possible_agents]
        observations, rewards, terminated, truncated = self._vector.step(np.concatenate(given))
        told = self._infos()
        acting = self.agents
        place = {agent: n for n, agent in enumerate(self.possible_agents)}
        found = self._by_agent(observations)
        self.agents = [agent for agent in acting if not (terminated[place[agent]] or truncated[place[agent]])]
        return (
            {agent: found[agent] for agent in acting},
            {agent: float(rewards[place[agent]]) for agent in acting},
            {agent: bool(terminated[place[agent]]) for agent in acting},
            {agent: bool(truncated[place[agent]]) for agent in acting},
            {agent: told[agent] for agent in acting},
        )

    def _by_agent(self, observations: Floats) -> dict[str, Floats]:
        rows = observations.reshape(len(self.possible_agents), -1)
        return {agent: rows[n].copy() for n, agent in enumerate(self.possible_agents)}

    def _infos(self) -> dict[str, dict[str, Any]]:
        info = self._vector.info()
        own = info.pop("agents", [{}] * len(self.possible_agents))
        return {agent: {**info, **own[n]} for n, agent in enumerate(self.possible_agents)}
