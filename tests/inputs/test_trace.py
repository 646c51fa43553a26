"""Traces are read in constant memory, and a bad one gets one sentence with its line."""

import gzip
import tracemalloc
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem
from colocate.errors import InputError
from colocate.inputs import line_blocks as blocks
from colocate.inputs.trace import reading as module
from colocate.inputs.trace.reading import NO_MODEL, Trace
from colocate.problem.requests import EngineSpeed, Requests
from colocate.simulate.demand import requests as streams
from colocate.simulate.demand.kinds import TraceDemand
from tests.campaign import campaign

OURS = "arrival_s,model,prompt_tokens,output_tokens\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
MODELS = ("a", "b", "c, large")


def written(folder, text):
    path = folder / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def stored(text, kept):
    """Return a gzip file cut short after so many bytes of its text, which is not compressed."""
    header = 10 + 5
    return gzip.compress(text.encode(), compresslevel=0, mtime=0)[: header + kept]


def read(folder, text, mapping=(), models=MODELS):
    """Return the rows of a trace: arrival, model, prompt, output."""
    parts = list(Trace(written(folder, text), dict(mapping)).rows(models))
    return [
        (float(arrival), int(model), int(prompt), int(output))
        for part in parts
        for arrival, model, prompt, output in zip(*part, strict=True)
    ]


def test_our_columns_in_any_order_and_among_others(tmp_path):
    assert read(tmp_path, OURS + "0.5,b,10,20\n0.5,a,7,0\n") == [(0.5, 1, 10, 20), (0.5, 0, 7, 0)]
    mixed = "id, Output_Tokens ,model,note,ARRIVAL_S,prompt_tokens\n1,20,b,x,3,10.0\n"
    assert read(tmp_path, mixed) == [(3.0, 1, 10, 20)]


@pytest.mark.parametrize(
    "text",
    [
        OURS + "1,a,2,3",
        "\ufeff" + OURS + "1,a,2,3\n",
        (OURS + "1,a,2,3\n").replace("\n", "\r\n"),
        (OURS + "1,a,2,3").replace("\n", "\r\n") + "\r",
        "\n \n" + OURS + "\n\n1,a,2,3\n\n",
        OURS + '"1","a","2","3"\n',
        OURS + " 1 ,a , 2 , 3\n",
    ],
)
def test_files_as_programs_write_them(tmp_path, text):
    assert read(tmp_path, text) == [(1.0, 0, 2, 3)]


def test_a_quoted_name_may_have_a_comma(tmp_path):
    assert read(tmp_path, OURS + '1,"c, large",2,3\n') == [(1.0, 2, 2, 3)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-16 18:17:03.9799600", "2023-11-16 18:17:04.0319600"),
        ("2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:00.061930+00:00"),
        ("2024-05-10 23:59:59.948000+00:00", "2024-05-11 00:00:00+00:00"),
        ("2024-05-10T23:59:59.948Z", "2024-05-11T02:00:00+02:00"),
    ],
)
def test_azure_traces_of_both_years(tmp_path, first, second):
    text = AZURE + f"{first},4808,10\n{second},3180,8\n"
    (begin, *others), (later, *more) = read(tmp_path, text)
    assert (begin, others, more) == (0.0, [NO_MODEL, 4808, 10], [NO_MODEL, 3180, 8])
    assert later == pytest.approx(0.052, abs=1e-9)


def test_burstgpt_in_both_forms_without_its_failures(tmp_path):
    mapping = {"ChatGPT": "a", "GPT-4": "b"}
    short = BURST + "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,API log\n"
    short += "118,GPT-4,417,276,693,Conversation log\n"
    assert read(tmp_path, short, mapping) == [(0.0, 0, 472, 18), (113.0, 1, 417, 276)]
    long = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
    long += "Log Type\n0.5,1,2.3,GPT-4,100,50,150,Conversation log\n"
    assert read(tmp_path, long, mapping) == [(0.0, 1, 100, 50)]


def test_names_of_the_fleet_need_no_mapping_and_a_mapping_comes_first(tmp_path):
    text = OURS + "1,a,2,3\n2,x,2,3\n"
    assert [row[1] for row in read(tmp_path, text, {"x": "b", "a": "b"})] == [1, 1]
    with pytest.raises(InputError, match=r"model for 'x'='d' is not known, must be one of: a, b"):
        read(tmp_path, text, {"x": "d"})


