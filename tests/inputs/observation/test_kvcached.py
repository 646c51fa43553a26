"""The router of kvcached on loopback."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from colocate.errors import InputError, SourceError, Trouble
from colocate.inputs.observation.from_kvcached import observe_kvcached
from colocate.inputs.observation.observation import Basis, Remark
from tests.inputs.observation.fake_prometheus import Store, serving


def stats(counts):
    """An answer of the router, for a number of requests a second of each model."""

    def answer(handler):
        window = float(parse_qs(urlsplit(handler.path).query)["window"][0])
        data = {
            name: {"total_requests": min(round(each * window), 1000), "request_rate": each}
            for name, each in counts.items()
        }
        handler.reply(200, json.dumps({"traffic_stats": data, "window_seconds": window}))

    return answer


def observed(answer, window=60.0, **more):
    with serving(Store(), answer) as (url, asked):
        return observe_kvcached(f"{url}/traffic/stats", window, **more), asked


def test_rates_count_requests_that_ended():
    found, asked = observed(stats({"a": 2.0, "b": 0.5}), mapping={"b": "beta"})
    assert [model.name for model in found.models] == ["a", "beta"]
    assert found.models[0].rate.value == pytest.approx(2.0)
    assert found.models[0].rate.margin == pytest.approx(1.959964 * 120**0.5 / 60)
    assert found.models[0].basis is Basis.COMPLETED
    assert [note.remark for note in found.notes] == [Remark.ENDED_ONLY]
    assert found.kind == "kvcached"
    assert len(asked) == 1


def test_more_requests_than_it_remembers_are_asked_for_over_less_time():
    found, asked = observed(stats({"a": 100.0, "b": 0.5}))
    assert found.models[0].rate.value == pytest.approx(100.0)
    assert found.models[1].rate.value == pytest.approx(0.5)
    assert len(asked) == 3  # 60, 15 and 4 seconds


def test_more_than_a_thousand_a_second_are_refused():
    with pytest.raises(SourceError, match="forgets all but 1000") as caught:
        observed(stats({"a": 2000.0}))
    assert caught.value.trouble is Trouble.NONSENSE


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ('{"traffic_stats": {}}', Trouble.EMPTY),
        ("hello", Trouble.NONSENSE),
        ('{"traffic_stats": {"a": {}}}', Trouble.NONSENSE),
        ('{"traffic_stats": {"a": {"total_requests": -3}}}', Trouble.NONSENSE),
        ('{"traffic_stats": {"a": {"total_requests": NaN}}}', Trouble.NONSENSE),
        ("[1]", Trouble.NONSENSE),
    ],
)
def test_what_cannot_be_used_is_one_sentence(text, trouble):
    with pytest.raises(SourceError) as caught:
        observed(lambda handler: handler.reply(200, text))
    assert caught.value.trouble is trouble


def test_a_router_that_is_not_there():
    with pytest.raises(SourceError, match="check the address: the router of kvcached") as caught:
        observed(lambda handler: handler.reply(404, "no"))
    assert caught.value.trouble is Trouble.DOWN
    with pytest.raises(InputError, match="window"):
        observe_kvcached("http://a", 0.0)
