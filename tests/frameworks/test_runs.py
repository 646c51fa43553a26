"""Each framework's own runner finishes a small run with our evaluator and a scripted model."""

import pytest

from tests.frameworks.runs import COMMANDS, finish_run, judged_run


@pytest.mark.parametrize("framework", COMMANDS)
def test_the_runner_of_a_framework_finishes_a_run(framework, tmp_path, python):
    ended = finish_run(framework, tmp_path, python)
    assert ended.code == 0, ended.output[-5000:]
    assert len(ended.prompts) >= 3
    asked = [prompt for prompt in ended.prompts if "compute_model_placement" in prompt]
    assert len(asked) >= 3
    assert any("21.89" in prompt for prompt in asked), "the score reaches the model"
    assert not any("hidden" in prompt.lower() for prompt in ended.prompts)
    first, *others = judged_run(tmp_path)
    assert first["score"] == pytest.approx(26.2332, abs=5e-5)
    assert first["best_of_the_run"]
    for row in (first, *others):
        assert row["claimed"] in (None, pytest.approx(row["score"]))
