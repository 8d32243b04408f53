"""What Penstock does on an interpreter without the lock (a free-threaded build): importing the extension module switches the lock on again, and says so."""

import sys
import warnings


def lock_is_off() -> bool:
    """Does Python code run in several threads of this interpreter at once?"""
    enabled = getattr(sys, "_is_gil_enabled", None)  # from Python 3.13 on
    return enabled is not None and not enabled()


def tell_if_it_came_back(was_off: bool) -> None:
    if was_off and not lock_is_off():
        warnings.warn(
            "importing penstock has switched the interpreter's lock on again, so that threads take turns at Python code; Python bodies lose nothing by that, "
            "since they run in worker interpreters, each with a lock of its own",
            RuntimeWarning,
            stacklevel=3,
        )
