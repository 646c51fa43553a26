"""The plan file: what `colocate plan --json` printed."""

import json
from pathlib import Path
from typing import Any

from colocate.errors import InputError
from colocate.inputs.text_file import naming, read_text


def read_plan(path: str | Path) -> dict[str, Any]:
    """Return the plain data of a plan; what it says is for the checker to judge."""
    with naming(path):
        try:
            data = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise InputError(f"not valid JSON, {error}") from None
        if not isinstance(data, dict):
            raise InputError("found no plan, must be what `colocate plan --json` prints")
        return data
