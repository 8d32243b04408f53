"""Raw bytes through files, standard input and output, and sockets."""

import os
import signal
import socket
import struct
import subprocess
import threading

import numpy as np
import pytest
from PIL import Image

from command_line import ROOT, command
from component_parts import application, component, refused, run, stream

cv2 = pytest.importorskip("cv2")
data = pytest.importorskip("skimage.data")


def edges_of(frames: np.ndarray) -> np.ndarray:
    out = []
    for frame in frames:
        grey = np.asarray(Image.fromarray(frame).convert("L")).astype(np.float32)
        out.append(np.minimum(np.rint(np.hypot(cv2.Sobel(grey, -1, 1, 0, borderType=cv2.BORDER_REPLICATE), cv2.Sobel(grey, -1, 0, 1, borderType=cv2.BORDER_REPLICATE)) / 4), 255))
    return np.stack(out)


SIZE = ["--set", "rows=48", "--set", "columns=64"]


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    return np.stack([data.astronaut()[i : i + 48, i : i + 64] for i in range(0, 200, 10)])


def test_frames_go_through_standard_input_and_output(frames):
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", "input=-", "--set", "output=-", *SIZE), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = program.communicate(frames.tobytes(), 60)
    assert program.returncode == 0
    assert np.abs(np.frombuffer(output, np.uint8).reshape(len(frames), 48, 64) - edges_of(frames)).max() <= 1


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_frames_go_through_sockets(tmp_path, frames, kind):
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    addresses = ("tcp-listen:localhost:%d" % port, tmp_path / "out") if kind == "tcp" else (f"unix-listen:{tmp_path}/in.sock", tmp_path / "out")
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", f"input={addresses[0]}", "--set", f"output={addresses[1]}", *SIZE), stderr=subprocess.PIPE)
    for _ in range(200):
        try:
            sender = socket.create_connection(("localhost", port)) if kind == "tcp" else socket.socket(socket.AF_UNIX)
            if kind == "unix":
                sender.connect(str(tmp_path / "in.sock"))
            break
        except OSError:
            threading.Event().wait(0.05)
    with sender:
        sender.sendall(frames.tobytes())
    assert program.wait(60) == 0, program.stderr.read()
    assert np.abs(np.fromfile(tmp_path / "out", np.uint8).reshape(len(frames), 48, 64) - edges_of(frames)).max() <= 1
    assert not (tmp_path / "in.sock").exists()


def test_a_sender_that_closes_within_a_frame_is_named(tmp_path, frames):
    program = subprocess.run(
        command("run", ROOT / "examples" / "live-edges.xml", "--set", "input=-", "--set", f"output={tmp_path}/out", *SIZE), input=frames.tobytes()[:-7], capture_output=True, timeout=60, check=False
    )
    assert program.returncode != 0
    assert b"9209 came" in program.stderr and b"close within" in program.stderr
    assert not any(tmp_path.iterdir())


def big_input(tmp_path) -> str:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bytes").write_bytes(bytes(3_000_000))
    return component("read", "read-bytes", **{"from": tmp_path / "in" / "bytes"})


def test_a_receiver_that_closes_is_named(tmp_path):
    with socket.create_server(("localhost", 0)) as server:
        address = f"tcp:localhost:{server.getsockname()[1]}"

        def take_a_few():
            connection, _ = server.accept()
            connection.recv(10)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        receiver = threading.Thread(target=take_a_few)
        receiver.start()
        message = refused(big_input(tmp_path), component("write", "write-bytes", to=address), stream("read.bytes", "write.bytes"))
        receiver.join()
    assert f"'{address}' takes no more bytes" in message


def test_a_pipe_that_nobody_reads_any_more_is_named(tmp_path):
    (tmp_path / "a.xml").write_text(application(big_input(tmp_path), component("write", "write-bytes", to="-"), stream("read.bytes", "write.bytes")))
    program = subprocess.Popen(command("run", tmp_path / "a.xml"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.read(10)
    program.stdout.close()
    assert program.wait(60) not in (0, -signal.SIGPIPE)
    assert b"'-' takes no more bytes" in program.stderr.read()


def test_a_pipe_with_a_name_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    run(big_input(tmp_path), component("write", "write-bytes", to=tmp_path / "pipe"), stream("read.bytes", "write.bytes"))
    reader.join()
    assert got == [bytes(3_000_000)] and (tmp_path / "pipe").is_fifo()
    np.save(tmp_path / "in.npy", np.zeros((2, 3), np.float32))
    message = refused(
        component("read", "read-array:float32", path=tmp_path / "in.npy"), component("write", "write-array:float32", path=tmp_path / "pipe"), stream("read.items", "write.items")
    )
    assert f"{tmp_path}/pipe' is a device, a pipe or a socket" in message


def test_a_writer_to_whom_nobody_connects_gives_up(tmp_path):
    address = f"unix-listen:{tmp_path}/nobody"
    message = refused(big_input(tmp_path), component("write", "write-bytes", to=address, patience=0.2), stream("read.bytes", "write.bytes"))
    assert f"nobody has connected to '{address}'" in message and "`patience`" in message
    assert not (tmp_path / "nobody").exists()


def test_a_run_that_waits_for_a_socket_ends_when_it_is_interrupted(tmp_path):
    program = subprocess.Popen(command("run", ROOT / "examples" / "live-edges.xml", "--set", f"input=unix-listen:{tmp_path}/in", "--set", f"output={tmp_path}/out"), stderr=subprocess.PIPE)
    for _ in range(200):
        if (tmp_path / "in").exists():
            break
        threading.Event().wait(0.05)
    program.send_signal(signal.SIGINT)
    assert program.wait(30) == 130
