from pathlib import Path

from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.solver.plan import Plan, Status

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.yaml"


def test_nothing_found_where_nothing_is_proven_is_5(monkeypatch):
    def out_of_time(problem, **options):
        return Plan(problem, Status.UNKNOWN, reason="out of time")

    monkeypatch.setattr("colocate.solver.solve.solve", out_of_time)
    done = CliRunner().invoke(app, ["plan", str(EXAMPLE), "--no-remedies"])
    assert (done.exit_code, done.stdout) == (5, "")
    assert "out of time" in done.stderr
