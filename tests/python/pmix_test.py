"""Programs of Python that mpirun starts: the first process makes the cluster, and the others are its nodes."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import penstock as ps
import pytest

PROGRAM = """
import numpy as np, os, sys
import penstock as ps
{begin}

@ps.filter(inputs="int64", outputs="int64", may_be_copied=True)
def rank(x):
    return np.array([int(os.environ["PMIX_RANK"])])

graph = ps.Graph()
writer = graph.add_writer("writer", "int64")
node = graph.add("rank", rank, copies=2, nodes="workers")
reader = graph.add_reader("reader", "int64")
graph.connect(writer, node, policy="round_robin")
graph.connect(node, reader)
with ps.Cluster("pmix", listen="tcp:127.0.0.1:0", targets=1, workers=2) as cluster, graph.start(cluster) as run:
    for n in range(10):
        writer.write(np.array([n]))
    writer.close()
    print(sorted({{int(x[0]) for x in reader}}))
    run.finish()
"""


def there(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


needs_mpirun = pytest.mark.skipif(
    shutil.which("mpirun") is None or not there("libpmix.so.2"), reason="mpirun (Open MPI) and libpmix.so.2 are needed, and are not here"
)


def job(*words: str) -> subprocess.CompletedProcess[str]:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", *words]
    return subprocess.run(command, env=os.environ | allowed, capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)


@needs_mpirun
def test_a_script_under_mpirun_needs_one_line(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM.format(begin="ps.become_agent()"))
    done = job("-n", "3", sys.executable, str(tmp_path / "program.py"))
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr


@needs_mpirun
def test_agents_of_the_command_line_need_none(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM.format(begin=""))
    agent = [sys.executable, "-m", "penstock.cli", "agent", "--pmix"]
    done = job("-n", "1", sys.executable, str(tmp_path / "program.py"), ":", "-n", "2", *agent)
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr


RANKS = """
import numpy as np, os
import penstock as ps
ps.become_agent()

def to_the_right(me):
    inbox, ready = ps.Region(me, "inbox", 1, "int64"), ps.Flag(me, "ready")
    left, right = (me.index - 1) % me.size, (me.index + 1) % me.size
    inbox.grant(left)
    ready.grant(left)
    remote, flag = ps.Remote.accept(me, right, "inbox"), ps.RemoteFlag.accept(me, right, "ready")
    remote[:] = np.array([me.index])
    remote.publish(flag)
    ready.wait()
    return int(inbox.array[0]), int(os.environ["PMIX_RANK"])

with ps.Cluster("pmix", listen="tcp:127.0.0.1:0", targets=1, workers=2) as cluster:
    print(ps.spmd(4, to_the_right, cluster=cluster))
"""


@needs_mpirun
def test_ranks_run_in_the_processes_of_a_job(tmp_path: Path):
    (tmp_path / "program.py").write_text(RANKS)
    done = job("-n", "3", sys.executable, str(tmp_path / "program.py"))
    assert (done.returncode, done.stdout) == (0, "[(3, 1), (0, 1), (1, 2), (2, 2)]\n"), done.stderr


@needs_mpirun
def test_a_job_of_another_size_is_told_what_is_needed(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM.format(begin="ps.become_agent()"))
    done = job("-n", "2", sys.executable, str(tmp_path / "program.py"))
    assert done.returncode != 0
    assert "needs a job of 3 processes, and this one has 2" in done.stderr


@needs_mpirun
def test_a_script_that_makes_no_cluster_ends_as_usual():
    done = job("-n", "3", sys.executable, "-c", "import penstock as ps; ps.become_agent(); print('no cluster')")
    assert (done.returncode, done.stdout) == (0, "no cluster\n"), done.stderr


def test_outside_a_job_nothing_becomes_an_agent_and_the_engine_is_refused():
    ps.become_agent()
    with pytest.raises(ps.UsageError, match="'hand'"):
        ps.become_agent("hand")
    if there("libpmix.so.2"):
        with pytest.raises(ps.UsageError, match="mpirun -n N"):
            ps.Cluster("pmix", workers=1)
    done = subprocess.run([sys.executable, "-m", "penstock.cli", "agent", "--pmix"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode != 0
    assert "--pmix is for processes of" in done.stderr + done.stdout


def test_pmix_that_is_not_there_is_named_when_it_is_asked_for(tmp_path: Path):
    (tmp_path / "libpmix.so.2").write_text("this is no library " * 100)
    program = "import penstock as ps\ntry:\n    ps.Cluster('pmix', workers=1)\nexcept ps.PmixMissing as missing:\n    print(missing)\n"
    as_in_a_job = {"PMIX_RANK": "0", "PMIX_NAMESPACE": "none", "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | as_in_a_job, capture_output=True, text=True, timeout=100, check=True)
    assert "apt install libpmix2" in done.stdout
