"""What servers say about fields that they do not take, as found in public bug reports."""

import json

import pytest

from colocate.lab.messages import UnusableAnswer
from colocate.lab.proposers.openai.lessons import lesson_of
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.request_form import RequestForm
from tests.lab.proposers.asked import GOOD, REQUEST, proposer
from tests.lab.protocol_server import Reply, completion, serving

FIELDS = {"model": "m", "seed": 7, "temperature": 0.7, "max_tokens": 8192, "top_p": 0.9}
TALK = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Do it."}]


def openai(message, param=None, code=None):
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return json.dumps({"error": error})


def learned(error, status=400, form=None, fields=FIELDS):
    """Return the fields that are sent after an error, without the model and the messages."""
    form = form or RequestForm()
    lesson = lesson_of(form, form.body(fields, TALK), status, error)
    if lesson is None:
        return None
    sent = lesson.form.body(fields, TALK)
    return {name: value for name, value in sent.items() if name not in ("model", "messages")}


def less(*names, **other):
    return {n: v for n, v in FIELDS.items() if n not in ("model", *names)} | other


RENAMED = less("max_tokens", max_completion_tokens=8192)
GEMINI = {
    "error": {
        "code": 400,
        "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.\n'
        'Invalid JSON payload received. Unknown name "top_p": Cannot find field.',
        "status": "INVALID_ARGUMENT",
        "details": [{"fieldViolations": [{"description": 'Unknown name "seed"'}]}],
    }
}
VLLM = (
    "[{'type': 'extra_forbidden', 'loc': ('body', '%s'), 'msg': 'Extra inputs are not permitted'}]"
)
CONTEXT = "This model's maximum context length is %d tokens. However, you requested "


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            openai(
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "max_tokens",
                "unsupported_parameter",
            ),
            RENAMED,
        ),
        (
            openai(
                "Unsupported value: 'temperature' does not support 0.7 with this model. "
                "Only the default (1) value is supported.",
                "temperature",
                "unsupported_value",
            ),
            less("temperature"),
        ),
        (openai("Unrecognized request argument supplied: seed"), less("seed")),
        (openai("Unrecognized request arguments supplied: seed, top_p"), less("seed", "top_p")),
        (openai("Unrecognized request argument supplied: max_tokens"), RENAMED),
        (json.dumps([GEMINI]), less("seed", "top_p")),
        (json.dumps({"object": "error", "message": VLLM % "seed", "code": 400}), less("seed")),
        (
            json.dumps({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_p"]}]}),
            less("top_p"),
        ),
        (
            openai("1 validation error for Request\nbody.seed\n  Extra inputs are not permitted"),
            less("seed"),
        ),
        (
            json.dumps({"message": "The model returned: seed: Extra inputs are not permitted"}),
            less("seed"),
        ),
        (openai("Extra inputs are not permitted, field: 'seed'"), less("seed")),
        (
            json.dumps({"type": "error", "error": {"message": "`temperature` is deprecated."}}),
            less("temperature"),
        ),
        (
            openai("`temperature` and `top_p` cannot both be specified for this model."),
            less("top_p"),
        ),
        (openai("property 'seed' is unsupported"), less("seed")),
        (openai("Model m does not support parameter seed."), less("seed")),
        (openai("Argument not supported on this model: top_p"), less("top_p")),
        (
            json.dumps(
                {
                    "error": {
                        "message": "Provider returned error",
                        "metadata": {"raw": openai("Unsupported parameter: 'seed'", "seed")},
                    }
                }
            ),
            less("seed"),
        ),
        (
            openai(
                "max_tokens is too large: 8192. This model supports at most 4096 completion "
                "tokens, whereas you provided 8192.",
                "max_tokens",
                "invalid_value",
            ),
            less(max_tokens=4096),
        ),
        (
            openai("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens"),
            less(max_tokens=4096),
        ),
        (
            openai("`max_tokens` must be less than or equal to `4096`, the maximum value"),
            less(max_tokens=4096),
        ),
        (
            openai("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
            less(max_tokens=4096),
        ),
        (
            openai(CONTEXT % 9000 + "10000 tokens (1808 in the messages, 8192 in the completion)."),
            less(max_tokens=7192),
        ),
        (
            openai(
                CONTEXT % 9000 + "8192 output tokens and your prompt contains at least 809 input "
                "tokens, for a total of at least 9001 tokens."
            ),
            less(max_tokens=4096),
        ),
        (
            openai(
                "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum "
                "context length is 4096 tokens and your request has 1000 input tokens "
                "(8192 > 4096 - 1000)."
            ),
            less(max_tokens=3096),
        ),
        (
            openai(CONTEXT % 900 + "10000 tokens (1808 in the messages, 8192 in the completion)."),
            None,
        ),
        (
            json.dumps({"error": {"message": "exceeds", "n_prompt_tokens": 14429, "n_ctx": 8192}}),
            None,
        ),
        (openai("The model `m` does not exist", None, "model_not_found"), None),
        (openai("Invalid 'messages': empty", "messages"), None),
        ("", None),
        ("{" * 100_000, None),
        ("seed", None),
    ],
)
def test_what_an_error_teaches(error, expected):
    assert learned(error) == expected


@pytest.mark.parametrize(
    "words",
    [
        "maximum context length is %s",
        '"n_ctx": %s',
        "maximum context length is 4096, you have %s input tokens",
        "the completion takes at most %s",
    ],
)
def test_a_number_of_thousands_of_digits_is_no_number_of_tokens(words):
    lesson = learned(words % ("9" * 5000))
    assert lesson in (None, learned(words % "many"))


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_other_faults_teach_nothing(status):
    assert learned(openai("Unsupported parameter: 'seed'", "seed"), status) is None


@pytest.mark.parametrize(
    "error",
    [
        {"object": "error", "message": "System role not supported", "code": 400},
        {"message": "Unsupported value: 'messages[0].role' does not support 'system' with this"},
        {"message": "Conversation roles must alternate user/assistant/user/assistant/..."},
        {"message": "Developer instruction is not enabled for models/gemma-3-27b-it"},
    ],
)
def test_a_model_without_a_system_role_gets_one_message(error):
    form = lesson_of(RequestForm(), RequestForm().body(FIELDS, TALK), 400, json.dumps(error)).form
    assert form.body(FIELDS, TALK)["messages"] == [
        {"role": "user", "content": "Be good.\n\nDo it."}
    ]
    assert lesson_of(form, form.body(FIELDS, TALK), 400, json.dumps(error)) is None


def test_a_server_that_takes_neither_name_of_the_limit_gets_none():
    form = RequestForm()
    for name in ("max_tokens", "max_completion_tokens"):
        error = openai(f"Unrecognized request argument supplied: {name}")
        form = lesson_of(form, form.body(FIELDS, TALK), 400, error).form
    assert not {"max_tokens", "max_completion_tokens"} & set(form.body(FIELDS, TALK))


def refusal(message, param=None):
    return Reply(openai(message, param), 400)


LIMIT = refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
HEAT = refusal("Unsupported value: 'temperature' does not support 0.7.", "temperature")


def test_it_is_learned_once_remembered_and_told_once():
    told = []
    with serving(LIMIT, HEAT, completion(GOOD)) as server:
        asked = proposer(server, tell=told.append)
        assert asked.propose(REQUEST).text == GOOD
        assert asked.propose(REQUEST).text == GOOD
    assert [set(seen.body) - {"model", "messages"} for seen in server.seen] == [
        {"seed", "temperature", "max_tokens"},
        {"seed", "temperature", "max_completion_tokens"},
        {"seed", "max_completion_tokens"},
        {"seed", "max_completion_tokens"},
    ]
    assert told == [
        "openai:small does not take max_tokens; the run sends max_completion_tokens instead "
        "(--rename max_tokens=max_completion_tokens says so from the start)",
        "openai:small does not take temperature; the run leaves it out "
        "(--leave-out temperature says so from the start)",
    ]


def test_each_model_of_a_server_has_its_own_form():
    models = (PricedModel("picky"), PricedModel("easy"))
    with serving(HEAT, completion(GOOD)) as server:
        asked = proposer(server, models=models)
        for _ in range(2):
            answer = asked.propose(REQUEST)
            asked.learn([(answer.who, 0.0, 0.0)])
    first, again, other = (seen.body for seen in server.seen)
    assert first["model"] == again["model"] != other["model"]
    assert "temperature" in first
    assert "temperature" not in again
    assert "temperature" in other


def test_fields_are_added_left_out_and_renamed():
    with serving(completion(GOOD)) as server:
        proposer(
            server,
            send={"top_p": 0.9, "reasoning_effort": "low"},
            left_out=("seed", "temperature"),
            renamed={"max_tokens": "max_output_tokens"},
        ).propose(REQUEST)
    asked = dict(server.seen[0].body)
    del asked["messages"]
    assert asked == {
        "model": "small",
        "top_p": 0.9,
        "reasoning_effort": "low",
        "max_output_tokens": 8192,
    }


def test_a_server_that_complains_for_ever_is_asked_a_few_times():
    with serving(refusal("Unsupported parameter: 'seed' 'top_p' 'max_tokens' 'max_x'")) as server:
        with pytest.raises(UnusableAnswer, match="answered 400"):
            proposer(server).propose(REQUEST)
        assert len(server.seen) < 8
