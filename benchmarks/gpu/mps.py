"""NVIDIA MPS: a daemon of its own, in a folder of its own."""

import os
import subprocess
import tempfile
from pathlib import Path
from shutil import rmtree

CONTROL = "nvidia-cuda-mps-control"
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
PATIENCE = 30
"""Seconds for the daemon to answer."""


class Daemon:
    """Starts with the block and quits after it; clients must have left by then."""

    def __enter__(self) -> "Daemon":
        self._folder = Path(tempfile.mkdtemp(prefix="mps-"))
        for variable, name in ((PIPES, "pipe"), (LOGS, "log")):
            (self._folder / name).mkdir()
            os.environ[variable] = str(self._folder / name)
        try:
            self._run([CONTROL, "-d"], "")
        except Exception:
            self._forget()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            self._run([CONTROL], "quit\n")
        except (OSError, subprocess.SubprocessError) as error:
            print(f"MPS did not quit: {error}", flush=True)
        self._forget()

    def servers(self) -> str:
        """Name the processes of the servers, which are there as soon as a client is."""
        try:
            return self._run([CONTROL], "get_server_list\n").strip()
        except (OSError, subprocess.SubprocessError) as error:
            return f"unknown: {error}"

    def log(self) -> str:
        """Return the end of what the daemon wrote."""
        files = sorted((self._folder / "log").glob("*.log"))
        return "\n".join(file.read_text(errors="replace")[-1500:] for file in files)

    def _run(self, command: list[str], text: str) -> str:
        with tempfile.TemporaryFile("w+") as output:  # the daemon would keep a pipe open
            subprocess.run(
                command,
                input=text,
                text=True,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=True,
            )
            output.seek(0)
            return output.read()

    def _forget(self) -> None:
        for variable in (PIPES, LOGS):
            os.environ.pop(variable, None)
        rmtree(self._folder, ignore_errors=True)
