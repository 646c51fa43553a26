"""All frameworks, and the way of their files into a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

from colocate.errors import OutputError
from colocate.outputs.emit.emission import EmittedFile, write_files
from colocate.outputs.evaluators import (
    codeevolve,
    gepa,
    harbor,
    openevolve,
    shinka,
    skydiscover,
    skydiscover_docker,
)
from colocate.outputs.evaluators.settings import EvaluatorSettings, Framework

FRAMEWORKS: dict[Framework, Callable[[EvaluatorSettings], tuple[EmittedFile, ...]]] = {
    Framework.SHINKA: shinka.files,
    Framework.OPENEVOLVE: openevolve.files,
    Framework.SKYDISCOVER: skydiscover.files,
    Framework.SKYDISCOVER_DOCKER: skydiscover_docker.files,
    Framework.GEPA: gepa.files,
    Framework.CODEEVOLVE: codeevolve.files,
    Framework.HARBOR: harbor.files,
}
"""What writes the files for each."""


def evaluator_files(framework: Framework, settings: EvaluatorSettings) -> tuple[EmittedFile, ...]:
    """Return what a framework needs."""
    return FRAMEWORKS[framework](settings)


def in_the_way(folder: Path, files: Sequence[EmittedFile]) -> list[Path]:
    """Return what is in a folder and would be replaced: files with other words, and links."""
    return [path for file in files if _differs(path := folder / file.name, file.text)]


def write_evaluator(folder: Path, files: Sequence[EmittedFile]) -> list[Path]:
    """Write files to a folder and its folders, which are made if needed."""
    for home in {(folder / file.name).parent for file in files}:
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{home}: cannot be made: {error.strerror}") from error
    return write_files(folder, files)


def _differs(path: Path, text: str) -> bool:
    if path.is_symlink():
        return True
    try:
        return path.read_bytes() != text.encode()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
