"""What `rocm-smi --showproductname --showmeminfo vram` prints, plain and with `--json`."""

import json
import re
from typing import Any

from colocate.inputs.discovery.found_gpu import LONGEST_PRINTED, FoundGpu, whole_number

COMMAND = "rocm-smi --showproductname --showmeminfo vram --json"
PLAIN_LINE = re.compile(r"GPU\[(\d{1,4})\]\s*:\s*([^:]{1,60}):\s*(.{1,200})")
CARD = re.compile(r"card(\d{1,4})")
SERIES = ("card series", "card_series", "market_name", "device name", "product name")
TOTAL, USED = "vram total memory (b)", "vram total used memory (b)"
MOST_BYTES = 10**15
"""More memory than any GPU has."""
MODELS = {
    "0x7408": "MI250X", "0x740c": "MI250X", "0x740f": "MI210", "0x74a0": "MI300A",
    "0x74a1": "MI300X", "0x74a2": "MI308X", "0x74a5": "MI325X", "0x74a8": "MI308X",
    "0x75a0": "MI350X", "0x75a3": "MI355X",
}  # fmt: skip
"""PCI numbers of cards, for versions that print no name."""


def rocm_gpus(text: str) -> list[FoundGpu]:
    """Return the GPUs that the output of `rocm-smi` shows."""
    cards = _from_json(text) or _from_plain(text)
    return [_gpu(number, cards[number]) for number in sorted(cards) if TOTAL in cards[number]]


def _gpu(number: int, fields: dict[str, str]) -> FoundGpu:
    named = next((fields[key] for key in SERIES if fields.get(key, "N/A") != "N/A"), "")
    name = named or MODELS.get(fields.get("card model", "").lower(), "") or "AMD GPU"
    total, used = (whole_number(fields.get(key, ""), MOST_BYTES) for key in (TOTAL, USED))
    return FoundGpu(
        name.strip()[:LONGEST_PRINTED],
        number=number,
        total_mib=total / 2**20 if total else None,
        used_mib=used / 2**20 if used else None,
        whole=False,
    )


def _from_json(text: str) -> dict[int, dict[str, str]]:
    try:
        data: Any = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return {}
    cards = data.items() if isinstance(data, dict) else ()
    return {
        int(found[1]): {str(key).lower(): str(value) for key, value in fields.items()}
        for card, fields in cards
        if (found := CARD.fullmatch(str(card))) and isinstance(fields, dict)
    }


def _from_plain(text: str) -> dict[int, dict[str, str]]:
    cards: dict[int, dict[str, str]] = {}
    for line in text.splitlines():
        if found := PLAIN_LINE.match(line):
            fields = cards.setdefault(int(found[1]), {})
            fields.setdefault(found[2].strip().lower(), found[3].strip())
    return cards
