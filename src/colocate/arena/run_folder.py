"""Finds the programs that a run of some framework left in a folder, in the order of their making.

The folder is not trusted: links out of it, pipes, endless or half-written files cost one note each.
Pickled states are never read, since reading one runs what is in it.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple, TypeAlias

from colocate.arena.source.program_text import MOST_CHARACTERS, checked_source, read_program
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line

LAYOUTS = (
    "gen_*/main.py (ShinkaEvolve), programs/*.json or best_program.py (OpenEvolve, SkyDiscover), "
    "candidates.json (GEPA), best_sol.py (CodeEvolve)"
)
"""Where frameworks keep their programs."""
DEEPEST = 8
"""Folders within folders: run, search, date, checkpoints, one of them, programs, and two more."""
MOST_FILES = 200_000
"""Files looked at. A run of 1,000 programs that is saved every 10 has 50,000."""
MOST_PROGRAMS = 20_000
"""Programs taken from a folder: more than any published run has."""
MOST_BYTES = 20_000_000
"""Of a file with programs in it. With the prompts that led to it, a program has some 100,000."""
LARGEST = 10**15
"""Numbers and times beyond it are mistakes: seconds since 1970 have ten digits."""
ID_LETTERS = 8
"""Of a program's name in a database: as many as tell those of a run apart."""


@dataclass(frozen=True)
class FoundProgram:
    """A program of a run; those with the same text are one."""

    name: str
    source: str
    file: str
    """Where it is, seen from the folder."""
    claimed: float | None = None
    """The fitness that the run itself gave it, if it says so."""
    best: bool = False
    """Whether the run calls it its best."""
    also: tuple[str, ...] = ()
    """Other files with the same text."""

    @property
    def own_name(self) -> str:
        """What tracebacks call it: its file, if that holds nothing else."""
        return self.file if self.file.endswith(".py") else self.name


class _Place(NamedTuple):
    """What decides the order: copies come last; then the run, the number in it, and the time."""

    copied: bool
    run: str
    number: float
    time: float
    file: str


_Read: TypeAlias = Iterator[tuple[_Place, FoundProgram]]


def read_run(
    folder: Path,
    entry_point: str = "compute_model_placement",
    others: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[FoundProgram], list[InputError]]:
    """Return the programs of a run, first made first, and why others could not be read.

    Without any layout of a framework, the Python files in the folder are its programs.

    Parameters
    ----------
    folder
        Of one run, or of several, such as those of different dates.
    entry_point
        The function that a Python file must name to be a program.
    others
        Functions that programs of known tasks define, each with the names of those tasks.
    """
    found: list[tuple[_Place, FoundProgram]] = []
    faults: list[InputError] = []
    for number, path in enumerate(_files(folder, faults)):
        if number >= MOST_FILES or len(found) >= MOST_PROGRAMS:
            most = f"at most {MOST_FILES} files and {MOST_PROGRAMS} programs"
            faults.append(InputError(Fault("holds too much to see all", most, file=str(folder))))
            break
        if reader := _reader(path):
            _gather(reader, path, folder, found, faults)
    without_layout = not found and not faults
    if without_layout:
        for path in sorted(folder.glob("*.py")):
            _gather(_plain_file, path, folder, found, faults)
    named = [pair for pair in found if entry_point in pair[1].source]
    advice = "" if named else _other_task((program.source for _, program in found), others or {})
    if advice or (without_layout and not named and not faults):
        expected = f"the folder of a run: {LAYOUTS}; or programs that define {entry_point}"
        raise InputError(Fault("holds no program", expected, advice, file=str(folder)))
    if without_layout:
        found = named
    found.sort(key=lambda pair: pair[0])
    return _without_repeats(program for _, program in found), faults


def _other_task(sources: Iterable[str], others: Mapping[str, Sequence[str]]) -> str:
    """Return how to judge programs of another task, nothing if they are of none that is known."""
    for source in sources:
        for function, tasks in others.items():
            if f"def {function}(" in source:
                return f"those here define {function}: give --suite {_any_of(tasks)}"
    return ""


