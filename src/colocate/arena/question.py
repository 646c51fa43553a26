"""A case as put to a program, and the verdict on its answer.

What a program returns is plain data that nobody trusts; the subclass of a task checks it.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from signal import SIGKILL, SIGXCPU, Signals
from typing import Any, ClassVar

from colocate.arena.case_verdict import CaseVerdict, Failure, is_proven
from colocate.arena.inside.flat_text import ANSWER, END, ERROR, EXIT, RETURNED, text_of
from colocate.arena.walls.sandbox import LONGEST_ANSWER, Reply
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line, visible
from colocate.problem.tolerance import TIE

READ_AT_ONCE = 64 * 1024
"""Bytes that are cut into fields within a tenth of a second, whatever they are.

The longest error that a case tells has 50 kB.
"""
ANSWER_BY_QUESTION = 2
"""An answer repeats names of its question. It is at most so many times as long."""
LONGEST_TRACEBACK = 4000
"""Letters kept from its end: about fifty lines."""
LONGEST_FIELD = 6 * LONGEST_TRACEBACK
"""Bytes of as many letters, however they are written."""


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """The data that a program receives, and the data that only the referee knows.

    A task derives its own kind of question. It says which arguments the function gets, and checks
    what came back with the help of `reached` and `failed`.
    """

    case: str
    seed: int
    """Seeds the random choices of a program that sets no seed itself."""
    optimum: float
    """The best value known."""
    bound: float | None = None
    """The proven limit of what any answer can reach; None if there is none."""
    higher_is_better: bool = False
    """Whether programs are to raise the value; by default, they are to lower it."""

    form: ClassVar[str] = "plain"
    """How `inside.answer` makes the call: ``plain`` passes `arguments`, and writes plain data."""
    wanted: ClassVar[str] = "plain data: numbers, texts, lists and dicts"
    """What a program must return."""

    @property
    @abstractmethod
    def entry_point(self) -> str:
        """The name of the function that the program defines."""

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What the function gets, as plain data: for the plain form, a list ``arguments``."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of the case."""

    @abstractmethod
    def check(self, answer: bytes) -> CaseVerdict:
        """Return the verdict on an answer, as `form` has it written; it may be forged."""

    def halt(self) -> None:  # noqa: B027, most tasks check answers in this process
        """Have nobody wait any more for the check of an answer."""

    @cached_property
    def most_bytes(self) -> int:
        """How long an answer may be."""
        return READ_AT_ONCE + ANSWER_BY_QUESTION * len(json.dumps(self.arguments))

    @property
    def proven(self) -> bool:
        """Whether the optimum is proven to be the best value possible."""
        return is_proven(self.optimum, self.bound, self.higher_is_better)

    def as_data(self) -> dict[str, Any]:
        """Return the data that the untrusted process receives."""
        return {"entry_point": self.entry_point, "form": self.form} | self.arguments

    def reached(self, value: float) -> CaseVerdict:
        """Return the verdict on a valid answer with this value, unless that is impossible."""
        if not isfinite(value):
            return self.failed(Failure.NOT_FINITE, f"its value is {value}")
        if self.bound is not None:
            beyond = self.bound * (1 + TIE) if self.higher_is_better else self.bound * (1 - TIE)
            if self.higher_is_better and value > beyond:
                reason = f"{value:.9g} is more than {self.bound:.9g}"
                return self.failed(Failure.ABOVE_BOUND, reason)
            if not self.higher_is_better and value < beyond:
                reason = f"{value:.9g} is less than {self.bound:.9g}"
                return self.failed(Failure.BELOW_BOUND, reason)
        return self._verdict(value)

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
        return self._verdict(
            -inf if self.higher_is_better else inf,
            failure=failure,
            reason=one_line(f"{failure.value}: {reason}"),
            traceback=visible(traceback[-LONGEST_TRACEBACK:]),
            error=one_line(error, LONGEST_NAME),
        )

    def not_run(self, failure: Failure, why: str) -> CaseVerdict:
        """Return the verdict on a case that counts as failed without being put to the program.

        Parameters
        ----------
        failure
            What it counts as.
        why
            Why nobody needs to run it.
        """
        return replace(self.failed(failure, ""), reason=f"not run, as {why}", ran=False)

    def judged(self, reply: Reply, limit: float) -> CaseVerdict:
        """Return the verdict on a reply, given the limit in seconds."""
        if fault := _beyond_limits(reply, limit):
            return self.failed(*fault)
        if reply.code != 0 or not reply.text:
            return self._broken_off(reply.code)
        if len(reply.text) > self.most_bytes:
            reason = f"what came back is longer than {self.most_bytes} bytes, as no answer here is"
            return self.failed(Failure.NO_ANSWER, reason)
        kind, _, body = reply.text.partition(END)
        return self.check(body) if kind == ANSWER else self._without_answer(kind, body)

    def _verdict(self, value: float, **failure: Any) -> CaseVerdict:
        verdict = CaseVerdict(self.case, value, self.optimum, **failure)
        return replace(verdict, bound=self.bound, higher_is_better=self.higher_is_better)

    def _without_answer(self, kind: bytes, body: bytes) -> CaseVerdict:
        """Return the verdict on a reply that says why there is no answer."""
        fields = body.split(END, 3)
        first, second, third, fourth = (*fields, *(b"" for _ in range(4 - len(fields))))
        if kind == ERROR:
            lines = filter(str.strip, text_of(third[:LONGEST_FIELD]).splitlines())
            reason = next(lines, "an error without a word")
            trace = text_of(fourth[-LONGEST_FIELD:])
            error = text_of(second[:LONGEST_FIELD])
            verdict = self.failed(Failure.CRASH, reason, trace, error)
        elif kind == EXIT:
            code = text_of(second[:LONGEST_FIELD])
            verdict = self.failed(Failure.EXIT, f"it ended itself, saying {code}")
        elif kind == RETURNED:
            returned = text_of(first[:LONGEST_FIELD])
            reason = f"it returned {returned}, must return {self.wanted}"
            return self.failed(Failure.NO_ANSWER, reason)
        else:
            return self.failed(Failure.NO_ANSWER, "what came back is no answer")
        return replace(verdict, called=first != b"0")

    def _broken_off(self, code: int | None) -> CaseVerdict:
        if code is None:
            return self.failed(Failure.CRASH, "it took its sandbox down")
        if code < 0:
            names = {signal.value: signal.name for signal in Signals}
            name = names.get(-code, f"signal {-code}")
            return self.failed(Failure.CRASH, f"killed by {name}", error=name)
        return self.failed(Failure.EXIT, f"it ended itself with code {code} instead of an answer")


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
