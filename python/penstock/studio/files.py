"""The file that a studio was started with: read, checked as one types, saved, run, transformed and compiled."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from penstock import _core, visits
from penstock.applications import Application, names_of
from penstock.drawing import render
from penstock.errors import UsageError
from penstock.running import write_file

MOST_OUTPUT = 1 << 20  # characters of what a run printed


class Workbench:
    """One file, and at most one run of it. The page names no paths: it gets at this file, and through it at what the start allowed."""

    def __init__(self, path: Path, allowed: Sequence[Path], libraries: Sequence[Path]) -> None:
        self.path = path
        self._folders = names_of(allowed)
        self._allowed, self._libraries = allowed, libraries
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._printed = ""
        self.run_name = ""

    def read(self) -> str:
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""

    def save(self, text: str) -> None:
        """Raises UsageError where it cannot be written."""
        write_file(self.path, text)

    def check(self, text: str) -> dict[str, Any]:
        """Everything that is wrong with a text, each with its place; and a picture (SVG) where nothing is, and graphviz is there."""
        findings = _core.check_application(str(self.path), [], self._folders, text)
        picture = "" if any(each["kind"] == "error" for each in findings) else self._picture(text)
        return {"findings": findings, "picture": picture}

    def transform(self, text: str, passes: list[str]) -> str:
        return _core.transform_application(str(self.path), passes, [], self._folders, "", text)

    def compile(self, text: str) -> dict[str, str]:
        program, build, _ = _core.compile_application(str(self.path), [], self._folders, [], text)
        return {"program": program, "build": build}

    def start(self, settings: dict[str, str]) -> str:
        """Runs the file as it was saved, in a process of its own. The name under which the run can be found."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise UsageError("it runs already: halt it first")
            self.run_name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"studio-{os.getpid()}-{self.path.stem}")[:60]  # as a run may be called
            command = [sys.executable, "-m", "penstock.cli", "run", str(self.path.resolve()), "--name", self.run_name]
            for name, value in settings.items():
                command += ["--set", f"{name}={value}"]
            for option, paths in (("--allow", self._allowed), ("--library", self._libraries)):
                for path in paths:
                    command += [option, str(path)]
            self._printed = ""
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
            Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self.run_name

    def halt(self) -> None:
        with self._lock:
            process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def state(self) -> dict[str, Any]:
        """Whether it runs, can be looked at, and what it printed."""
        process = self._process
        status = None if process is None else process.poll()
        return {
            "run": self.run_name,
            "runs": process is not None and status is None,
            "found": self.run_name in visits.running(),
            "status": status,
            "output": self._printed,
        }

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if len(self._printed) < MOST_OUTPUT:
                self._printed += line

    def _picture(self, text: str) -> str:
        application = Application.parse(text, file=str(self.path), folders=self._folders)
        try:
            return render(application.draw(), "svg").decode()
        except UsageError:
            return ""
