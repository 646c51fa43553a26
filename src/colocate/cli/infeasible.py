"""What `colocate plan` prints when nothing fits: the conflict, and changes that would help."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet


def explain_infeasible(
    path: Path, fleet: "Fleet", time_limit: float | None, by_strategy: bool
) -> None:
    """Write to stderr which models do not fit together and which changes would help.

    Parameters
    ----------
    path
        The fleet file; configs that it names give the sizes of quantised models.
    fleet
        The fleet that the file states.
    time_limit
        Seconds for it, if the user has set a limit.
    by_strategy
        Whether a strategy failed to place the models, not the solver.
    """
    from colocate.advise.remedies.diagnosis import SECONDS, diagnose_fleet
    from colocate.advise.remedies.quantising import configs_in
    from colocate.inputs.huggingface import ConfigLookup
    from colocate.outputs.explain.remedies import diagnosis_lines
    from colocate.outputs.text.console import notes

    seconds = min(time_limit or SECONDS, SECONDS)
    with notes().status("looking for changes that would help"):
        configs = configs_in(path, ConfigLookup.from_environment(path.parent, os.environ))
        diagnosis = diagnose_fleet(fleet, configs, seconds)
    for line in diagnosis_lines(diagnosis, by_strategy):
        notes().print(line, markup=False)
