from io import StringIO

import pytest
from rich.console import Console

from colocate import solve
from colocate.advise.service import services_of
from colocate.inputs.fleet import fleet_of
from colocate.outputs.plan.service_rows import service_rows
from colocate.outputs.plan.table import TOKENS_UNKNOWN, plan_table


def fleet(*models):
    gpus = [{"name": "g", "memory_gb": 50, "reserve_gb": 10, "count": 2}]
    return fleet_of({"gpus": gpus, "models": list(models)})


CHAT = {
    "name": "chat", "size_gb": 10, "rate": 1, "slo": 1, "prompt_tokens": 600, "output_tokens": 400,
    "kv_bytes_per_token": 1e5, "context_limit": 32_768, "only": ["g-0"],
}  # fmt: skip
ENCODER = {"name": "encoder", "size_gb": 2, "kv_bytes_per_token": 0, "context_limit": 512}
PLAIN = {"name": "plain", "size_gb": 5, "load": 0, "only": ["g-1"]}


def drawn(plan, fleet, width):
    console = Console(width=width, file=StringIO())
    console.print(plan_table(plan, width, services_of(plan, fleet)))
    return console.file.getvalue()


def test_what_every_replica_can_serve():
    stated = fleet(CHAT, ENCODER, PLAIN)
    plan = solve(stated.problem)
    chat, encoder, plain = services_of(plan, stated)
    left = 40 - 10 - (2 if encoder.gpus == ("g-0",) else 0)
    assert (chat.model, chat.replica, chat.gpus, chat.size_gb) == ("chat", 0, ("g-0",), 10)
    assert chat.least_cache_gb == pytest.approx(0.2016)
    assert chat.cache_gb == pytest.approx(left)
    assert chat.cache_tokens == (int(left * 1e4) // 16 - 1) * 16
    assert chat.requests_at_once == int(left / 1.024e-1)
    assert (chat.typical_request, chat.longest_request) == (1000, 2000)
    assert chat.longest_context == 32_768
    assert (encoder.cache_gb, encoder.cache_tokens, encoder.requests_at_once) == (0, None, None)
    assert encoder.longest_context == 512
    assert plain.cache_tokens is plain.longest_context is None
    assert plain.cache_gb == pytest.approx(35 - (2 if encoder.gpus == ("g-1",) else 0))


def test_rows_say_what_is_not_known_and_what_does_not_apply():
    stated = fleet(CHAT, ENCODER, PLAIN)
    rows, others = service_rows(services_of(solve(stated.problem), stated), 9)
    assert others == 0
    assert [row[2:] for row in rows][1:] == [
        ("none", "-", "-", "512"),
        (rows[2].cache, "?", "?", "?"),
    ]
    assert rows[0].requests.endswith(" x 1,000")


def test_of_many_models_the_tightest_are_shown():
    models = [
        {**PLAIN, "name": f"m{n}", "only": [], "size_gb": 1, "load": 1 + n} for n in range(12)
    ]
    stated = fleet(*models)
    services = services_of(solve(stated.problem), stated)
    rows, others = service_rows(services, 3)
    assert others == 9
    shown = {row.model for row in rows}
    most = max(each.cache_gb for each in services if each.model in shown)
    assert most <= min(each.cache_gb for each in services if each.model not in shown)


def test_the_table_of_a_plan_says_it():
    stated = fleet(CHAT, ENCODER, PLAIN)
    text = drawn(solve(stated.problem), stated, 120)
    assert "typical requests at once" in text
    assert TOKENS_UNKNOWN not in text
    stated = fleet(PLAIN)
    text = drawn(solve(stated.problem), stated, 120)
    assert "typical requests at once" not in text
    assert TOKENS_UNKNOWN in text
