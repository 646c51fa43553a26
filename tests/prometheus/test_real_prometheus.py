"""A real Prometheus that scrapes engines with the real names of metrics, on loopback."""

import json
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
import yaml

from colocate.errors import SourceError, Trouble
from colocate.inputs.observation.metrics.from_prometheus import (
    PrometheusQuestion,
    observe_prometheus,
)
from colocate.inputs.observation.observation import Basis, Remark
from tests.prometheus.exporter import (
    TOKENS,
    TPOT,
    TTFT,
    dynamo,
    exporting,
    sglang,
    tgi,
    trtllm,
    vllm,
)
from tests.prometheus.server import running_prometheus

ENGINES = {
    "vllm-a": vllm("llama", 6.0, growing=3.0),
    "vllm-b": vllm("llama", 4.0),
    "worker": vllm("behind", 5.0),
    "sglang": sglang("qwen", 8.0),
    "tgi": tgi(7.0),
    "trtllm": trtllm("mixtral", 5.0),
    "dynamo": dynamo("behind", 9.0),
}
RATES = {"llama": 13.0, "behind": 9.0, "qwen": 8.0, "gemma": 7.0, "mixtral": 5.0}
"""With the queue of llama, and requests that started where they are counted."""
SECONDS = 45.0
"""How long is scraped."""
WINDOW = 40.0


def config(port):
    jobs = [
        {
            "job_name": name,
            "metrics_path": f"/{name}",
            "static_configs": [
                {
                    "targets": [f"127.0.0.1:{port}"],
                    "labels": {"model_name": "gemma"} if name == "tgi" else {},
                }
            ],
        }
        for name in ENGINES
    ]
    return {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """A Prometheus server that has scraped for a while, and the engines."""
    with exporting(ENGINES) as exporter:
        folder = tmp_path_factory.mktemp("prometheus")
        with running_prometheus(folder, config(exporter.server_port)) as url:
            sleep(SECONDS / 2)
            exporter.restart("vllm-b")
            sleep(SECONDS / 2)
            yield url, exporter


def test_it_tells_what_engines_count(scraped):
    url, _ = scraped
    found = observe_prometheus(url, PrometheusQuestion(window=WINDOW))
    print()
    for model in found.models:
        print(
            f"{model.name}: {model.rate.value:.2f} ± {model.rate.margin:.2f}, {model.basis.value}"
        )
    assert {model.name for model in found.models} == set(RATES)
    for model in found.models:
        assert model.rate.value == pytest.approx(RATES[model.name], rel=0.12)
        assert model.prompt_tokens.value == pytest.approx(TOKENS["prompt"], rel=0.02)
        assert model.output_tokens.value == pytest.approx(TOKENS["output"], rel=0.02)
        assert model.tpot.value == pytest.approx(TPOT, rel=0.02)
        if model.name != "gemma":  # TGI has no time to the first token
            assert model.ttft.value == pytest.approx(TTFT, rel=0.02)
    bases = {model.name: model.basis for model in found.models}
    assert bases == {
        "llama": Basis.QUEUE, "behind": Basis.STARTED, "qwen": Basis.QUEUE, "gemma": Basis.STARTED,
        "mixtral": Basis.QUEUE,
    }  # fmt: skip
    llama = found.named("llama")
    assert llama.replicas == 2
    assert llama.cache.value == pytest.approx(0.5)
    assert llama.busy.value == 1.0
    assert found.named("qwen").busy.value == 0.0
    assert found.named("behind").cache.value == pytest.approx(0.5)
    remarks = {note.remark: note for note in found.notes}
    assert remarks[Remark.RESTARTS].models == ("llama",)
    assert remarks[Remark.GROWING].models == ("llama",)
    assert Remark.CLOCK not in remarks


def test_where_and_names_that_do_not_exist(scraped):
    url, _ = scraped
    one = observe_prometheus(url, PrometheusQuestion(window=WINDOW, where='job="sglang"'))
    assert [model.name for model in one.models] == ["qwen"]
    with pytest.raises(SourceError, match="has no metrics of an engine") as caught:
        observe_prometheus(url, PrometheusQuestion(window=WINDOW, where='job="no"'))
    assert caught.value.trouble is Trouble.EMPTY
    with pytest.raises(SourceError, match=r"400 .*parse error") as caught:
        observe_prometheus(url, PrometheusQuestion(window=WINDOW, where="job=no"))
    assert caught.value.trouble is Trouble.DOWN


def test_more_points_than_it_allows_are_asked_for_in_pieces(scraped):
    url, _ = scraped
    found = observe_prometheus(url, PrometheusQuestion(window=3 * 86400.0, step=10.0))
    assert found.bin_seconds == 10.0
    assert found.seconds <= 180.0  # there is no more history
    assert found.named("qwen").rate.value == pytest.approx(8.0, rel=0.15)


def test_the_command_writes_a_fleet(scraped, tmp_path):
    url, _ = scraped
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("""# ours
gpus: [{kind: H200, count: 2}]
models:
  - {name: llama, size_gb: 16, rate: 1, slo: 5}   # guessed
  - {name: other, size_gb: 16, rate: 1, slo: 5}
""")
    command = [Path(sys.executable).parent / "colocate", "observe", url, "--window", "40s"]
    done = subprocess.run(
        [*command, "--fleet", fleet, "--update"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "# guessed" in fleet.read_text()
    assert yaml.safe_load(fleet.read_text())["models"][0]["rate"] == pytest.approx(13.0, rel=0.12)
    assert "not measured, so what the fleet states stays: 'other'" in done.stderr
    assert "overloaded" in done.stderr
    data = json.loads(subprocess.check_output([*command, "--json"], text=True))
    assert len(data["models"]) == len(RATES)


def test_engines_that_fall_silent_are_gone_and_not_idle(scraped):
    url, exporter = scraped
    exporter.silent |= {"sglang"}
    sleep(12.0)
    found = observe_prometheus(url, PrometheusQuestion(window=WINDOW, step=2.0))
    assert found.named("qwen").rate.value == pytest.approx(8.0, rel=0.15)
    assert Remark.GONE in {note.remark for note in found.notes if note.models == ("qwen",)}
    exporter.silent |= set(ENGINES)
    sleep(5.0)
    with pytest.raises(SourceError) as caught:
        observe_prometheus(url, PrometheusQuestion(window=WINDOW))
    assert caught.value.trouble is Trouble.LATE
