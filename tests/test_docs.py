"""Pages stay true: made parts equal what would be made now, numbers have a source, snippets run, links and paths lead
somewhere."""

import pkgutil
import re
import shlex

import pytest
from pages import BLOCK, LOG, PAGES, ROOT, SOURCE, made, measured

from digitwise.cli import parser, split_changes
from digitwise.pages import LIMITS

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", [*PAGES, LOG], ids=lambda page: page.name)
def test_made_parts_are_up_to_date(page):
    text = page.read_text()
    assert made(text) == text, "run: python docs/pages.py"


@pytest.mark.parametrize("page", [*PAGES, LOG], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


#: Pages that quote accuracies in their sentences. Errata and laws quote exact numbers too, which other tests hold.
QUOTING = [
    "README.md",
    "docs/beyond.md",
    "docs/encodings.md",
    "docs/footguns.md",
    "docs/reproduction.md",
    "docs/text.md",
]


@pytest.mark.parametrize("name", QUOTING)
def test_every_accuracy_in_a_sentence_has_a_source(name):
    """From results (`<!-- = ... -->`, made), from the log, or said to come from elsewhere."""
    text = BLOCK.sub("", (ROOT / name).read_text())
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for number, source in re.findall(r"(?<![\w.])([01]\.\d\d+)\b(<!-- .*?-->)?", text):
        assert source.startswith(("<!-- = ", "<!-- log -->", "<!-- elsewhere: ")), f"{name}: {number}"
        assert source != "<!-- log -->" or number in LOG.read_text(), f"{number} is not in the log"


def test_a_number_that_results_do_not_have_is_noticed():
    assert made("0.10<!-- = quickstart/relative last uniform 9 -->").startswith("0.9")
    with pytest.raises(ValueError, match="0 counts in 5 runs"):
        measured("quickstart/relative last uniform 11")


@pytest.mark.parametrize("page", [*PAGES, LOG], ids=lambda page: page.name)
def test_files_and_tests_that_pages_name_are_there(page):
    text = page.read_text()
    for path in re.findall(r"`([\w./-]+\.(?:py|md))", text):
        assert any((root / path).exists() for root in (ROOT, SOURCE)) or path.endswith("mine.py"), path
    test = ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)", text):
        test = (ROOT / path).read_text() if path else test  # further tests of a file are named without it
        assert f"def {name}(" in test, f"{page.name}: {path}::{name}"


@pytest.mark.parametrize("number", range(README.count("```python")))
def test_the_readmes_snippets_run(number, tmp_path, monkeypatch, capsys):
    snippet = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[number]
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    if "dw.evaluate" in snippet:
        assert "8 digits" in capsys.readouterr().out


@pytest.mark.parametrize("number", range(2))
def test_the_snippets_about_text_run(number):
    page = (ROOT / "docs" / "text.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(snippets) == 2
    names: dict = {"__name__": "text"}
    exec(compile(snippets[number], "text.md", "exec"), names)
    assert number == 0 or names["output"].shape == names["x"].shape


def test_every_command_in_the_readme_parses():
    blocks = "".join(re.findall(r"^```\w*\n(.*?)^```", README, re.DOTALL | re.MULTILINE))
    commands = re.findall(r"^digitwise (.*?)(?:\s+#.*)?$", blocks, re.MULTILINE)
    assert len(commands) > 6
    for line in commands:
        words = line.replace("RUN...", "RUN").split()
        parser().parse_known_args(words)


def test_every_command_on_the_page_about_proofs_parses():
    commands = re.findall(r"^digitwise (.*?)(?:\s+#.*)?$", (ROOT / "docs" / "proof.md").read_text(), re.MULTILINE)
    assert len(commands) == 4
    for line in commands:
        assert parser().parse_known_args(line.split())[1] == []


def test_every_command_on_the_page_about_looking_parses():
    page = (ROOT / "docs" / "demo.md").read_text()
    commands = re.findall(r"^digitwise (.*?)(?:\s+#.*)?$", page, re.MULTILINE)
    assert len(commands) == 11
    for line in commands:
        words, changes = split_changes(line.replace("RUN...", "RUN").split())
        assert parser().parse_known_args(words)[1] == [] and set(changes) <= {"encoding", "width", "steps", "seed"}


def test_the_limits_of_the_local_page_are_those_of_the_code():
    page = " ".join((ROOT / "docs" / "demo.md").read_text().split())
    digits, numbers, multiplier = (f"{LIMITS[name]:,}" for name in ("digits", "numbers", "multiplier"))
    assert f"up to {digits} digits, up to {numbers} of them, and multipliers of up to {multiplier} digits" in page


def test_the_papers_index_points_at_code_and_commands():
    page = (ROOT / "docs" / "paper-index.md").read_text()
    for quoted in re.findall(r"`([^`]+)`", page):
        if quoted.startswith("digitwise "):
            parser().parse_known_args(shlex.split(quoted)[1:])
        else:
            assert pkgutil.resolve_name(f"digitwise.{quoted}")


def test_no_page_speaks_of_machines_or_registries():
    for page in [*PAGES, LOG, ROOT / "CHANGELOG.md"]:
        assert not re.search(r"(?<![\w.])/(work|root|tmp|home)/", page.read_text()), page.name
