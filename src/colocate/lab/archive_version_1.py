"""Reads archives of version 1, which kept a refusal as one sentence."""

from colocate.lab.patches.refusal import Refusal, RefusalCode

PHRASES = {
    "its SEARCH is nowhere in the program": RefusalCode.SEARCH_NOT_FOUND,
    "its SEARCH matches at lines": RefusalCode.SEARCH_AMBIGUOUS,
    "its SEARCH stands at line": RefusalCode.SEARCH_OUTSIDE,
    "has an empty SEARCH": RefusalCode.EMPTY_SEARCH,
    " does not compile: ": RefusalCode.DOES_NOT_COMPILE,
    "the answer was cut off before its end": RefusalCode.ANSWER_CUT_OFF,
    "the answer seems cut off": RefusalCode.ANSWER_CUT_OFF,
    "send only the change": RefusalCode.ANSWER_TOO_LONG,
    "; shorten it": RefusalCode.CHILD_TOO_LONG,
    "the child does not define": RefusalCode.NO_ENTRY,
    "the child does the same as its parent": RefusalCode.SAME_AS_PARENT,
    " has the markers ": RefusalCode.MARKERS_UNPAIRED,
    " adds evolve markers": RefusalCode.MARKERS_ADDED,
    "; keep both lines": RefusalCode.MARKERS_REMOVED,
    " changes the parent outside of the evolve block": RefusalCode.OUTSIDE_CHANGED,
    "ends no block and begins none": RefusalCode.STRAY_MARKER,
    "; make all three markers of the block longer": RefusalCode.SEVERAL_SEPARATORS,
    "the answer has no change that can be told": RefusalCode.NO_CHANGE,
    "which can be read in several ways": RefusalCode.SEVERAL_CHANGES,
    "; write its change as SEARCH/REPLACE blocks": RefusalCode.EMPTY_DIFF,
    "is the same, but for its comments": RefusalCode.KNOWN_PROGRAM,
    "of the same generation is the same": RefusalCode.TWIN,
}
"""The text that each sentence of version 1 contains. That version and its sentences are frozen."""


def read_refusal(sentence: str, came: bool) -> Refusal | None:
    """Return the refusal that a sentence of version 1 states; None if it is empty.

    Parameters
    ----------
    sentence
        The sentence in the archive.
    came
        Whether the proposer answered at all; if not, the sentence says why not.
    """
    if not sentence:
        return None
    if not came:
        return Refusal(RefusalCode.NO_ANSWER, sentence)
    codes = (code for phrase, code in PHRASES.items() if phrase in sentence)
    fault, _, advice = sentence.rpartition("; ")
    code = next(codes, RefusalCode.UNKNOWN)
    return Refusal(code, fault, advice) if fault else Refusal(code, sentence)
