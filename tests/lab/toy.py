"""A lab without sandboxes and models: a program's fitness is the number that it contains."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from time import sleep

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.contest import Contest
from colocate.arena.repeats import Repeats
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.lab.archive import Archive
from colocate.lab.loop import Lab
from colocate.lab.messages import Answer, Request
from colocate.lab.program import Program
from colocate.lab.settings import Settings

CONTEST = Contest("toy", (), ())


def source(quality: float) -> str:
    return (
        "# EVOLVE-BLOCK-START\n"
        "def compute_model_placement(gpu_num, models):\n"
        f"    return {quality!r}\n"
        "# EVOLVE-BLOCK-END\n"
    )


def quality_of(text: str) -> float:
    return float(re.search(r"return ([0-9.e-]+)", text)[1])


def verdict(quality: float, runs: int = 1) -> Verdict:
    """A verdict with one public and one hidden case of this ratio; the optimum is 1."""
    result = CaseVerdict("toy-00", 1 / quality, 1.0, bound=1.0)
    return Verdict("toy", Tally((result,)), Tally((result,)), ("none",), runs)


class ToyEvaluation:
    """Reads the quality; counts what it judged."""

    def __init__(self, pause: float = 0.0) -> None:
        self.judged: list[tuple[float, int]] = []
        self._pause = pause

    def judge(
        self, sources: Iterable[str], contest: Contest, repeats: Repeats
    ) -> Iterator[tuple[int, Verdict]]:
        for place, source in reversed(list(enumerate(sources))):
            sleep(self._pause)
            self.judged.append((quality_of(source), repeats.runs))
            yield place, verdict(quality_of(source), repeats.runs)


class ToyProposer:
    """Moves halfway to 1 and a little further at random; every third answer is nonsense."""

    def __init__(self, pause: float = 0.0) -> None:
        self.requests: list[Request] = []
        self._pause = pause

    def propose(self, request: Request) -> Answer:
        sleep(self._pause)
        self.requests.append(request)
        if request.seed % 3 == 0 and not request.refusal:
            return Answer("I would rather not.", "toy", 10, 5, 0.01)
        quality = quality_of(request.parent.source)
        better = round(quality + (1 - quality) * (request.seed % 1000) / 2000, 6)
        text = f"<NAME>\nto {better}\n</NAME>\n<CODE>\n{source(better)}</CODE>\n"
        return Answer(text, "toy", 10, 20, 0.02)


def make(path, settings: Settings) -> Archive:
    start = Program(0, "start", "", source(0.5), verdict(0.5))
    return Archive.create(path, asdict(settings), start, CONTEST.digest)


def lab(archive: Archive, settings: Settings, proposer=None, evaluation=None, askers=1) -> Lab:
    return Lab(
        archive,
        settings,
        CONTEST,
        evaluation or ToyEvaluation(),
        proposer or ToyProposer(),
        askers,
    )


def content(archive: Archive) -> tuple[object, ...]:
    """All that a lab holds."""
    return archive.programs(), archive.attempts(), archive.reviews()
