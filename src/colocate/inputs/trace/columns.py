"""Which columns of a trace say what: our own, and those of public traces.

- Ours: `arrival_s,model,prompt_tokens,output_tokens`.
- Azure LLM inference traces of 2023 and 2024: `TIMESTAMP,ContextTokens,GeneratedTokens`. Times are
  dates, such as `2023-11-16 18:17:03.9799600` or `2024-05-10 00:00:00.009930+00:00`; the traces of
  2024 have some without a fraction.
- BurstGPT: `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type`, and later also
  `Session ID` and `Elapsed time`. Times are seconds. A request without response tokens failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from colocate.errors import InputError
from colocate.fault import Fault

MODEL = "model"


@dataclass(frozen=True)
class TraceFormat:
    """How a trace names its columns.

    Parameters
    ----------
    time, prompt, output
        The columns that must be there.
    dates
        Whether times are dates, and not seconds.
    from_first
        Whether time begins with the first request, and not at 0.
    failed
        Whether a request without output failed, and is left out.
    """

    time: str
    prompt: str
    output: str
    dates: bool = False
    from_first: bool = False
    failed: bool = False


FORMATS = (
    TraceFormat("arrival_s", "prompt_tokens", "output_tokens"),
    TraceFormat("TIMESTAMP", "ContextTokens", "GeneratedTokens", dates=True, from_first=True),
    TraceFormat("Timestamp", "Request tokens", "Response tokens", from_first=True, failed=True),
)
KNOWN = (
    "arrival_s,model,prompt_tokens,output_tokens, or the columns of the Azure LLM inference traces "
    "or of BurstGPT"
)


@dataclass(frozen=True)
class TraceColumns:
    """The columns of a trace: their number, and the places of those that count.

    Parameters
    ----------
    format
        How the trace names them.
    number
        Of all columns.
    time, prompt, output
        Places from 0 on.
    model
        That of the model, None if the trace does not say which.
    model_name
        What the trace calls that column.
    """

    format: TraceFormat
    number: int
    time: int
    prompt: int
    output: int
    model: int | None
    model_name: str = MODEL


def columns_of(header: Sequence[str]) -> TraceColumns:
    """Return where a trace has what, by the names of its columns; case does not count."""
    names = [name.strip().casefold() for name in header]

    def known(each: TraceFormat) -> int:
        return sum(name.casefold() in names for name in (each.prompt, each.output, each.time))

    best = max(FORMATS, key=known)
    if known(best) == 0 or (known(best) == 1 and best.time.casefold() in names):
        raise InputError.of("columns", ",".join(header), KNOWN)
    return TraceColumns(
        best,
        len(names),
        _place(best.time, names),
        _place(best.prompt, names),
        _place(best.output, names),
        _place(MODEL, names) if MODEL in names else None,
        header[names.index(MODEL)].strip() if MODEL in names else MODEL,
    )


def _place(column: str, names: Sequence[str]) -> int:
    """Return the place of a column that must be there once."""
    number = names.count(column.casefold())
    if number != 1:
        found = "is missing" if not number else "stands there twice"
        raise InputError(Fault(found, "one of the columns", path=(column,)))
    return names.index(column.casefold())
