import re
from time import process_time

import pytest

from colocate.lab.watch import html_page, status_page
from tests.lab.made_labs import START, lab_that_says, make_lab, program, verdict
from tests.lab.test_watch import drawn
from tests.pages import Page

MOST_SECONDS = 5
"""Of processor time; it takes about one, and more under coverage."""


def test_page_text_cannot_give_orders(hostile, tmp_path):
    text = html_page(hostile)
    page = Page(text)
    with lab_that_says("harmless", tmp_path / "harmless.db") as archive:
        assert page.shape == Page(html_page(archive)).shape
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert r"<script>document.title='taken'</script>" in page.text
    assert "# Review after 4 programs" in page.text
    assert r"\x1b[2J\x1b]0;taken\x07 \u202eturned \x00 &amp; '" in page.text


@pytest.mark.parametrize("lab", ["tiny", "large"])
def test_the_page_is_whole_and_needs_nothing_else(lab, request):
    text = html_page(request.getfixturevalue(lab))
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert not re.search(r"https?:|src=|url\(|@import|<link|<script", text)
    anchors = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    links = [attributes["href"] for attributes in page.all("a")]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(anchors)
    assert all(attributes["scope"] == "col" for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    for picture in page.all("svg"):
        assert picture["role"] == "img"
        assert set(picture["aria-labelledby"].split()) <= set(anchors)


def test_the_page_tells_the_ladder_with_verdicts_and_changes(tiny):
    page = Page(html_page(tiny))
    articles = [attributes["id"] for attributes in page.all("article")]
    assert articles == ["program-4", "program-1", "program-0"]
    assert "-GPU_MEMORY = 81\n+GPU_MEMORY = 84\n" in page.text
    assert "Verdict: score 23.5000, ratio 0.900000, hidden 0.900000, 2 of 2 valid" in page.text
    assert "score 23.5000, fitness 0.900000" in page.text, "the lineage says what its figures are"
    assert "6 programs. The best so far reaches 0.500000 of the optimum in" in page.text
    rows = [attributes["id"] for attributes in page.all("tr") if "id" in attributes]
    assert rows == ["row-4", "row-1", "row-3", "row-2", "row-0", "row-5"]


def test_only_the_start(tmp_path):
    with make_lab(tmp_path / "lab.db", [program(0, 0.8, name="start")]) as archive:
        page = Page(html_page(archive))
    assert [attributes["id"] for attributes in page.all("article")] == ["program-0"]
    assert "No parent to compare with" in page.text
    assert "No review yet; the first comes after 20 programs." in page.text


def test_an_optimal_program_stands_on_the_line(tmp_path):
    with make_lab(tmp_path / "lab.db", [program(0, 0.8), program(1, 1.0)]) as archive:
        text = html_page(archive)
    optimum = re.search(r'd="M62 ([\d.]+)H898" class="optimum"', text)[1]
    assert f'cy="{optimum}" r="4" class="rung"' in text


def test_hundreds_of_long_programs_are_drawn_quickly(tmp_path):
    def source(number):
        return START + "".join(f"def f_{n}(x): return x + {n * number}\n" for n in range(900))

    ratios = [1 - 0.5 / (1 + number) for number in range(200)]
    programs = [
        program(number, verdict((ratio,) * 50), (number - 1,), number // 4, source=source(number))
        for number, ratio in enumerate(ratios)
    ]
    with make_lab(tmp_path / "lab.db", programs) as archive:
        begun = process_time()
        text = html_page(archive)
        html_done = process_time()
        drawn(status_page(archive))
        done = process_time()
    assert html_done - begun < MOST_SECONDS
    assert done - html_done < MOST_SECONDS
    assert len(text.encode()) < 3_000_000
    assert "are left out here" in text
