"""Draw the plan of the example fleet as docs/plan.svg, the picture in the README."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from colocate import read_fleet, solve
from colocate.outputs.plan_table import plan_table

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "fleet.yaml"
WIDTH = 135


def main() -> None:
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    plan = solve(read_fleet(EXAMPLE).problem)
    console.print("$ colocate plan examples/fleet.yaml", highlight=False)
    console.print(plan_table(replace(plan, seconds=0.0), WIDTH))
    svg = console.export_svg(title="colocate", unique_id="plan")
    fonts_from_afar = re.compile(r"@font-face \{.*?\}", re.DOTALL)
    (HERE / "plan.svg").write_text(fonts_from_afar.sub("", svg), encoding="utf-8")


if __name__ == "__main__":
    main()
