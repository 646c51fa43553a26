"""What the study found: its tables, from the stored results alone."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.study_results import (
    FIGURES,
    MISLED,
    OUTCOMES,
    StoredFleet,
    as_good,
    interval,
    kendall,
    right_pairs,
    spearman,
    stored_fleets,
)

PLANS = ("greedy", "bisection", "pressure plan", "first by latency", "latency plan")
REGIMES = ("short", "mixed", "long", "full")
KEEPS = 0.9
"""The highest level at which targets can be kept."""
BROKEN = 0.9
"""A promise to keep all targets is broken where fewer requests than this share are in time."""
TITLES = (
    "What matters",
    "Ranks",
    "Regrets",
    "By regime",
    "By level",
    "Plans",
    "Plans by level",
    "Plans by regime",
    "Promises",
    "Published",
)
PUBLISHED = ("chatlmsys", "prism24")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"|{'|'.join(f' {cell} ' for cell in line)}|" for line in lines).replace(
        " --- ", "---"
    )


def percent(value: float) -> str:
    """Return a share as text."""
    return f"{100.0 * value:.1f}%"


def tables_of(folder: Path) -> str:
    """Return all tables of the study as one text."""
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections_of(folder).items())


def sections_of(folder: Path) -> dict[str, str]:
    """Return the tables of the study by what they are about."""
    every = stored_fleets(folder)
    drawn = [fleet for fleet in every if fleet.regime in REGIMES]
    tables = (
        matters_table(drawn),
        ranks_table([fleet for fleet in drawn if fleet.matters]),
        regret_table(drawn),
        regime_table(drawn),
        level_table(drawn),
        plan_table(drawn),
        plan_level_table(drawn),
        plan_regime_table(drawn),
        promise_table(drawn),
        published_table(every),
    )
    return {title: text for title, text in zip(TITLES, tables, strict=True) if text}


def matters_table(fleets: Sequence[StoredFleet]) -> str:
    """Return how much placement matters at each level."""
    rows = []
    for level in sorted({fleet.level for fleet in fleets}):
        some = [fleet for fleet in fleets if fleet.level == level]
        spreads = [fleet.spread for fleet in some]
        best = [f.outcomes["goodput"].mean(axis=1).max() / float(f.facts["offered"]) for f in some]
        matter = sum(fleet.matters for fleet in some)
        cells = [f"{level:g}", f"{len(some)}", percent(float(np.mean(best))), f"{matter}"]
        rows.append([*cells, percent(float(np.median(spreads))), percent(max(spreads))])
    head = ("level", "fleets", "best placement: requests in time", "placement matters")
    return table((*head, "worst loses, median", "at most"), rows)


def ranks_table(fleets: Sequence[StoredFleet]) -> str:
    """Return how well each figure ranks the placements of fleets."""
    rows = []
    for figure, name in FIGURES.items():
        for what, told in OUTCOMES.items():
            means = [(f.figures[figure], f.outcomes[what].mean(axis=1)) for f in fleets]
            rho = np.array([spearman(*pair) for pair in means])
            tau = np.array([kendall(*pair) for pair in means])
            pairs = [right_pairs(fleet, figure, what) for fleet in fleets]
            right = sum(r for r, _ in pairs) / max(sum(n for _, n in pairs), 1)
            low, middle, high = np.nanquantile(rho, (0.25, 0.5, 0.75))
            cells = [name, told, f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
            rows.append([*cells, f"{np.nanmedian(tau):.2f}", percent(right)])
    return table(("figure", "outcome", "Spearman", "middle half", "Kendall", "right pairs"), rows)


def regrets(fleets: Sequence[StoredFleet], figure: str, what: str = "goodput") -> list[float]:
    """Return what is lost in each fleet by choosing with a figure.

    Parameters
    ----------
    fleets
        What was placed.
    figure, what
        The figure and the outcome.
    """
    return [fleet.regret(fleet.best_by(figure), what) for fleet in fleets]


def regret_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what choosing by each figure loses."""
    rows = []
    for figure, name in FIGURES.items():
        lost = regrets(fleets, figure)
        rows.append([name, *_lost_cells(lost), *_others(fleets, figure)])
    blind = [fleet.regret(range(len(fleet.names))) for fleet in fleets]
    rows.append(["any placement, blindly", *_lost_cells(blind), "", ""])
    head = ("chosen by", "goodput lost", "95% interval", "p90", "worst", "more than 5%")
    return table((*head, "attainment lost", "of the worst model"), rows)


