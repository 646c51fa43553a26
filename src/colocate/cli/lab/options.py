"""Options that several commands of the lab have."""

from pathlib import Path
from typing import Annotated

import typer

MOST_SEED = 2**31 - 1
"""As `colocate.arena.seeds` has it, which takes longer to load."""
Folder = Annotated[Path, typer.Option("--lab", help="The folder of the lab.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Programs judged at a time (default: one per core).")
]
FOLDER = Path("lab")
TASK_HELP = (
    "adrs, idle, tight, longtail, scale, fleet-windows, fleet-copies, fleet-latency, "
    "or the folder of a task."
)
CaseSeconds = Annotated[
    float | None,
    typer.Option(min=0.1, max=3600, help="Seconds for a case (default: as the task says)."),
]
CaseMemory = Annotated[
    int | None,
    typer.Option(min=64, max=1_048_576, help="MB for a case (default: as the task says)."),
]
TotalSeconds = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=1_048_576,
        help="Seconds for all cases of a run (default: as the task says, 300).",
    ),
]
HiddenSeed = Annotated[
    int | None,
    typer.Option(min=0, max=MOST_SEED, help="Ask fresh hidden cases, made from this seed."),
]