def _any_of(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _gather(
    reader: Callable[[Path, Path], _Read],
    path: Path,
    folder: Path,
    found: list[tuple[_Place, FoundProgram]],
    faults: list[InputError],
) -> None:
    """Add the programs of a file to those found, or the reason why there are none."""
    try:
        _check(path, folder)
        found.extend(islice(reader(path, folder), MOST_PROGRAMS - len(found)))
    except InputError as error:
        faults.append(error)


def _files(folder: Path, faults: list[InputError]) -> Iterator[Path]:
    """Yield all files below a folder, without following links to folders."""

    def closed(error: OSError) -> None:
        faults.append(InputError(Fault(f"cannot be read: {error}", file=str(error.filename))))

    for place, folders, names in os.walk(folder, onerror=closed):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < DEEPEST else []
        yield from (Path(place, name) for name in sorted(names))


def _reader(path: Path) -> Callable[[Path, Path], _Read] | None:
    """Return what reads a file, None if it is none with programs in it."""
    home = path.parent.name
    if path.name == "main.py" and home.startswith("gen_"):
        return _generation
    if (path.name == "main.py" and home == "best") or path.name in (
        "best_program.py",
        "best_sol.py",
    ):
        return _best
    if path.suffix == ".json" and home == "programs":
        return _record
    return _candidates if path.name == "candidates.json" else None


def _generation(path: Path, folder: Path) -> _Read:
    """Read `gen_7/main.py`, with the fitness in `gen_7/results/metrics.json`."""
    number = path.parent.name.removeprefix("gen_")
    place = _place(path, path.parents[1], int(number) if number.isdecimal() else 0)
    name = _name(path.parent, folder)
    claimed = _claimed_beside(path, folder)
    yield place, FoundProgram(name, read_program(path), _name(path, folder), claimed)


def _best(path: Path, folder: Path) -> _Read:
    """Read what a run copied as its best, at its end or at a checkpoint."""
    name = _name(path, folder)
    place = _place(path, folder)._replace(copied=True)
    last = not path.parent.name.startswith("checkpoint_")
    yield place, FoundProgram(name, read_program(path), name, _claimed_beside(path, folder), last)


def _record(path: Path, folder: Path) -> _Read:
    """Read a program of a database: `code` of OpenEvolve, `solution` of SkyDiscover."""
    data = _json(path)
    source = data.get("code", data.get("solution")) if isinstance(data, dict) else None
    if not isinstance(source, str):
        raise InputError(Fault("holds no program", "one in code or solution", file=str(path)))
    number = _number(data.get("iteration_found")) or 0.0
    home = path.absolute().parent.parent
    run = home.parent.parent if home.parent.name == "checkpoints" else home
    place = _place(path, run, number, _number(data.get("timestamp")))
    name = f"iteration_{number:.0f}/{one_line(path.stem, ID_LETTERS + 1).rstrip('…')}"
    if run != folder.absolute() and run.is_relative_to(folder.absolute()):
        name = f"{_name(run, folder.absolute())}/{name}"
    claimed = _combined_score(data.get("metrics"))
    yield (
        place,
        FoundProgram(name, checked_source(source, str(path)), _name(path, folder), claimed),
    )


def _candidates(path: Path, folder: Path) -> _Read:
    """Read all candidates of GEPA: texts by the names of what they are, here one of them."""
    data = _json(path)
    if not isinstance(data, list):
        raise InputError(Fault("holds no list", "the candidates of a run", file=str(path)))
    home = "" if path.parent == folder else f"{_name(path.parent, folder)}/"
    file, strange = _name(path, folder), 0
    for number, candidate in enumerate(data):
        texts = list(candidate.values()) if isinstance(candidate, dict) else [candidate]
        if len(texts) == 1 and isinstance(texts[0], str) and len(texts[0]) <= MOST_CHARACTERS:
            place = _place(path, path.parent, number)
            yield place, FoundProgram(f"{home}candidate_{number}", texts[0], file)
        else:
            strange += 1
    if strange:
        found = f"holds {strange} candidates that are no program"
        raise InputError(Fault(found, "one text each", file=str(path)))


def _plain_file(path: Path, folder: Path) -> _Read:
    name = _name(path, folder)
    yield _place(path, folder), FoundProgram(name, read_program(path), name)


def _check(path: Path, folder: Path) -> None:
    """Refuse what is no plain file, or leads out of the folder."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
        plain = S_ISREG(path.stat().st_mode)
    except (OSError, RuntimeError) as error:
        raise InputError(Fault(f"cannot be read: {error}", file=str(path))) from error
    if not plain:
        raise InputError(Fault("is no plain file", "a program", file=str(path)))
    if not inside:
        raise InputError(Fault("leads out of the folder", "a file in it", file=str(path)))


def _json(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise InputError(Fault("is too long", f"at most {MOST_BYTES} bytes", file=str(path)))
        return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        found = f"cannot be read as JSON, is it half-written? {one_line(str(error))}"
        raise InputError(Fault(found, file=str(path))) from error


def _claimed_beside(path: Path, folder: Path) -> float | None:
    """Return the fitness in the metrics beside a program, if there are any."""
    metrics = path.parent / "results" / "metrics.json"
    try:
        _check(metrics, folder)
        return _combined_score(_json(metrics))
    except InputError:
        return None


def _combined_score(metrics: object) -> float | None:
    return _number(metrics.get("combined_score")) if isinstance(metrics, dict) else None


def _number(value: object) -> float | None:
    """Return a number from a file as one to sort by, None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= LARGEST else None


def _place(path: Path, run: Path, number: float = 0, time: float | None = None) -> _Place:
    made = path.stat().st_mtime if time is None else time
    return _Place(False, str(run.absolute()), number, made, str(path))


def _name(path: Path, folder: Path) -> str:
    """Return a path as seen from the folder, in letters that can be shown."""
    shown = path.absolute().name if path == folder else path.relative_to(folder).as_posix()
    return one_line(shown, 2 * LONGEST_NAME)


def _without_repeats(programs: Iterator[FoundProgram]) -> list[FoundProgram]:
    """Join programs with the same text: the first gives its name, any the rest."""
    kept: dict[str, FoundProgram] = {}
    for program in programs:
        first = kept.get(program.source)
        if first is None:
            kept[program.source] = program
            continue
        kept[program.source] = replace(
            first,
            claimed=program.claimed if first.claimed is None else first.claimed,
            best=first.best or program.best,
            also=(*first.also, program.file),
        )
    return list(kept.values())