def _lost_cells(lost: Sequence[float]) -> list[str]:
    mean, low, high = interval(lost)
    p90, most = float(np.quantile(lost, 0.9)), max(lost)
    misled = float(np.mean(np.array(lost) > MISLED))
    between = f"{100.0 * low:.1f} to {percent(high)}"
    return [percent(mean), between, percent(p90), percent(most), percent(misled)]


def _others(fleets: Sequence[StoredFleet], figure: str) -> list[str]:
    return [
        percent(float(np.mean(regrets(fleets, figure, what)))) for what in ("attainment", "worst")
    ]


def _by(
    fleets: Sequence[StoredFleet],
    head: str,
    groups: dict[str, Callable[[StoredFleet], bool]],
) -> str:
    rows = []
    for name, belongs in groups.items():
        some = [fleet for fleet in fleets if belongs(fleet)]
        if not some:
            continue
        cells = [percent(float(np.mean(regrets(some, figure)))) for figure in FIGURES]
        rho = [
            np.nanmedian(
                [spearman(f.figures[figure], f.outcomes["goodput"].mean(axis=1)) for f in some]
            )
            for figure in FIGURES
        ]
        told = [f"{cell} ({r:.2f})" for cell, r in zip(cells, rho, strict=True)]
        rows.append([name, f"{len(some)}", *told])
    return table((head, "fleets", *FIGURES.values()), rows)


def regime_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what each figure loses by regime, with its rank correlation, and by sharing."""
    groups: dict[str, Callable[[StoredFleet], bool]] = {}
    for regime in REGIMES:
        groups[f"{regime}, up to {KEEPS:g}"] = lambda f, r=regime: f.regime == r and _keeps(f)  # type: ignore[misc]
        groups[f"{regime}, beyond"] = lambda f, r=regime: f.regime == r and not _keeps(f)  # type: ignore[misc]
    for told, regimes in (("short and mixed", REGIMES[:2]), ("long and full", REGIMES[2:])):
        for sharing in ("slices", "mps"):
            groups[f"{told}, {sharing}"] = lambda f, s=sharing, r=regimes: (  # type: ignore[misc]
                f.regime in r and f.sharing == s
            )
    return _by(fleets, "regime and level", groups)


def _keeps(fleet: StoredFleet) -> bool:
    """Say whether the rates of a fleet are such that its targets can be kept."""
    return fleet.level <= KEEPS


def level_table(fleets: Sequence[StoredFleet]) -> str:
    """Return the same by level."""
    levels = sorted({fleet.level for fleet in fleets})
    groups: dict[str, Callable[[StoredFleet], bool]] = {
        f"{level:g}": lambda f, at=level: f.level == at  # type: ignore[misc]
        for level in levels
    }
    return _by(fleets, "level", groups)


def plan_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what each way to place loses, and how often it is as good as the latency plan."""
    rows = []
    for plan in PLANS:
        some = [fleet for fleet in fleets if fleet.number_of(plan) is not None]
        lost = [fleet.regret([fleet.number_of(plan) or 0]) for fleet in some]
        good = [bool(as_good(fleet, plan, "latency plan")) for fleet in some]
        better = [not as_good(fleet, "latency plan", plan) for fleet in some]
        mean, low, high = interval(lost)
        cells = [plan, f"{len(some)}", percent(mean), f"{100 * low:.1f} to {percent(high)}"]
        cells += [percent(float(np.mean(np.array(lost) > MISLED)))]
        rows.append([*cells, percent(float(np.mean(good))), percent(float(np.mean(better)))])
    head = ("placed by", "fleets", "goodput lost", "95% interval", "more than 5%")
    return table((*head, "as good as the latency plan", "better than it"), rows)


