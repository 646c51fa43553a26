"""Why answers were refused, counted by cause."""

from collections import Counter
from collections.abc import Sequence

from colocate.lab.messages import Attempt
from colocate.lab.patches.refusal import Refusal, RefusalCode

TITLES = {
    RefusalCode.ANSWER_CUT_OFF: "the answer was cut off before its end",
    RefusalCode.ANSWER_TOO_LONG: "the answer is too long",
    RefusalCode.CHILD_TOO_LONG: "the child is too long",
    RefusalCode.DOES_NOT_COMPILE: "the child does not compile",
    RefusalCode.EMPTY_DIFF: "a <DIFF> holds no SEARCH",
    RefusalCode.EMPTY_SEARCH: "a SEARCH is empty",
    RefusalCode.FILTERED: "the server's filter stopped the answer",
    RefusalCode.KNOWN_PROGRAM: "another program is the same, but for its comments",
    RefusalCode.MARKERS_ADDED: "the child adds evolve markers",
    RefusalCode.MARKERS_REMOVED: "the child removes the evolve markers",
    RefusalCode.MARKERS_UNPAIRED: "the evolve markers are no pair",
    RefusalCode.MODEL_REFUSED: "the model refused to answer",
    RefusalCode.NO_ANSWER: "no answer came",
    RefusalCode.NO_CHANGE: "the answer holds no change",
    RefusalCode.NO_ENTRY: "the child lacks the function that the task calls",
    RefusalCode.NO_TEXT: "the answer has no text",
    RefusalCode.NOT_WRITABLE: "no answer can express the change",
    RefusalCode.ONLY_A_SEED: "only a seed of random numbers changes",
    RefusalCode.OUTSIDE_CHANGED: "the child changes lines outside of the evolve block",
    RefusalCode.SAME_AS_PARENT: "the child does the same as its parent",
    RefusalCode.SEARCH_AMBIGUOUS: "its SEARCH matches at several lines",
    RefusalCode.SEARCH_NOT_FOUND: "its SEARCH is nowhere in the program",
    RefusalCode.SEARCH_OUTSIDE: "its SEARCH is outside of the evolve block",
    RefusalCode.SEVERAL_CHANGES: "the answer can be read in several ways",
    RefusalCode.SEVERAL_SEPARATORS: "a block has several separators",
    RefusalCode.STRAY_MARKER: "a marker belongs to no block",
    RefusalCode.TOOL_CALL: "the model called a tool",
    RefusalCode.TWIN: "a program of the same generation is the same",
}
"""The words for each cause; for an unknown cause, the fault itself appears."""


def title_of(refusal: Refusal) -> str:
    """Return the words for the cause of a refusal."""
    return TITLES.get(refusal.code, refusal.fault)


def refusal_counts(attempts: Sequence[Attempt]) -> list[tuple[str, int]]:
    """Return why answers were refused and how often, the most frequent reason first."""
    count = Counter(title_of(attempt.refusal) for attempt in attempts if attempt.refusal)
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))
