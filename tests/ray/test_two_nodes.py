"""A real Ray cluster of two nodes on this machine; `make test-ray` runs this."""

from dataclasses import replace

import pytest
from ray.cluster_utils import Cluster

from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.tasks.placement import open_contest
from colocate.arena.tasks.start import start_program
from colocate.errors import InputError
from colocate.lab.archive import Archive
from colocate.lab.judging.evaluation import LocalEvaluation
from colocate.lab.judging.ray_cluster import connected
from colocate.lab.lab_folder import differences, make_lab
from colocate.lab.loop import Lab
from colocate.lab.proposers.composer.composer import Composer
from colocate.lab.settings import Budget, Settings

SETTINGS = Settings(proposals=2, review=2)
LOSES_ALL = "def compute_model_placement(gpu_num, models):\n    return {}\n"


@pytest.fixture(scope="module")
def address():
    here = {"num_cpus": 1}
    cluster = Cluster(initialize_head=True, head_node_args=here)
    cluster.add_node(**here)
    yield cluster.address
    cluster.shutdown()


def test_verdicts_are_those_of_one_machine(address):
    contest = open_contest("adrs")
    sources = [start_program(), LOSES_ALL]
    local = dict(LocalEvaluation(Referee()).judge(sources, contest, Repeats()))
    with connected(address, Referee()) as evaluation:
        assert len([node for node in evaluation.ray.nodes() if node["Alive"]]) == 2
        remote = dict(evaluation.judge(sources, contest, Repeats()))
    assert {place: verdict.walls for place, verdict in remote.items()} == {
        place: verdict.walls for place, verdict in local.items()
    }
    for place in (0, 1):
        assert timeless(remote[place].public) == timeless(local[place].public)
        assert timeless(remote[place].hidden) == timeless(local[place].hidden)


def timeless(tally):
    return [replace(result, seconds=0.0, cpu_seconds=0.0) for result in tally.results]


def test_the_same_seed_finds_the_same_programs(address, tmp_path):
    contest = open_contest("adrs")
    found = []
    local = LocalEvaluation(Referee())
    with connected(address, Referee()) as remote:
        for name, evaluation in (("local", local), ("remote", remote)):
            with make_lab(tmp_path / name, SETTINGS, start_program(), evaluation) as archive:
                lab = Lab(archive, SETTINGS, contest, evaluation, Composer())
                lab.run(Budget(generations=2), lambda generation, best: None)
                found.append(archive.programs())
    assert differences(*found) == []
    assert len(found[0]) > 1
    assert Archive.open(tmp_path / "remote" / "lab.db").setting("seed") == 0


def test_an_address_where_no_cluster_is_gets_a_sentence():
    with (
        pytest.raises(InputError, match="must be the address of a running cluster"),
        connected("127.0.0.1:1", Referee()),
    ):
        pass
