"""A run to be killed: python -m tests.lab.killed_run ARCHIVE GENERATIONS."""

import sys
from pathlib import Path

from colocate.lab.archive import Archive
from colocate.lab.lab_folder import settings_of
from colocate.lab.settings import Budget
from tests.lab.toy import ToyEvaluation, ToyProposer, lab

if __name__ == "__main__":
    with Archive.open(Path(sys.argv[1]), writing=True) as archive:
        search = lab(archive, settings_of(archive), ToyProposer(0.01), ToyEvaluation(0.01), 2)
        print("begun", flush=True)
        search.run(Budget(generations=int(sys.argv[2])), lambda generation, best: None)
