"""The board: one GPU with its models, their targets and caches, and the plan beside reality."""

import json
from collections.abc import Sequence
from typing import Any

from colocate.outputs.board import rules
from colocate.outputs.board.panels import SOURCE, Panel, Query

SCHEMA = 39
"""The version of Grafana's dashboards that this is written in: that of Grafana 10.4 and later."""
HERE = 'on (model_name) group_left () (max by (model_name) (colocate_plan_engine{gpu="$gpu"}))'
"""Keeps the models of the GPU that the reader chose."""
LEGEND = {"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull"]}}
WORST = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
LIMITS = {
    "color": {"mode": "thresholds"},
    "thresholds": {
        "mode": "absolute",
        "steps": [
            {"color": "green", "value": None},
            {"color": "orange", "value": 0.8},
            {"color": "red", "value": 1.0},
        ],
    },
}
"""Green while there is room, red where a target is broken."""
UP = {
    "color": {"mode": "thresholds"},
    "mappings": [
        {
            "type": "value",
            "options": {"0": {"text": "silent"}, "1": {"text": "answers"}},
        }
    ],
    "thresholds": {
        "mode": "absolute",
        "steps": [{"color": "red", "value": None}, {"color": "green", "value": 1}],
    },
}
STACKED = {"custom": {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 60}}


def board() -> str:
    """Return the board as the JSON that Grafana imports."""
    panels = [*_fleet(), *_one_gpu(), *_loop()]
    data: dict[str, Any] = {
        "uid": "colocate",
        "title": "Colocate: models that share GPUs",
        "description": "One GPU with its models: what was planned, and what engines do.",
        "tags": ["colocate", "llm", "gpu"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source(), _gpu()]},
        "annotations": {"list": [_moves()]},
        "panels": [panel.as_dict(number) for number, panel in enumerate(panels, 1)],
    }
    return json.dumps(data, indent=2) + "\n"


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _gpu() -> dict[str, Any]:
    return {
        "name": "gpu",
        "label": "GPU",
        "type": "query",
        "datasource": SOURCE,
        "query": "label_values(colocate_plan_engine, gpu)",
        "refresh": 2,
        "sort": 7,
    }


def _moves() -> dict[str, Any]:
    return {
        "name": "models were moved",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "blue",
        "expr": "changes(colocate_watch_last_move_timestamp_seconds[1m]) > 0",
    }


def _fleet() -> Sequence[Panel]:
    return (
        Panel("row", "The fleet", (0, 0, 24, 1)),
        _worst("TPOT", rules.TPOT_TO_TARGET, 0),
        _worst("TTFT", rules.TTFT_TO_TARGET, 5),
        Panel(
            "stat",
            "Source of demand",
            (10, 1, 4, 5),
            [Query("colocate_watch_source_up")],
            "While it is silent, nothing moves.",
            defaults=UP,
            options=WORST,
        ),
        Panel(
            "bargauge",
            "Planned pressure of each GPU",
            (14, 1, 10, 5),
            [Query("colocate_plan_pressure", "{{gpu}}")],
            "Load for each GB of cache. The highest decides where requests wait first.",
            options=WORST | {"orientation": "horizontal", "displayMode": "basic"},
        ),
        Panel(
            "table",
            "Models: measured, planned, target",
            (0, 6, 24, 7),
            [
                Query(rules.TPOT, as_table=True),
                Query("colocate_plan_tpot_seconds", as_table=True),
                Query("colocate_target_tpot_seconds", as_table=True),
                Query(rules.RATE, as_table=True),
                Query("colocate_plan_rate", as_table=True),
            ],
            "TPOT in seconds, and requests a second, of every model.",
            transformations=_joined(
                "TPOT measured", "TPOT planned", "TPOT target", "rate measured", "rate planned"
            ),
        ),
    )


