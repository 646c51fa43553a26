"""Names of models in a trace: any, as they are found, or those of a fleet alone."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from colocate.errors import MOST_NAMES, InputError
from colocate.fault import Fault

MOST_MODELS = 2000
"""Models that a trace may name where any names will do; more are users or sessions."""


class FoundModels:
    """The models that a trace names, found while it is read.

    Parameters
    ----------
    mapping
        Other names for some of them; several may get the same one.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = mapping
        self._places: dict[str, int] = {}
        self._spellings: dict[str, int] = {}
        self.originals: set[str] = set()
        """What the trace itself calls them."""
        self.began: datetime | None = None
        """The first date, where times are dates."""

    @property
    def names(self) -> tuple[str, ...]:
        """All models so far."""
        return tuple(self._places)

    def named(self, name: str) -> str:
        """Return what a model of the trace is called."""
        return self._mapping.get(name, name)

    def place(self, text: str, column: str) -> int:
        """Return the index of a model by the text of its field.

        Parameters
        ----------
        text
            As the trace has it.
        column
            What the trace calls the column.
        """
        found = self._spellings.get(text)
        if found is None:
            name = text if text in self._mapping else text.strip()
            if not name:
                raise InputError(Fault("is empty", "the name of a model", path=(column,)))
            if len(self._spellings) >= MOST_MODELS:
                expected = f"one of at most {MOST_MODELS} names"
                raise InputError(Fault("", expected, value=text, path=(column,)))
            found = self._places.setdefault(self.named(name), len(self._places))
            self.originals.add(name)
            self._spellings[text] = found
        return found


class FleetModels:
    """The models of a fleet, which those of a trace must be among.

    Parameters
    ----------
    places
        The index of each name.
    models
        The names of the fleet.
    """

    def __init__(self, places: Mapping[str, int], models: Sequence[str]) -> None:
        self._places, self._models = places, models
        self.began: datetime | None = None

    def place(self, text: str, column: str) -> int:
        """Return the index of a model by the text of its field, or refuse it."""
        index = self._places.get(text, self._places.get(text.strip()))
        if index is None:
            some = ", ".join(self._models[:MOST_NAMES])
            more = ", ..." if len(self._models) > MOST_NAMES else ""
            raise InputError(
                Fault(
                    "is not in the fleet",
                    f"one of: {some}{more}",
                    "or say which of them stands for it: `--map NAME=MODEL`",
                    value=text,
                    path=(column,),
                )
            )
        return index


TraceNames = FoundModels | FleetModels
"""What gives each model of a trace its index."""
