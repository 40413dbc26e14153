"""Thousands of envs in one process, stepped together or as they finish."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from execgym.envs.errors import EnvError
from execgym.envs.spaces import Unicode
from execgym.sandbox import run_sync
from execgym.vector.arguments import (
    check_actions,
    check_count,
    check_ids,
    check_length,
    check_seeds,
    spread_seeds,
    take_mask,
)
from execgym.vector.batch import Batch, Statistics
from execgym.vector.errors import (
    EnvInFlightError,
    EpisodeOverError,
    InvalidRequestError,
    NothingInFlightError,
    VectorEnvClosedError,
)
from execgym.vector.flights import Flights, close_hosts
from execgym.vector.hosted_env import CLOSE_SECONDS, HostedEnv, Outcome, Request, RequestKind
from execgym.vector.infos import merge_infos
from execgym.vector.run_slots import RunSlots
from execgym.vector.threads import DaemonThreads

_BoolArray = npt.NDArray[np.bool_]
_StepResult = tuple[Any, npt.NDArray[np.float64], _BoolArray, _BoolArray, dict[str, Any]]


class AsyncVectorEnv(VectorEnv[Any, Any, npt.NDArray[Any]]):
    """A vector env whose envs all run on the process's one event loop.

    It has two faces over the same envs:

    - `reset` and `step`, Gymnasium's: all envs in lockstep, in any of the three autoreset modes.
    - `send`, `send_reset` and `recv`, after EnvPool: each env goes at its own pace, and a batch
      is whichever envs have finished. Nothing is reset but by `send_reset`.

    Envs with async methods (every `execgym.envs.ExecEnv`) cost no thread and, until a tool needs
    its sandbox, no process. Other envs run in a few threads.

    An env that fails never takes the others with it. Its episode is truncated with
    `info["reward_valid"] = False` and `info["error"] = {"type", "message"}`, and the env is made
    anew before its next reset. Only when no sandbox can run here at all (`SandboxUnavailableError`,
    `TemplateError`), or when every env that was to be reset failed, is that raised.

    Methods must be called from one thread at a time, and never on the shared event loop itself.
    They work inside a notebook.

    Args:
        env_fns: Makers of the envs. All envs must have equal spaces.
        autoreset_mode: How `step` begins a new episode; see `gymnasium.vector.AutoresetMode`.
        run_slots: How many envs may execute at once, or None for four for each core.

    Raises:
        InvalidRequestError: There are no envs, or their spaces differ.

    Example:
        >>> import gymnasium, execgym
        >>> envs = gymnasium.make_vec("execgym/SQL-v0", num_envs=1000, level=1)
        >>> envs.send_reset(range(1000), seeds=range(1000))
        >>> batch = envs.recv(min_envs=250)
        >>> 250 <= len(batch) <= 1000
        True
        >>> envs.close()
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gymnasium.Env[Any, Any]]],
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        run_slots: int | None = None,
    ) -> None:
        super().__init__()
        # Set first, so that a constructor that fails leaves nothing for close to stumble over.
        self.closed = True
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if not env_fns:
            raise InvalidRequestError("a vector env needs at least one env_fn")
        slots = RunSlots(run_slots)
        threads = DaemonThreads(slots.count)
        self._hosts: list[HostedEnv] = []
        try:
            for index, env_fn in enumerate(env_fns):
                self._hosts.append(HostedEnv(index, env_fn, threads))
                self._check_spaces(self._hosts[-1])
        except BaseException:
            run_sync(close_hosts(self._hosts, set(), CLOSE_SECONDS))
            threads.close()
            raise
        self.num_envs = len(self._hosts)
        first = self._hosts[0].env
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._flights = Flights(self._hosts, slots, threads, self._placeholder)
        self._observations: list[Any] = [None] * self.num_envs
        self.closed = False

    # ---- Gymnasium's face ---------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode in every env, or in those of a mask.

        Without a mask it first waits for whatever is in flight and drops it, so it is the way back
        to a known state after an interrupted call.

        Args:
            seed: An int gives env i the seed `seed + i`; a sequence gives each env its own.
            options: Goes to every env, but for `reset_mask`, a bool array[num_envs] that picks
                the envs. The other envs repeat their last observation and add nothing to the
                infos. The dictionary is left as it is.

        Returns:
            The observations, batched as `observation_space` says, and the merged infos.

        Raises:
            EnvError: The options or seeds are refused by an env.
            InvalidRequestError: The mask or the number of seeds is wrong.
        """
        self._check_open()
        seeds = spread_seeds(seed, self.num_envs)
        own_options = None if options is None else dict(options)
        mask = take_mask(own_options, self.num_envs)
        if mask is None:
            self._flights.drop()
        self._check_idle()
        chosen = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        never_reset = [
            index
            for index, observation in enumerate(self._observations)
            if observation is None and mask is not None and not mask[index]
        ]
        if never_reset:
            raise EpisodeOverError(
                f"env {never_reset[0]} has no observation to repeat: reset all envs before using "
                "reset_mask"
            )
        self._check_options(chosen, own_options)
        outcomes = self._run_together(
            [
                Request(
                    env_id=index, kind=RequestKind.RESET, seed=seeds[index], options=own_options
                )
                for index in chosen
            ]
        )
        self._raise_from_reset(outcomes)
        for outcome in outcomes:
            self._observations[outcome.env_id] = outcome.observation
        infos = merge_infos(((each.env_id, each.info) for each in outcomes), self.num_envs)
        return self._batched(self._observations), infos

    def step(self, actions: Any) -> _StepResult:
        """Step every env, and begin new episodes as `autoreset_mode` says.

        An interrupt leaves the requests in flight: `recv` their results, or `reset`.

        Args:
            actions: As `action_space` says; for text, a sequence of num_envs strings.

        Returns:
            Observations, rewards float64[num_envs], terminations bool[num_envs], truncations
            bool[num_envs] and merged infos. All arrays are new. In SAME_STEP mode the infos have
            `final_obs` and `final_info` where an episode has ended.

        Raises:
            EpisodeOverError: DISABLED mode, and an env has no running episode.
        """
        self._check_open()
        self._check_idle()
        each = self._actions(actions)
        requests = [self._lockstep_request(index, action) for index, action in enumerate(each)]
        outcomes = self._run_together(requests)
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        infos: list[tuple[int, Mapping[str, Any]]] = []
        for outcome in outcomes:
            index = outcome.env_id
            self._observations[index] = outcome.observation
            infos.append((index, outcome.info))
            if outcome.kind is not RequestKind.RESET:
                rewards[index] = outcome.reward
                terminations[index] = outcome.terminated
                truncations[index] = outcome.truncated
            if outcome.final is not None:
                observation, info = outcome.final
                infos.append((index, {"final_obs": observation, "final_info": info}))
        merged = merge_infos(infos, self.num_envs)
        return self._batched(self._observations), rewards, terminations, truncations, merged

    def render(self) -> tuple[Any, ...]:
        """Return what each env renders."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each env, called with the arguments where it can be called.

        Async methods are awaited, one env after the other.

        Raises:
            EnvInFlightError: An env is working.
            AttributeError: An env has no such attribute.
        """
        self._check_open()
        self._check_idle()
        results = []
        for host in self._hosts:
            value = host.env.get_wrapper_attr(name)
            if callable(value):
                value = value(*args, **kwargs)
                if inspect.iscoroutine(value):
                    value = run_sync(value)
            results.append(value)
        return tuple(results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each env; see `call`."""
        return self.call(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of each env.

        Args:
            name: The attribute.
            values: A list or tuple of one value an env, or one value for all.

        Raises:
            EnvInFlightError: An env is working.
            InvalidRequestError: The number of values is wrong.
        """
        self._check_open()
        self._check_idle()
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        check_length("values", values, self.num_envs)
        for host, value in zip(self._hosts, values, strict=True):
            host.env.set_wrapper_attr(name, value)

    @property  # type: ignore[override]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generator of each env."""
        return self.get_attr("np_random")

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        raise AttributeError("each env has a generator of its own: use set_attr")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each env's generator."""
        return self.get_attr("np_random_seed")

    def close_extras(self, *, timeout: float = CLOSE_SECONDS) -> None:
        """Cancel what is in flight and close every env. `close` calls it once.

        Args:
            timeout: Seconds after which envs that are not closed yet are left to themselves.
        """
        self._flights.close(timeout)
        self.closed = True

    def __del__(self) -> None:
        # The garbage collector may run this on the event loop's own thread, so nothing waits here.
        if not self.closed:
            self._flights.close_later(CLOSE_SECONDS)

    # ---- EnvPool's face -----------------------------------------------------------------------

    def send(self, actions: Sequence[Any], env_ids: Sequence[int] | npt.NDArray[Any]) -> None:
        """Give actions to some envs and return at once.

        All arguments are checked before anything is sent.

        Args:
            actions: One action an env.
            env_ids: As many envs, none twice.

        Raises:
            EnvInFlightError: One of them has not answered an earlier request, or its answer has
                not been received.
            EpisodeOverError: One of them has no running episode: `send_reset` it.
            InvalidRequestError: The ids or the lengths are wrong.
            TypeError: The envs take text and an action is no `str`.
        """
        self._check_open()
        ids = check_ids(env_ids, self.num_envs)
        check_actions(actions, ids, self.single_action_space)
        for index in ids:
            self._check_not_in_flight(index)
            if self._hosts[index].over:
                raise EpisodeOverError(
                    f"env {index} has no running episode: call send_reset([{index}]) first"
                )
        self._flights.send(
            [
                Request(env_id=index, kind=RequestKind.STEP, action=action)
                for index, action in zip(ids, actions, strict=True)
            ]
        )

    def send_reset(
        self,
        env_ids: Sequence[int] | npt.NDArray[Any],
        *,
        seeds: Sequence[int | None] | None = None,
        options: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Ask some envs for a new episode and return at once.

        All arguments are checked before anything is sent, as far as that is possible without
        making the tasks. What an env refuses later comes back as its `info["error"]`.

        Args:
            env_ids: The envs, none twice.
            seeds: One seed an env, or None for no new seeds.
            options: One dictionary an env, or one for all.

        Raises:
            EnvInFlightError: One of them has not answered an earlier request.
            EnvError: The options are not allowed.
            InvalidRequestError: The ids or the lengths are wrong.
        """
        self._check_open()
        ids = check_ids(env_ids, self.num_envs)
        check_length("seeds", [None] * len(ids) if seeds is None else seeds, len(ids))
        each_seed = check_seeds([None] * len(ids) if seeds is None else seeds)
        each_options: Sequence[Mapping[str, Any] | None]
        if options is None or isinstance(options, Mapping):
            each_options = [options] * len(ids)
        else:
            each_options = options
        check_length("options", each_options, len(ids))
        for index, own_options in zip(ids, each_options, strict=True):
            self._check_not_in_flight(index)
            self._check_options([index], own_options)
        self._flights.send(
            [
                Request(env_id=index, kind=RequestKind.RESET, seed=seed, options=own_options)
                for index, seed, own_options in zip(ids, each_seed, each_options, strict=True)
            ]
        )

    def recv(
        self, min_envs: int = 1, max_envs: int | None = None, timeout: float | None = None
    ) -> Batch:
        """Return the results of envs that have finished, waiting until there are enough.

        Args:
            min_envs: How many to wait for. Where fewer are in flight, all of those.
            max_envs: Largest number to return, or None for no limit. The rest is kept.
            timeout: Seconds to wait, or None to wait until they are there.

        Returns:
            The results in the order in which the envs finished.

        Raises:
            NothingInFlightError: There is nothing to wait for.
            TimeoutError: Not enough envs finished in time. Nothing is lost: the next `recv` has
                their results.
            SandboxUnavailableError: No sandbox can run on this machine. Raised once; the results
                are kept for the next `recv`.
        """
        self._check_open()
        check_count("min_envs", min_envs, 1, self.num_envs)
        if max_envs is not None:
            check_count("max_envs", max_envs, min_envs)
        if timeout is not None and not timeout >= 0:
            raise InvalidRequestError(f"timeout must not be negative, unlike {timeout!r}")
        outstanding = self._flights.outstanding
        if not outstanding:
            raise NothingInFlightError(
                "no env is working and no result waits: call send or send_reset before recv"
            )
        return self._flights.receive(_as_batch, min(min_envs, outstanding), max_envs, timeout)

    def statistics(self) -> Statistics:
        """Return what the envs are doing and have done. It may be called at any time."""
        return self._flights.statistics()

    # ---- lockstep -----------------------------------------------------------------------------

    def _run_together(self, requests: Sequence[Request]) -> list[Outcome]:
        """Run requests of different envs and return their outcomes by env id."""
        self._flights.send(requests)
        return self._flights.receive(
            lambda outcomes: sorted(outcomes, key=lambda outcome: outcome.env_id), len(requests)
        )

    def _lockstep_request(self, index: int, action: Any) -> Request:
        if self._hosts[index].over:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise EpisodeOverError(
                    f"env {index} has no running episode, and autoreset is disabled: call "
                    "reset(options={'reset_mask': ...}) with True for it"
                )
            if self._observations[index] is None:
                raise EpisodeOverError(f"env {index} has never been reset: call reset before step")
            return Request(env_id=index, kind=RequestKind.RESET)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            return Request(env_id=index, kind=RequestKind.STEP_AND_RESET, action=action)
        return Request(env_id=index, kind=RequestKind.STEP, action=action)

    def _batched(self, observations: Sequence[Any]) -> Any:
        space = self.single_observation_space
        if isinstance(space, Unicode):
            return tuple(observations)
        batch: Any = create_empty_array(space, n=self.num_envs)
        return concatenate(space, observations, batch)

    def _placeholder(self) -> Any:
        space = self.single_observation_space
        if isinstance(space, Unicode):
            return ""
        empty = create_empty_array(space, n=1)
        if empty is None:
            return space.sample()
        return next(iter(iterate(batch_space(space, 1), empty)))

    # ---- checks -------------------------------------------------------------------------------

    def _check_spaces(self, host: HostedEnv) -> None:
        for name in ("observation_space", "action_space"):
            expected, space = getattr(self._hosts[0].env, name), getattr(host.env, name)
            if space != expected:
                raise InvalidRequestError(
                    f"all envs need equal spaces: the {name} of env 0 is {expected}, that of env "
                    f"{host.env_id} is {space}"
                )

    def _check_open(self) -> None:
        if self.closed:
            raise VectorEnvClosedError("the vector env has been closed: make a new one")

    def _check_idle(self) -> None:
        env_id = self._flights.any_env()
        if env_id is not None:
            raise EnvInFlightError(
                f"env {env_id} {self._flights.state_of(env_id)}: recv its result first"
            )

    def _check_not_in_flight(self, index: int) -> None:
        state = self._flights.state_of(index)
        if state:
            raise EnvInFlightError(f"env {index} {state}: recv its result first")

    def _check_options(self, ids: Iterable[int], options: Mapping[str, Any] | None) -> None:
        if options is None:
            return
        if not isinstance(options, Mapping):
            raise InvalidRequestError(f"options is a dictionary an env, not {options!r}")
        # All envs of a vector env are alike, so the first of them answers for all.
        check = getattr(self._hosts[next(iter(ids))].env, "check_options", None)
        if check is not None:
            check(options)

    def _actions(self, actions: Any) -> Sequence[Any]:
        if isinstance(self.single_action_space, Unicode):
            each = actions
        else:
            each = list(iterate(self.action_space, actions))
        check_actions(each, range(self.num_envs), self.single_action_space)
        return list(each)

    def _raise_from_reset(self, outcomes: Sequence[Outcome]) -> None:
        errors = [outcome for outcome in outcomes if outcome.error is not None]
        refused = [outcome for outcome in errors if isinstance(outcome.error, EnvError)]
        culprit = refused[0] if refused else errors[0] if len(errors) == len(outcomes) else None
        if culprit is not None and culprit.error is not None:
            culprit.error.add_note(f"raised by env {culprit.env_id} of {self.num_envs}")
            raise culprit.error


def _as_batch(outcomes: Sequence[Outcome]) -> Batch:
    return Batch(
        env_ids=np.array([each.env_id for each in outcomes], dtype=np.int64),
        observations=tuple(each.observation for each in outcomes),
        rewards=np.array([each.reward for each in outcomes], dtype=np.float64),
        terminations=np.array([each.terminated for each in outcomes], dtype=np.bool_),
        truncations=np.array([each.truncated for each in outcomes], dtype=np.bool_),
        infos=tuple(each.info for each in outcomes),
        resets=np.array([each.kind is RequestKind.RESET for each in outcomes], dtype=np.bool_),
    )
