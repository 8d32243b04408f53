"""Wrong arguments are told by their names, not by a whole signature."""

import re

import numpy as np
import pytest

import penstock as ps

MISTAKES = [
    ({"target": 1}, "Machine() has no argument 'target'; did you mean 'targets'?"),
    ({"targets": "two"}, "Machine(): targets is a whole number or None, not 'two'"),
    ({"targets": 1.5}, "Machine(): targets is a whole number or None, not 1.5"),
    ({"pin": 3}, "Machine(): pin is True or False, not 3"),
    ({"time_limit": "1 s"}, "Machine(): time_limit is a number of seconds or None, not '1 s'"),
]


@pytest.mark.parametrize(("given", "said"), MISTAKES)
def test_a_wrong_argument_of_a_machine_is_named(given, said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        ps.Machine(**given)


def test_words_and_ranges_are_named_too():
    with pytest.raises(ps.UsageError, match="distribution must be one of balanced, round_robin, least_loaded, not fair"):
        ps.Machine(distribution="fair")
    with pytest.raises(ps.UsageError, match="depth must be 1 to 1024, not 0"):
        ps.Machine(depth=0)


def test_whole_numbers_of_numpy_will_do():
    with ps.Machine(targets=np.int64(1), spin=0) as machine:
        assert machine.targets == 1
