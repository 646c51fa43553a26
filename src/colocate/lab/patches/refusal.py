"""Why an answer was refused: a code for programs, and sentences for people and proposers."""

from dataclasses import dataclass
from enum import StrEnum

from colocate.errors import ColocateError


class RefusalCode(StrEnum):
    """The cause of a refusal. The archive stores these values, so none may ever change."""

    ANSWER_CUT_OFF = "answer-cut-off"
    ANSWER_TOO_LONG = "answer-too-long"
    CHILD_TOO_LONG = "child-too-long"
    DOES_NOT_COMPILE = "does-not-compile"
    EMPTY_DIFF = "empty-diff"
    EMPTY_SEARCH = "empty-search"
    FILTERED = "filtered"
    KNOWN_PROGRAM = "known-program"
    MARKERS_ADDED = "markers-added"
    MARKERS_REMOVED = "markers-removed"
    MARKERS_UNPAIRED = "markers-unpaired"
    MODEL_REFUSED = "model-refused"
    NO_ANSWER = "no-answer"
    NO_CHANGE = "no-change"
    NO_ENTRY = "no-entry"
    NO_TEXT = "no-text"
    NOT_WRITABLE = "not-writable"
    ONLY_A_SEED = "only-a-seed"
    OUTSIDE_CHANGED = "outside-changed"
    SAME_AS_PARENT = "same-as-parent"
    SEARCH_AMBIGUOUS = "search-ambiguous"
    SEARCH_NOT_FOUND = "search-not-found"
    SEARCH_OUTSIDE = "search-outside"
    SEVERAL_CHANGES = "several-changes"
    SEVERAL_SEPARATORS = "several-separators"
    STRAY_MARKER = "stray-marker"
    TOOL_CALL = "tool-call"
    TWIN = "twin"
    UNKNOWN = "unknown"
    """The archive of another version has a reason that this version does not know."""

    @classmethod
    def _missing_(cls, value: object) -> "RefusalCode":
        return cls.UNKNOWN


@dataclass(frozen=True)
class Refusal:
    """Why an answer was refused.

    Parameters
    ----------
    code
        The cause, which code uses to decide and to count.
    fault
        What was found, in detail, for people and proposers.
    advice
        What the proposer should do; empty if nothing can be done.
    """

    code: RefusalCode
    fault: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.fault}; {self.advice}" if self.advice else self.fault


class PatchRefused(ColocateError):  # noqa: N818, a refusal is an answer, not a fault
    """A change that does not fit a program completely.

    Parameters
    ----------
    code, fault, advice
        See `Refusal`.
    """

    def __init__(self, code: RefusalCode, fault: str, advice: str = "") -> None:
        self.refusal = Refusal(code, fault, advice)
        super().__init__(str(self.refusal))
