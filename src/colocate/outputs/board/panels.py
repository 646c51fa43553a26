"""The parts of a board as Grafana keeps them: a panel, what it draws, and where it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}
"""The Prometheus server that the reader chooses at the top of the board."""
DASHED = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}}
THICK = {"id": "custom.lineWidth", "value": 2}
TARGET_COLOUR = {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}
STYLES: dict[str, list[dict[str, Any]]] = {
    "planned": [DASHED],
    "target": [DASHED, TARGET_COLOUR],
    "measured": [THICK],
}
"""How the lines look whose names end so."""
PALETTE = {"color": {"mode": "palette-classic"}}


@dataclass(frozen=True)
class Query:
    """One question to Prometheus.

    Parameters
    ----------
    expression
        In PromQL.
    legend
        The name of its lines.
    as_table
        Whether only the newest values count, as rows of a table.
    """

    expression: str
    legend: str = ""
    as_table: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel.

    Parameters
    ----------
    kind
        Grafana's name of it: `timeseries`, `stat`, `bargauge`, `table`, `row`.
    title, about
        What it shows, and what to make of it.
    place
        Column and row of its corner, width and height, of a grid 24 wide.
    queries
        What it draws.
    unit
        Grafana's name of the unit: `s`, `bytes`, `reqps`, `percentunit`, `none`.
    defaults, options
        More settings of values and of the panel itself.
    transformations
        What happens to the rows of a table.
    """

    kind: str
    title: str
    place: tuple[int, int, int, int]
    queries: Sequence[Query] = ()
    about: str = ""
    unit: str = "none"
    defaults: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    transformations: Sequence[dict[str, Any]] = ()

    def as_dict(self, number: int) -> dict[str, Any]:
        """Return it as Grafana's JSON, with a number of its own."""
        column, row, width, height = self.place
        grid = {"h": height, "w": width, "x": column, "y": row}
        head: dict[str, Any] = {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "gridPos": grid,
        }
        if self.kind == "row":
            return head | {"collapsed": False, "panels": []}
        return head | {
            "description": self.about,
            "datasource": SOURCE,
            "targets": [_target(query, place) for place, query in enumerate(self.queries)],
            "fieldConfig": {
                "defaults": {"unit": self.unit} | PALETTE | self.defaults,
                "overrides": _overrides() if self.kind == "timeseries" else [],
            },
            "options": self.options,
            "transformations": list(self.transformations),
        }


def _target(query: Query, place: int) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + place),
        "datasource": SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "instant": query.as_table,
        "range": not query.as_table,
        "format": "table" if query.as_table else "time_series",
    }


def _overrides() -> list[dict[str, Any]]:
    return [
        {"matcher": {"id": "byRegexp", "options": f".* {word}"}, "properties": properties}
        for word, properties in STYLES.items()
    ]