def plan_level_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what each way to place loses at each level."""
    levels = sorted({fleet.level for fleet in fleets})
    rows = []
    for plan in (*PLANS, "predicted goodput"):
        cells = []
        for level in levels:
            at = [(f, f.number_of(plan)) for f in fleets if f.level == level]
            cells.append(percent(float(np.mean([f.regret([n]) for f, n in at if n is not None]))))
        rows.append([plan, *cells])
    return table(("placed by", *(f"level {level:g}" for level in levels)), rows)


def plan_regime_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what plans lose by regime; the pressure plan also against the latency plan."""
    plans = ("greedy", "pressure plan", "latency plan", "predicted goodput")
    rows = []
    for regime in REGIMES:
        for told, keeps in ((f"up to {KEEPS:g}", True), ("beyond", False)):
            some = [f for f in fleets if f.regime == regime and _keeps(f) is keeps]
            if not some:
                continue
            lost = {p: np.array([f.regret([f.number_of(p) or 0]) for f in some]) for p in plans}
            more, low, high = interval(lost["pressure plan"] - lost["latency plan"])
            cells = [percent(float(lost[plan].mean())) for plan in plans]
            between = f"{percent(more)} ({100 * low:.1f} to {percent(high)})"
            rows.append([f"{regime}, {told}", *cells, between])
    return table(("regime and level", *plans, "pressure plan loses more than latency plan"), rows)


def promise_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what the law promises and what is kept, where it says that all targets hold."""
    rows = []
    for regime in REGIMES:
        for sharing in sorted({f.sharing for f in fleets if f.regime == regime}, reverse=True):
            some = [f for f in fleets if (f.regime, f.sharing) == (regime, sharing)]
            kept, worst = _promised(some)
            cells = [f"{len(kept)}", percent(float(np.mean(kept))), percent(float(np.mean(worst)))]
            cells += [percent(float(np.mean(np.array(kept) < BROKEN)))]
            rows.append([f"{regime}, {sharing}", *cells])
    head = ("regime", "placements", "requests in time", "of the worst model")
    return table((*head, "less than 90% in time"), rows)


def _promised(fleets: Sequence[StoredFleet]) -> tuple[list[float], list[float]]:
    """Return attainments, and those of the worst models, where the law says that targets hold."""
    kept: list[float] = []
    worst: list[float] = []
    for fleet in fleets:
        fine = fleet.figures["ratio"] <= 1.0
        kept += list(fleet.outcomes["attainment"][fine].mean(axis=1))
        worst += list(fleet.outcomes["worst"][fine].mean(axis=1))
    return kept, worst


def published_table(fleets: Sequence[StoredFleet]) -> str:
    """Return the same for the published fleets."""
    rows = []
    for regime in PUBLISHED:
        for level in sorted({fleet.level for fleet in fleets if fleet.regime == regime}):
            some = [f for f in fleets if f.regime == regime and f.level == level]
            spread = float(np.mean([fleet.spread for fleet in some]))
            named = [
                [fleet.regret([fleet.number_of(plan) or 0]) for fleet in some]
                for plan in ("greedy", "pressure plan", "latency plan")
            ]
            cells = [regime, f"{level:g}" if level else "as published", f"{len(some)}"]
            cells += [percent(spread), *(percent(float(np.mean(lost))) for lost in named)]
            rows.append(cells)
    head = ("fleet", "level", "runs", "worst placement loses", "greedy", "pressure plan")
    return table((*head, "latency plan"), rows) if rows else ""
