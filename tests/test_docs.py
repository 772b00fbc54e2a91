"""Pages stay true: made parts equal what would be made now, snippets run, links lead somewhere."""

import pkgutil
import re
import shlex

import pytest
from pages import PAGES, ROOT, made

from digitwise.cli import parser

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_made_parts_are_up_to_date(page):
    text = page.read_text()
    assert made(text) == text, "run: python docs/pages.py"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "LOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


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


def test_the_papers_index_points_at_code_and_commands():
    page = (ROOT / "docs" / "paper-index.md").read_text()
    for quoted in re.findall(r"`([^`]+)`", page):
        if quoted.startswith("digitwise "):
            parser().parse_known_args(shlex.split(quoted)[1:])
        else:
            assert pkgutil.resolve_name(f"digitwise.{quoted}")


def test_no_page_speaks_of_machines_or_registries():
    for page in [*PAGES, ROOT / "LOG.md", ROOT / "CHANGELOG.md"]:
        assert not re.search(r"(?<![\w.])/(work|root|tmp|home)/", page.read_text()), page.name
