"""Reports: one file that needs nothing beside it, and the same as Markdown."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from small import SMALL

from digitwise.cli import main
from digitwise.encodings import Absolute
from digitwise.pages.report import write
from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run
from digitwise.runs.results import save_measured
from digitwise.runs.training import train

COMMITTED = Path(__file__).parents[2] / "results" / "cpu"


class Page(HTMLParser):
    """What a page has: tags, texts, and everything that would have to be fetched."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href") and not value.startswith(("#", "data:")):
                self.fetched.append(value)
            if tag == "a" and name == "href":
                self.linked.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag in self.open:
            self.open.remove(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes something else"

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds of one experiment, and one of another, trained and tested for real."""
    root, found = tmp_path_factory.mktemp("runs"), []
    for number, experiment in enumerate((SMALL, replace(SMALL, seed=1), replace(SMALL, encoding=Absolute()))):
        run = Run.create(root / f"folder{number}", experiment)
        train(run)
        evaluate(run)
        found.append(run)
    return found


def test_runs_as_one_file_and_as_markdown(runs, tmp_path, capsys):
    to = tmp_path / "out" / "mine.html"
    assert main(["report", *(str(run.folder) for run in runs), "--to", str(to), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"] == [str(to), str(to.with_suffix(".md"))] and document["figures"] == 2
    page = Page(to.read_text())
    assert page.open == [] and page.fetched == [] and "script" not in page.tags
    assert page.tags.count("svg") == 2 and len(page.ids) == len(set(page.ids))
    text = " ".join(page.texts)
    assert (
        "relative positions" in text and "absolute positions" in text and "folder0" not in text.split("Environment")[0]
    )
    assert "40 problems per point and seed, 1 to 2 seeds" in text  # the caption of the figure
    assert page.tags.count("nav") == 0  # few parts need no contents
    assert "training.steps" in text and "torch" in text and "None of these models was trained until a proof" in text
    markdown = to.with_suffix(".md").read_text()
    for link in re.findall(r"!\[.*?\]\((.*?)\)", markdown):
        assert (to.parent / link).read_text().startswith("<?xml")
    assert markdown.count("![") == 2 and "| training.steps | 20 |" in markdown


def test_the_same_results_give_the_same_report(runs, tmp_path):
    for name in ("a", "b"):
        write([run.folder for run in runs], tmp_path / name / "report.html")
    assert (tmp_path / "a" / "report.html").read_bytes() == (tmp_path / "b" / "report.html").read_bytes()


def test_a_proven_run_shows_its_certificate(tmp_path):
    write([COMMITTED / "proof" / "sum-seed10"], tmp_path / "report.html")
    text = " ".join(Page((tmp_path / "report.html").read_text()).texts)
    assert "the sum of any two numbers, of any length, is right" in text and "827" in text


def test_heat_maps_are_inside_the_file_and_their_numbers_are_not_in_a_table(tmp_path):
    row = {"recipe": "m1-rpe", "seed": 10, "layer": 0, "multiplier": 1, "longest": [-1, 0, 1], "effective number": 2.1,
           "distances": [-1, 0, 1], "value": [1.0] * 3, "change": [1.0] * 3, "vectors": [[0.125, 0.5]] * 3}  # fmt: skip
    save_measured(tmp_path / "maps", [row])
    document = write([tmp_path], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert document["figures"] == page.tags.count("svg") == 2 and page.fetched == [] and "image" in page.tags
    assert len(page.ids) == len(set(page.ids))
    assert "effective number" in text and "0.125" not in text


@pytest.mark.slow
def test_the_committed_results(tmp_path):
    document = write([COMMITTED], tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert page.open == [] and page.fetched == [] and "script" not in page.tags
    assert len(page.ids) == len(set(page.ids)) and document["figures"] == page.tags.count("figure") > 30
    assert "img" not in page.tags  # every figure is a drawing, the theory's too
    headings = re.findall(r'<h2 id="(.*?)">(.*?)</h2>', (tmp_path / "report.html").read_text())
    assert len({text for _, text in headings}) == len(headings) > 30 and page.tags.count("nav") == 1
    assert [f"#{name}" for name, _ in headings] == page.linked
    captions = re.findall("<figcaption>(.*?)</figcaption>", (tmp_path / "report.html").read_text())
    assert not any(re.search(r"_|\.png|-seed|accuracy", caption) for caption in captions)  # words, not names of files
    text = " ".join(page.texts)
    for words in ("Encodings that state the symmetry", "inconclusive", "holds", "Training loss", "proven", "numpy"):
        assert words in text
    markdown = (tmp_path / "report.md").read_text()
    assert markdown.count("![") == document["figures"]
    assert all((tmp_path / link).exists() for link in re.findall(r"!\[.*?\]\((.*?)\)", markdown))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "is not a run folder"),
        (["."], "has no results"),
        ([".", "--to", "report.pdf"], "ends in .html"),
    ],
)
def test_mistakes(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
