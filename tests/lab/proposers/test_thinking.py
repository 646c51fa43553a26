import pytest

from colocate.lab.messages import NOBODY
from colocate.lab.patches.refusal import RefusalCode
from colocate.lab.proposers.openai.thinking import without_thinking
from tests.lab.proposers.asked import GOOD, REQUEST, proposer, unusable
from tests.lab.protocol_server import completion, serving


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nHm.\n</think>\n\nthe answer",
        "<thinking>Hm.</thinking>the answer",
        "<THINK>Hm.</THINK> the answer",
        "[THINK]Hm.[/THINK]the answer",
        "◁think▷Hm.◁/think▷the answer",
        "Hm. Hm.\n</think>\nthe answer",
        "<think>a\n<think>b</think>\nc</think>the answer",
        "<think>\nI open\n<think>\nonce too often\n</think>\nthe answer",
        "<think>a</think>\n<think>b</think>\nthe answer",
        "<reasoning>\nHm.\n</reasoning>\nthe answer\n<thought>\ngood so\n</thought>",
        "the answer\n<think>\nor rather",
    ],
)
def test_thinking_is_cut_out(text):
    assert without_thinking(text) == "the answer"


@pytest.mark.parametrize("text", ["<think>\nHm.", "<think>\nHm.\n<think>\nHm.", "<think>a</think>"])
def test_nothing_but_thinking(text):
    assert without_thinking(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "the answer\n",
        "I <think> so",
        "<CODE>\nx = '<think>'\ny = '<thinking>'\n</CODE>",
        "if a <think> b:\n    pass\n",
    ],
)
def test_an_answer_without_thinking_is_left_alone(text):
    assert without_thinking(text) == text


def test_ten_thousand_tags_are_read_at_once():
    text = "<think>\n" * 10_000 + "</think>\n" * 9_999
    assert without_thinking(text + "x") == "x"


def test_a_model_that_thinks_in_its_text_or_beside_it():
    draft = f"<think>\nMaybe so:\n{GOOD}\nNo.\n</think>\n{GOOD}"
    beside = completion(GOOD, reasoning_content=draft)
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": GOOD[:50]},
        {"type": "text", "text": GOOD[50:]},
        "\n",
        {"type": "image_url"},
        7,
    ]
    for reply in (completion(draft), beside, completion(parts)):
        with serving(reply) as server:
            assert proposer(server).propose(REQUEST).text.strip() == GOOD.strip()


CALL = [{"type": "function", "function": {"name": "search", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (completion(None), "no-text", "the answer has no text (finish_reason='stop')"),
        (completion(" \n"), "no-text", "the answer has no text"),
        (completion([]), "no-text", "the answer has no text"),
        (completion({"a": 1}), "no-text", "the answer has no text"),
        (completion("<think>Hm.</think>"), "no-text", "has only thinking and no text"),
        (completion(None, reasoning="Hm."), "no-text", "has only thinking and no text"),
        (
            completion("<think>Hm.", finish_reason="length"),
            "answer-cut-off",
            "cut off while it was thinking (finish_reason='length'); think less, or raise --max-",
        ),
        (
            completion(None, finish_reason="length"),
            "answer-cut-off",
            "cut off before its first word",
        ),
        (
            completion(None, refusal="I cannot\nhelp with that."),
            "model-refused",
            "the model refused to answer (I cannot help with that.)",
        ),
        (
            completion("Sorry", finish_reason="content_filter"),
            "filtered",
            "the server's filter stopped the answer (finish_reason='content_filter'); ask another",
        ),
        (completion("Sorry", finish_reason="SAFETY"), "filtered", "filter stopped the answer"),
        (
            completion(None, finish_reason="tool_calls", tool_calls=CALL),
            "tool-call",
            "the model called the tool 'search' instead of answering",
        ),
        (completion(None, tool_calls=[7]), "tool-call", "the tool of no name"),
        (completion("", function_call={"name": "f"}), "tool-call", "called the tool 'f'"),
    ],
)
def test_an_answer_that_is_none_is_told_as_what_it_is_and_paid_for(reply, code, words):
    with serving(reply) as server:
        refusal, answer = unusable(server)
    assert refusal.code is RefusalCode(code)
    assert words in str(refusal)
    assert (answer.who, answer.came) == ("openai:small", False)
    assert (answer.tokens_in, answer.tokens_out) == (1000, 200)
    assert answer.cost == pytest.approx((1000 * 2 + 200 * 10) / 1e6)
    assert answer.who != NOBODY


def test_an_answer_with_text_and_a_call_counts_as_text():
    with serving(completion(GOOD, tool_calls=CALL)) as server:
        assert proposer(server).propose(REQUEST).text == GOOD
