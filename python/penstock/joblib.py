"""Penstock under joblib: scikit-learn and whatever else calls joblib.Parallel run on a machine's worker interpreters.

    import penstock.joblib

    penstock.joblib.register()
    with joblib.parallel_config("penstock"):
        cross_val_score(model, X, y)
"""

from collections.abc import Callable
from typing import Any

from joblib import register_parallel_backend
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, SequentialBackend
from joblib._parallel_backends import FallbackToBackend

from penstock.executor import Executor, processors


class PenstockBackend(AutoBatchingMixin, ParallelBackendBase):
    """What joblib asks for; its workers stay until the backend is let go."""

    supports_retrieve_callback = True
    supports_return_generator = True
    supports_timeout = True
    default_n_jobs = -1

    def __init__(self, machine: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self._machine = machine
        self._executor: Executor | None = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """As many as were asked for; -1: one for each processor, -2: one less, and so on."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if self._machine is not None:
            return int(self._machine.workers)
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(1, processors() + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        n_jobs = self.effective_n_jobs(n_jobs)
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        self._executor = _kept(n_jobs) if self._machine is None else self._machine.executor()
        return n_jobs

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], Any] | None = None) -> Any:
        assert self._executor is not None
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:  # noqa: FBT001, FBT002 - as the base has it
        """What has not started is cancelled."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            _forget(self._executor)
            self._executor = None
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def terminate(self) -> None:
        self._executor = None


_executors: dict[int, Executor] = {}


def _kept(n_jobs: int) -> Executor:
    """Starting interpreters takes longer than most of what they are given, so they stay for the next call."""
    if n_jobs not in _executors:
        _executors[n_jobs] = Executor(n_jobs)
    return _executors[n_jobs]


def _forget(executor: Executor) -> None:
    for n_jobs, kept in list(_executors.items()):
        if kept is executor:
            del _executors[n_jobs]


def register(*, make_default: bool = False) -> None:
    """Tells joblib of the backend "penstock"."""
    register_parallel_backend("penstock", PenstockBackend, make_default=make_default)