def test_a_prompt_has_at_least_the_token_that_begins_it(tmp_path):
    assert read(tmp_path, OURS + "1,a,0,3\n") == [(1.0, 0, 1, 3)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty, must be a CSV file with the columns arrival_s,model"),
        ("\n \n\n", "is empty"),
        (OURS, "has no requests, must be one request a line"),
        (BURST + "5,a,472,0,472,API log\n", "has no requests"),
        ("when,who\n1,2\n", "line 1: columns='when,who', must be arrival_s,model"),
        ("\nTimestamp\n1\n", "line 2: columns='Timestamp', must be"),
        (OURS.replace("arrival_s", "at"), "line 1: arrival_s is missing, must be one of the col"),
        ("TIMESTAMP,ContextTokens\n", "line 1: GeneratedTokens is missing"),
        (OURS.replace("model", "arrival_s"), "line 1: arrival_s stands there twice"),
        (OURS + "1,a,2\n", "line 2: has 3 fields, must be 4, as in the header"),
        (OURS + "1,a,2,3\n1,a,2,3,4\n", "line 3: has 5 fields"),
        (OURS + "1,gpt,2,3\n", "line 2: model='gpt' is not in the fleet, must be one of: a, b, c,"),
        (BURST + "1,gpt,2,3,5,x\n", "line 2: Model='gpt' is not in the fleet"),
        (OURS + "2,a,2,3\n\n1,a,2,3\n", "line 4: arrival_s='1' is earlier than the time before"),
        (OURS + "-1,a,2,3\n", "line 2: arrival_s='-1', must be seconds from 0 to 1e+10"),
        (OURS + "nan,a,2,3\n", "line 2: arrival_s='nan', must be seconds"),
        (OURS + "inf,a,2,3\n", "line 2: arrival_s='inf', must be seconds"),
        (OURS + "1700000000000,a,2,3\n", "arrival_s='1700000000000', must be seconds"),
        (OURS + "2024-05-10 00:00:00,a,2,3\n", "arrival_s='2024-05-10 00:00:00', must be seconds"),
        (OURS + ",a,2,3\n", "line 2: arrival_s='', must be seconds"),
        (OURS + "1,a,-2,3\n", "line 2: prompt_tokens='-2', must be a whole number from 0 to 10000"),
        (OURS + "1,a,2,1e400\n", "line 2: output_tokens='1e400', must be a whole number"),
        (OURS + "1,a,2,10000001\n", "line 2: output_tokens='10000001', must be a whole number"),
        (OURS + "1,a,2.5,3\n", "line 2: prompt_tokens='2.5', must be a whole number"),
        (OURS + "1,a,,3\n", "line 2: prompt_tokens='', must be a whole number"),
        (OURS + "1,a,NaN,3\n", "line 2: prompt_tokens='NaN', must be a whole number"),
        (OURS + "1,a,2,3\n1,a,\0,3\n", "line 3: prompt_tokens='\\x00', must be a whole number"),
        (OURS + '1,a,2,3\n1,"a,2,3\n', "line 3: cannot be read, unexpected end of data, must be C"),
        (AZURE + "5,2,3\n", "line 2: TIMESTAMP='5', must be a date and time"),
        (AZURE + "2024-05-10 00:00:01,2,3\n2024-05-10 00:00:00,2,3\n", "line 3: TIMESTAMP='2024-0"),
        (AZURE + "2024-05-10,2,3\n2024-05-10 01:00:00Z,2,3\n", "line 3: TIMESTAMP='2024-05-10 01"),
        (OURS.encode() + b"1,a,2,3\n1,\xff,2,3\n", "line 3: is not UTF-8, must be text"),
        (OURS.encode("utf-16"), "line 1: is not UTF-8, must be text"),
        (OURS + "1,a,2,3\n1," + "a" * 1_000_000 + ",2,3\n", "line 3: is too long, must be at mo"),
        (OURS + "1,a,2,3\n1," + "a" * 100_000 + ",2,3\n1,a,2,3\n", "line 3: is too long"),
        ("x" * 1_000_000, "line 1: is too long, must be at most 65536 bytes long"),
        (gzip.compress((OURS + "1,a,2,3\n" * 9).encode(), mtime=0)[:-9], "cannot be unpacked"),
        (stored(OURS + "1,a,2,3\n" * 9, len(OURS) + 28), "line 5: cannot be unpacked, Compressed"),
        (b"\x1f\x8bnothing", "cannot be unpacked"),
    ],
)
def test_a_bad_trace_gets_one_sentence(tmp_path, text, told):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'trace.csv'}: ")
    assert told in message
    assert "\n" not in message
    assert len(message) < len(str(tmp_path)) + 300


def test_a_file_that_is_not_there_or_no_file(tmp_path):
    with pytest.raises(InputError, match=r"no.csv: cannot be read, No such file"):
        list(Trace(tmp_path / "no.csv").rows(MODELS))
    with pytest.raises(InputError, match=r"cannot be read, Is a directory"):
        list(Trace(tmp_path).rows(MODELS))


def test_a_packed_trace_is_read_like_any_other(tmp_path):
    lines = [f"{n},{'ab'[n % 2]},{n % 9 + 1},{n}\n" for n in range(50_000)]
    packed = gzip.compress(OURS.encode()) + gzip.compress("".join(lines).encode())
    assert read(tmp_path, packed) == read(tmp_path, OURS + "".join(lines))