def _worst(latency: str, record: str, column: int) -> Panel:
    """Return the figure of the model that is furthest from its target."""
    return Panel(
        "stat",
        f"Worst {latency} to its target",
        (column, 1, 5, 5),
        [Query(f"max({record})")],
        "Above 100% a target is broken.",
        "percentunit",
        LIMITS,
        WORST,
    )


def _joined(*columns: str) -> list[dict[str, Any]]:
    """Return what makes one row of a model, with a name for the value of each query."""
    names = {f"Value #{chr(ord('A') + place)}": column for place, column in enumerate(columns)} | {
        "model_name": "model"
    }
    others = ("Time", "__name__", "instance", "job", "percentile")
    hidden = {"excludeByName": {f"{name}": True for name in others}, "renameByName": names}
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": hidden},
    ]


def _one_gpu() -> Sequence[Panel]:
    return (
        Panel("row", "The GPU $gpu", (0, 13, 24, 1)),
        _three_ways("Time per output token", "tpot", rules.TPOT, (0, 14, 12, 8)),
        _three_ways("Time to first token", "ttft", rules.TTFT, (12, 14, 12, 8)),
        Panel(
            "timeseries",
            "Requests a second",
            (0, 22, 8, 8),
            [
                Query(f"{rules.RATE} * {HERE}", "{{model_name}} measured"),
                Query(f"colocate_plan_rate * {HERE}", "{{model_name}} planned"),
            ],
            "A model asked more than planned is why a plan does not hold.",
            "reqps",
            options=LEGEND,
        ),
        Panel(
            "timeseries",
            "Memory",
            (8, 22, 8, 8),
            [
                Query('colocate_plan_weights_bytes{gpu="$gpu"}', "{{model_name}} weights"),
                Query(f'{rules.CACHE_BYTES}{{gpu="$gpu"}}', "{{model_name}} cache in use"),
                Query(
                    f'sum(colocate_plan_cache_bytes{{gpu="$gpu"}}) - sum({rules.CACHE_BYTES}'
                    '{gpu="$gpu"})',
                    "cache free",
                ),
            ],
            "Where the cache is full, requests wait.",
            "bytes",
            STACKED,
            LEGEND,
        ),
        Panel(
            "timeseries",
            "Requests that run and wait",
            (16, 22, 8, 8),
            [
                Query(f"{rules.RUNNING} * {HERE}", "{{model_name}} running"),
                Query(f"{rules.WAITING} * {HERE}", "{{model_name}} waiting"),
            ],
            "A queue that grows without end is demand beyond what the GPU can do.",
            options=LEGEND,
        ),
    )


def _three_ways(title: str, name: str, measured: str, place: tuple[int, int, int, int]) -> Panel:
    """Return a panel of a latency: as measured, as planned, and its target."""
    return Panel(
        "timeseries",
        title,
        place,
        [
            Query(f"{measured} * {HERE}", "{{model_name}} measured"),
            Query(f"colocate_plan_{name}_seconds * {HERE}", "{{model_name}} planned"),
            Query(f"colocate_target_{name}_seconds * {HERE}", "{{model_name}} target"),
        ],
        "Solid as measured, dashed as planned, red the target.",
        "s",
        options=LEGEND,
    )


def _loop() -> Sequence[Panel]:
    return (
        Panel("row", "What `colocate watch` does", (0, 30, 24, 1)),
        Panel(
            "timeseries",
            "Rounds in an hour, by what was decided",
            (0, 31, 12, 7),
            [
                Query(
                    "sum by (decision) (increase(colocate_watch_rounds_total[1h]))", "{{decision}}"
                )
            ],
            "Staying is the usual answer.",
            options=LEGEND,
        ),
        Panel(
            "timeseries",
            "Steps",
            (12, 31, 12, 7),
            [
                Query("increase(colocate_watch_steps_total[1h])", "{{outcome}} in an hour"),
                Query("colocate_watch_steps_pending", "still to do"),
            ],
            "After a step that failed, the next round plans from what is really there.",
            options=LEGEND,
        ),
    )
