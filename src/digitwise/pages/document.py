"""A document of headings, paragraphs, tables and figures, written as one HTML file or as Markdown.

The HTML needs nothing beside it and no script: figures are inline SVG, long parts are folded.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from digitwise import tables

STYLE = """
:root { color-scheme: light dark; --soft: #59636e; --line: #c4ccd4; --good: #1a6b3c; --bad: #b3261e; --open: #7a4f00; }
@media (prefers-color-scheme: dark) { :root { --soft: #a5b0bb; --line: #4a545f; --good: #7fd6a0; --bad: #ff8a80;
  --open: #ffb454; } }
body { max-width: 70rem; margin: 0 auto; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); } figure { margin: 1rem 0; }
figure svg, figure img { max-width: 100%; height: auto; background: white; } figcaption { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); }
th, td { overflow-wrap: normal; } .number { text-align: right; } .words { min-width: 16rem; }
nav ul { columns: 24rem; padding-left: 1.2rem; } a { color: inherit; } summary { cursor: pointer; }
.holds, .proven { color: var(--good); font-weight: 600; } .fails, .refuted { color: var(--bad); font-weight: 600; }
.inconclusive, .open { color: var(--open); font-weight: 600; }
@media print { details > * { display: block; } }
"""
VERDICTS = ("holds", "fails", "inconclusive", "not run", "proven", "refuted", "open")
WORDS = 40
"""Letters from which on a cell needs some width, or a narrow screen makes a tower of it."""
FEW = 4
"""Headings up to which a page needs no contents."""


class Block:
    """A part of a document."""

    def html(self, number: int) -> str:
        """As HTML; `number` tells figures apart."""
        raise NotImplementedError

    def markdown(self, figures: Path, number: int) -> str:
        """As Markdown; files go to the folder of figures, which stands beside the document."""
        raise NotImplementedError


@dataclass(frozen=True)
class Heading(Block):
    text: str
    level: int = 2

    def html(self, number: int) -> str:
        return f'<h{self.level} id="part-{number}">{escape(self.text)}</h{self.level}>'

    def markdown(self, figures: Path, number: int) -> str:
        return f"{'#' * self.level} {self.text}"


@dataclass(frozen=True)
class Text(Block):
    text: str

    def html(self, number: int) -> str:
        return f"<p>{escape(self.text)}</p>"

    def markdown(self, figures: Path, number: int) -> str:
        return self.text


@dataclass(frozen=True)
class Table(Block):
    rows: Sequence[dict[str, Any]]
    folded: str = ""
    """The words under which the table is folded away; without them it is open."""

    def html(self, number: int) -> str:
        columns, cells = tables.cells(self.rows)
        kinds = [
            "number" if all(tables.is_number(row.get(name)) for row in self.rows)
            else "words" if max(len(row[place]) for row in cells) > WORDS else ""
            for place, name in enumerate(columns)
        ]  # fmt: skip
        lines = [_line('th scope="col"', columns, kinds), *(_line("td", row, kinds) for row in cells)]
        table = '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"
        return f"<details>\n<summary>{escape(self.folded)}</summary>\n{table}\n</details>" if self.folded else table

    def markdown(self, figures: Path, number: int) -> str:
        columns, cells = tables.cells(self.rows)
        lines = [columns, ["---" for _ in columns], *([cell.replace("|", "\\|") for cell in row] for row in cells)]
        return (f"{self.folded}\n\n" if self.folded else "") + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Figure(Block):
    path: Path
    """An SVG, or a PNG where nothing else was kept."""
    caption: str

    def html(self, number: int) -> str:
        return f"<figure>\n{self._inline(number)}\n<figcaption>{escape(self.caption)}</figcaption>\n</figure>"

    def markdown(self, figures: Path, number: int) -> str:
        figures.mkdir(parents=True, exist_ok=True)
        copy = figures / f"{number:02}-{self.path.name}"
        copy.write_bytes(self.path.read_bytes())
        return f"![{self.caption}]({figures.name}/{copy.name})\n\n{self.caption}"

    def _inline(self, number: int) -> str:
        if self.path.suffix != ".svg":
            data = base64.b64encode(self.path.read_bytes()).decode()
            return f'<img alt="{escape(self.caption)}" src="data:image/{self.path.suffix[1:]};base64,{data}">'
        text = self.path.read_text(encoding="utf-8")
        svg = text[text.index("<svg") :]
        # Names inside a drawing are known in the whole page: each figure gets its own.
        svg = re.sub(r'\bid="', f'id="f{number}-', svg)
        svg = re.sub(r'(url\(#|href="#)', rf"\1f{number}-", svg)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        return svg.replace("<svg", f'<svg role="img" aria-label="{escape(self.caption)}"', 1)


@dataclass
class Document:
    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        self.blocks += blocks

    def html(self) -> str:
        title, body = escape(self.title), "\n".join(block.html(n) for n, block in enumerate(self.blocks))
        parts = [(n, block.text) for n, block in enumerate(self.blocks) if isinstance(block, Heading)]
        links = "\n".join(f'<li><a href="#part-{n}">{escape(text)}</a></li>' for n, text in parts)
        body = f'<nav aria-label="Contents">\n<ul>\n{links}\n</ul>\n</nav>\n{body}' if len(parts) > FEW else body
        screen = '<meta name="viewport" content="width=device-width, initial-scale=1">'
        head = f'<meta charset="utf-8">\n{screen}\n<title>{title}</title>\n<style>{STYLE}</style>'
        page = f"<head>\n{head}\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>"
        return f'<!doctype html>\n<html lang="en">\n{page}\n</html>\n'

    def markdown(self, figures: Path) -> str:
        """The same, with figures linked from a folder beside the file, to which they are copied."""
        parts = [block.markdown(figures, number) for number, block in enumerate(self.blocks)]
        return "\n\n".join([f"# {self.title}", *parts]) + "\n"


def _line(tag: str, values: Sequence[str], kinds: Sequence[str]) -> str:
    """A row of a table: numbers to the right, verdicts in their colour."""
    classes = [
        kind or next((verdict for verdict in VERDICTS if value.startswith(verdict)), "")
        for value, kind in zip(values, kinds, strict=True)
    ]
    end = tag.partition(" ")[0]
    cells = [f'<{tag} class="{kind}">{escape(value)}</{end}>' for value, kind in zip(values, classes, strict=True)]
    return f"<tr>{''.join(cells)}</tr>".replace(' class=""', "")
