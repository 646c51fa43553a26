"""A case as put to a program, and the verdict on its answer: from scratch, by names alone."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from signal import SIGKILL, SIGXCPU, Signals
from typing import Any

from colocate.arena.sandbox import LONGEST_ANSWER, Reply
from colocate.arena.verdict import CaseVerdict, Failure
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line, visible
from colocate.outputs.text.wording import listed, quoted
from colocate.problem.problem import Problem
from colocate.problem.tolerance import RECORDED_AS_PROVEN, TIE
from colocate.problem.verify import verify

MOST_NAMES = 3
"""Names that a sentence lists before it counts the rest."""
LONGEST_TRACEBACK = 4000
"""Letters kept from its end: about fifty lines."""


@dataclass(frozen=True)
class Question:
    """The data that a program receives, and the data that only the referee knows."""

    case: str
    problem: Problem
    """The problem that the program must solve."""
    optimum: float
    """The lowest pressure known."""
    bound: float
    """The proven lower bound."""
    seed: int
    """Seeds the random choices of a program that sets no seed itself."""

    @property
    def proven(self) -> bool:
        """Whether the optimum is proven to be the lowest pressure possible."""
        return self.optimum <= self.bound * (1 + RECORDED_AS_PROVEN)

    def as_data(self) -> dict[str, Any]:
        """Return the data that the program receives."""
        models = [
            (model.name, _plain(model.size_gb), _plain(model.rate), _plain(model.slo))
            for model in self.problem.models
        ]
        return {"gpu_num": len(self.problem.gpus), "models": models, "seed": self.seed}

    def failed(
        self, failure: Failure, reason: str, traceback: str = "", error: str = ""
    ) -> CaseVerdict:
        """Return the verdict on an answer that does not count.

        Parameters
        ----------
        failure
            The rule that was broken.
        reason
            What happened; the words may come from the program.
        traceback
            The program's traceback, if it raised something.
        error
            The type of the exception or the signal that ended it.
        """
        return CaseVerdict(
            self.case,
            float("inf"),
            self.optimum,
            failure=failure,
            reason=one_line(f"{failure.value}: {reason}"),
            traceback=visible(traceback[-LONGEST_TRACEBACK:]),
            error=one_line(error, LONGEST_NAME),
        )

    def judged(self, reply: Reply, limit: float) -> CaseVerdict:
        """Return the verdict on a reply, given the limit in seconds."""
        if fault := _beyond_limits(reply, limit):
            return self.failed(*fault)
        if reply.code != 0 or not reply.text:
            return self._broken_off(reply.code)
        try:
            answer = json.loads(reply.text)
        except (ValueError, RecursionError):
            return self.failed(Failure.NO_ANSWER, "what came back is not plain data")
        return self._said(answer if isinstance(answer, dict) else {})

    def _said(self, answer: dict[str, Any]) -> CaseVerdict:
        words = {key: text for key, text in answer.items() if isinstance(text, str)}
        if "error" in words:
            lines = filter(str.strip, words["error"].splitlines())
            reason = next(lines, "an error without a word")
            trace, kind = words.get("traceback", ""), words.get("kind", "")
            return self.failed(Failure.CRASH, reason, trace, kind)
        if "exit" in words:
            return self.failed(Failure.EXIT, f"it ended itself, saying {words['exit']}")
        if "returned" in words:
            reason = f"it returned {words['returned']}, must return a dict of GPUs to models"
            return self.failed(Failure.NO_ANSWER, reason)
        if not _is_placement(answer.get("placement")):
            return self.failed(Failure.NO_ANSWER, "what came back is no placement")
        return self._placed(answer["placement"])

    def _broken_off(self, code: int | None) -> CaseVerdict:
        if code is None:
            return self.failed(Failure.CRASH, "it took its sandbox down")
        if code < 0:
            names = {signal.value: signal.name for signal in Signals}
            name = names.get(-code, f"signal {-code}")
            return self.failed(Failure.CRASH, f"killed by {name}", error=name)
        return self.failed(Failure.EXIT, f"it ended itself with code {code} instead of an answer")

    def _placed(self, placement: list[tuple[int | str, list[str]]]) -> CaseVerdict:
        gpus = range(len(self.problem.gpus))
        strange = [key for key, names in placement if key not in gpus and names]
        if strange:
            reason = f"there is no GPU {_listed(strange, _gpu_key)}, they are 0 to {len(gpus) - 1}"
            return self.failed(Failure.UNKNOWN_GPU, reason)
        where = [(name, key) for key, names in placement for name in names]
        if fault := self._fault_of_names(Counter(name for name, _ in where)):
            return self.failed(*fault)
        homes = {name: (self.problem.gpus[int(key)].name,) for name, key in where}
        verdict = verify(self.problem, homes)
        if not verdict.valid:
            return self.failed(Failure.OVERFILLED, verdict.faults[0])
        if not isfinite(verdict.pressure):
            return self.failed(Failure.NOT_FINITE, "a GPU with load has no memory left")
        if verdict.pressure < self.bound * (1 - TIE):
            reason = f"{verdict.pressure:.9g} is less than {self.bound:.9g}"
            return self.failed(Failure.BELOW_BOUND, reason)
        return CaseVerdict(self.case, verdict.pressure, self.optimum)

    def _fault_of_names(self, count: Counter[str]) -> tuple[Failure, str] | None:
        names = [model.name for model in self.problem.models]
        known = set(names)
        unknown = [name for name in count if name not in known]
        missing = [name for name in names if name not in count]
        repeated = [name for name in names if count[name] > 1]
        if unknown:
            return Failure.UNKNOWN_MODEL, f"there is no model {_listed(unknown)}"
        if missing:
            return Failure.MISSING_MODEL, f"{_listed(missing)} of {len(names)} on no GPU"
        if repeated:
            return Failure.REPEATED_MODEL, f"{_listed(repeated)} placed more than once"
        return None


def _beyond_limits(reply: Reply, limit: float) -> tuple[Failure, str] | None:
    if reply.late:
        return Failure.TIMEOUT, f"no answer within {limit:g} s"
    if reply.code in (-SIGXCPU, -SIGKILL) and reply.cpu_seconds >= limit:
        return Failure.TIMEOUT, f"more than {limit:g} s of processor time"
    if reply.overfull:
        return Failure.CRASH, "it put more into its folder than it may"
    if len(reply.text) > LONGEST_ANSWER:
        return Failure.NO_ANSWER, f"what came back is longer than {LONGEST_ANSWER} bytes"
    return None


def _plain(figure: float | None) -> float | int | None:
    """Return a whole number as an integer, as the public benchmark passes it."""
    return int(figure) if figure is not None and figure == int(figure) else figure


def _is_placement(answer: object) -> bool:
    return isinstance(answer, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], int | str)
        and not isinstance(pair[0], bool)
        and isinstance(pair[1], list)
        and all(isinstance(name, str) for name in pair[1])
        for pair in answer
    )


def _listed(things: Sequence[Any], shown: Callable[[Any], str] = quoted) -> str:
    """List the first of many things; only these are sanitised for display."""
    first = [shown(thing) for thing in things[:MOST_NAMES]]
    return listed([*first, *things[MOST_NAMES:]], MOST_NAMES)


def _gpu_key(key: int | str) -> str:
    return one_line(str(key), LONGEST_NAME)
