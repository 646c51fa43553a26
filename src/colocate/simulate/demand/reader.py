"""Read a stream of requests up to one moment after the other."""

from collections.abc import Iterable

import numpy as np

from colocate.simulate.demand.requests import RequestStream


class StreamReader:
    """A stream of requests that is read bit by bit.

    Parameters
    ----------
    pieces
        The requests, in pieces that follow each other in time.
    """

    def __init__(self, pieces: Iterable[RequestStream]) -> None:
        self._pieces = iter(pieces)
        self._ahead = _nobody(0.0)
        self._read = 0.0

    def until(self, moment: float) -> Iterable[RequestStream]:
        """Yield all requests up to a moment that have not been read yet."""
        while self._read < moment:
            if not len(self._ahead) and self._ahead.seconds <= self._read:
                self._ahead = next(self._pieces, _nobody(moment))
            piece, self._ahead = _parted(self._ahead, moment)
            self._read = max(self._read, piece.seconds)
            yield piece


def _nobody(seconds: float) -> RequestStream:
    none = np.empty(0, np.int32)
    return RequestStream(np.empty(0), none, none, none, seconds)


def _parted(piece: RequestStream, moment: float) -> tuple[RequestStream, RequestStream]:
    """Return the part of a piece up to a moment, and the rest."""
    if piece.seconds <= moment:
        return piece, _nobody(piece.seconds)
    here = int(np.searchsorted(piece.arrival, moment, side="right"))
    return (
        _rows(piece, slice(here), moment),
        _rows(piece, slice(here, None), piece.seconds),
    )


def _rows(piece: RequestStream, rows: slice, seconds: float) -> RequestStream:
    """Return some rows of a piece, as one that is known up to a moment."""
    return RequestStream(
        piece.arrival[rows], piece.model[rows], piece.prompt[rows], piece.output[rows], seconds
    )
