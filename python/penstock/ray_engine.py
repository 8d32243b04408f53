"""Agents that Ray starts: one actor a node, which starts an agent, watches it, and ends with it.

Ray owns nodes, resources and placement. Data goes over Penstock's own wires. Ray does not keep old actors out when a network heals; the cluster's
generations do.
"""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from penstock.errors import UsageError


def _end_with_parent() -> None:
    """In the child: a dead actor's agent is killed."""
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class PenstockAgent:
    """What an actor does: one agent's life. Ray shows its class, and its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:  # Ray puts it before what the actor prints, and shows it
        return self._name

    def live(self, variable: str, invitation: str) -> str:
        process = subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-m", "penstock.cli", "agent"], env=os.environ | {variable: invitation}, preexec_fn=_end_with_parent  # noqa: PLW1509
        )
        code = process.wait()
        return f"its agent ended by signal {-code}" if code < 0 else f"its agent ended with exit code {code}"


class RayEngine:
    def __init__(self, address: str, variable: str, died: Callable[[int, int, str], None]) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError("the engine 'ray://' needs Ray, which is not installed: pip install ray") from error
        self._ray, self._variable, self._died = ray, variable, died
        where = address.removeprefix("ray://")
        self._owns = not ray.is_initialized()
        if self._owns:
            ray.init(address=where or "auto", log_to_driver=False, logging_level=logging.WARNING)
        if not os.environ.get("RAY_AUTH_MODE") and not os.environ.get("RAY_USE_TLS"):
            print(
                "penstock: this Ray cluster uses neither token authentication nor TLS, so others in its network may read the cluster's secret"
                " (docs/nodes.md, Security)",
                file=sys.stderr,
            )
        self._actors: dict[tuple[int, int], Any] = {}
        self._names: dict[tuple[int, int], tuple[int, int]] = {}  # of a spare: whose agent it is now
        self._lock = threading.Lock()
        self._closing = False

    def start(self, node: dict[str, Any], invitation: str) -> None:
        needs: dict[str, Any] = {"num_cpus": node["cpus"], "max_restarts": 0, "max_concurrency": 1, "scheduling_strategy": "SPREAD"}
        if node["memory"]:
            needs["memory"] = node["memory"]
        if node["resources"]:
            needs["resources"] = dict(node["resources"])
        name = f"penstock {node['name']} {node['generation']} {os.getpid()}"
        actor: Any = self._ray.remote(PenstockAgent).options(name=name, **needs).remote(name)
        ended = actor.live.remote(self._variable, invitation)
        key = node["site"], node["generation"]
        with self._lock:
            self._actors[key] = actor
        threading.Thread(target=self._watch, args=(key, ended), daemon=True, name="penstock ray").start()

    def _watch(self, key: tuple[int, int], ended: Any) -> None:
        try:
            how = self._ray.get(ended)
        except Exception as error:  # noqa: BLE001 - whatever Ray says of an actor that is gone
            how = f"its actor is gone: {type(error).__name__}"
        with self._lock:
            self._actors.pop(key, None)
            key = self._names.get(key, key)
            if self._closing:
                return
        self._died(*key, how)

    def end(self, node: dict[str, Any]) -> None:
        with self._lock:
            key = node["site"], node["generation"]
            was = next((old for old, now in self._names.items() if now == key), key)
            actor = self._actors.get(was)
        if actor is not None:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)

    def becomes(self, spare: dict[str, Any], node: dict[str, Any]) -> None:
        with self._lock:
            self._names[spare["site"], spare["generation"]] = node["site"], node["generation"]

    def close(self) -> None:
        with self._lock:
            self._closing = True
            actors = list(self._actors.values())
        for actor in actors:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)
        if self._owns:
            self._ray.shutdown()