def test_lines_are_counted_across_blocks(tmp_path):
    lines = [f"{n},a,1,1\n" for n in range(60_000)]
    lines[50_000] = "50000,a,1,x\n"
    with pytest.raises(InputError, match=r"line 50002: output_tokens='x'"):
        read(tmp_path, OURS + "".join(lines))
    lines[50_000] = "49998.5,a,1,1\n"
    with pytest.raises(InputError, match=r"line 50002: arrival_s='49998.5' is earlier"):
        read(tmp_path, OURS + "".join(lines))


FIELDS = st.one_of(
    st.sampled_from(
        ["0", "1", "2", "2.0", "3.5", "-1", "nan", "", " 1 ", "1e3", "a", "b", '"', "x"]
    ),
    st.sampled_from(['"1"', '"a"', "1_0", "\r", "é", "9" * 30]),
)
LINES = st.one_of(
    st.lists(FIELDS, max_size=6).map(",".join),
    st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 9)).map(
        lambda row: ",".join(map(str, row))
    ),
)


@campaign(300)
@given(st.lists(LINES, max_size=8), st.sampled_from([OURS, BURST, AZURE]), st.integers(1, 40))
def test_any_text_is_read_alike_in_any_blocks_or_refused(tmp_path_factory, lines, header, block):
    folder = tmp_path_factory.mktemp("trace")
    text = header + "\n".join(lines)
    kept = blocks.BLOCK
    found = []
    for size in (kept, block):
        blocks.BLOCK = size
        try:
            found.append(read(folder, text))
        except InputError as error:
            found.append(str(error))
        finally:
            blocks.BLOCK = kept
    assert found[0] == found[1]


@campaign(200)
@given(st.data())
def test_plain_lines_and_quoted_ones_are_the_same(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("trace")
    rows = data.draw(
        st.lists(
            st.tuples(
                st.floats(0.0, 1e6),
                st.sampled_from("ab"),
                st.integers(0, 10**7),
                st.integers(0, 99),
            ),
            min_size=1,
        )
    )
    rows = sorted((repr(time), *map(str, rest)) for time, *rest in rows)
    rows.sort(key=lambda row: float(row[0]))
    plain = OURS + "\n".join(",".join(row) for row in rows)
    quoted = OURS + "\n".join(",".join(f'"{field}"' for field in row) for row in rows)
    assert read(folder, plain) == read(folder, quoted)


def test_lengths_have_the_same_limit_as_in_a_stream():
    assert module.MOST_TOKENS == streams.MOST_TOKENS


def fleet(**rates):
    speed = (("H", EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)),)
    models = [
        Model(name, 1.0, 1.0, 1.0, requests=Requests(rate, 9.0, speed))
        for name, rate in rates.items()
    ]
    return Problem([Gpu("g", 80.0, "H")], models)


def test_a_trace_without_models_is_spread_over_the_fleet(tmp_path):
    lines = [f"2024-05-10 00:{n // 60:02}:{n % 60:02},100,10\n" for n in range(3600)]
    demand = TraceDemand(Trace(written(tmp_path, AZURE + "".join(lines))), condense=2.0)
    (stream,) = demand.pieces(fleet(a=3.0, b=1.0, c=0.0), inf, 7)
    assert stream.arrival.tolist() == [n / 2.0 for n in range(3600)]
    assert abs(np.mean(stream.model == 0) - 0.75) < 0.03
    assert not (stream.model == 2).any()


def test_a_cut_trace_is_not_read_to_its_end(tmp_path):
    lines = [f"{n},a,1,1\n" for n in range(60_000)] + ["not read\n"]
    demand = TraceDemand(Trace(written(tmp_path, OURS + "".join(lines))), start=100.0)
    pieces = list(demand.pieces(fleet(a=1.0), 60.0, 0))
    assert sum(map(len, pieces)) == 60
    assert pieces[-1].seconds == 60.0


class Endless:
    """A file of so many lines that is nowhere: each block is made when it is read."""

    def __init__(self, lines):
        self.lines, self.done = lines, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def read1(self, size):
        if not self.done:
            self.done = 1
            return OURS.encode()
        here = range(self.done, min(self.done + size // 16, self.lines + 1))
        self.done = here.stop
        return b"".join(b"%d,a,12,34\n" % n for n in here)


@pytest.mark.parametrize("lines", [300_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_millions_of_lines_take_no_more_memory_than_thousands(monkeypatch, lines):
    peaks = []
    for number in (lines // 10, lines):
        monkeypatch.setattr(blocks, "opened", lambda path, number=number: Endless(number))
        tracemalloc.start()
        demand = TraceDemand(Trace("huge.csv"))
        assert sum(map(len, demand.pieces(fleet(a=1.0), inf, 0))) == number
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 40e6
