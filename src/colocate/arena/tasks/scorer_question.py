"""A case of a task from a folder."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.question import Question
from colocate.arena.tasks.scorer import Scorer
from colocate.arena.walls.sandbox import LONGEST_ANSWER


@dataclass(frozen=True, kw_only=True)
class ScorerQuestion(Question):
    """A case of a task from a folder; its scorer judges the answer in another process."""

    function: str
    """The name of the function that the program defines."""
    inputs: tuple[Any, ...]
    """What the function gets: plain data."""
    rules: str
    """A hash of the case and of the scorer."""
    scorer: Scorer = field(compare=False, repr=False)

    @property
    def entry_point(self) -> str:
        """The name of the function that the program defines."""
        return self.function

    @property
    def arguments(self) -> dict[str, Any]:
        """What the function gets."""
        return {"arguments": list(self.inputs)}

    @property
    def digest(self) -> str:
        """A hash of the case and of the scorer."""
        return self.rules

    @property
    def most_bytes(self) -> int:
        """How long an answer may be: this process does not look into it."""
        return LONGEST_ANSWER

    def halt(self) -> None:
        """End the scorer; those who wait for it get a TaskError."""
        self.scorer.halt()

    def check(self, answer: bytes) -> CaseVerdict:
        """Return the verdict of the scorer on an answer, which its process parses."""
        try:
            found = self.scorer.score(list(self.inputs), answer.decode())
        except UnicodeDecodeError:
            return self.failed(Failure.NO_ANSWER, "what came back is not plain data")
        return self.failed(*found) if isinstance(found, tuple) else self.reached(found)


def question_digest(scorer: Path, case: Any) -> str:
    """Return a hash that changes with a case or with the scorer."""
    text = json.dumps(case, sort_keys=True).encode()
    return sha256(scorer.read_bytes() + b"\0" + text).hexdigest()
