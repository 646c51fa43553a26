"""The process in which the scorer of a task runs: the standard library, and no line of a program.

It is started as a script with the path of the scorer. A request is a line of JSON; so is a reply.
What the scorer prints goes nowhere.
"""

import json
import os
import signal
import sys
import traceback
from math import isfinite
from typing import Any

MOST_LINES = 3
"""Lines from the end of a traceback: where the scorer failed, and why."""
LONGEST_REASON = 2000
"""Letters: a scorer may repeat a whole answer in its reason."""
MOST_DIGITS = 300
"""Of a whole number: a float holds it still."""
TOO_LARGE = "a number that is too large"
FUNCTIONS = ("cases", "score")
"""What a scorer defines."""


def main() -> None:
    """Load a scorer, and answer requests until there are no more."""
    path, seconds = sys.argv[1], float(sys.argv[2])
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    requests = os.fdopen(os.dup(0), "rb")
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    sys.path.append(os.path.dirname(path))  # last: a program there may have the name of a module
    scorer: dict[str, Any] = {"__name__": "scorer", "__file__": path}
    for line in requests:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # ends this process if its parent is gone
        replies.write(json.dumps(_reply(scorer, line)) + "\n")
        replies.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _reply(scorer: dict[str, Any], line: bytes) -> dict[str, Any]:
    request = json.loads(line)
    try:
        if not all(name in scorer for name in FUNCTIONS):
            _load(scorer)
        if "seed" in request:
            return {"cases": _strict(scorer["cases"](request["seed"]))}
        return _score(scorer["score"](request["arguments"], _parsed(request["text"])))
    except NoAnswerError as error:
        kind, reason = error.args
        return {kind: reason}
    except BaseException as error:  # a border: whatever a scorer raises is told to its author
        return {"fault": _told(error)}


class NoAnswerError(Exception):
    """What a program wrote is no answer: the kind of failure, and the reason."""


def _parsed(text: str) -> Any:
    """Return the answer in a text that a program wrote: plain data with finite numbers."""
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError, MemoryError) as error:
        raise NoAnswerError("no answer", "what came back is not plain data") from error


def _refused(constant: str) -> float:
    raise NoAnswerError("not finite", f"what came back holds {constant}")


def _finite(digits: str) -> float:
    value = float(digits)
    return value if isfinite(value) else _refused(TOO_LARGE)


def _whole(digits: str) -> int:
    """Return a whole number, unless a scorer that divides it would fail."""
    if len(digits) > MOST_DIGITS:
        _refused(TOO_LARGE)
    return int(digits)


def _load(scorer: dict[str, Any]) -> None:
    with open(scorer["__file__"], encoding="utf-8") as file:
        exec(compile(file.read(), scorer["__file__"], "exec", dont_inherit=True), scorer)
    for name in FUNCTIONS:
        if not callable(scorer.get(name)):
            raise NameError(f"the scorer defines no function {name}")


def _score(found: Any) -> dict[str, Any]:
    if isinstance(found, str):
        return {"invalid answer": found[:LONGEST_REASON]}
    value = found.tolist() if hasattr(found, "tolist") else found
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = type(found).__name__
        raise TypeError(f"score returned {kind}, must return a number, or a text if it is invalid")
    if not isfinite(value) or value < 0:
        raise ValueError(f"score returned {value}, must return a finite number >= 0")
    return {"value": float(value)}


def _strict(cases: Any) -> Any:
    """Return plain data; raise ValueError or TypeError for anything that JSON cannot hold."""
    return json.loads(json.dumps(list(cases), allow_nan=False))


def _told(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    text = "".join(lines).rstrip().splitlines()[-MOST_LINES:]
    return " | ".join(line.strip() for line in text)


if __name__ == "__main__":
    main()
