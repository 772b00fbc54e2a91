"""The machine that a network has learned: what cells tell each other in a problem, and the machine as a picture."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from digitwise.answers import Problem, arrays
from digitwise.answers.compiled import TASKS, Compiled
from digitwise.machines import certificate
from digitwise.machines.run import lay_out, read_out, run
from digitwise.machines.table import NOTHING, Situation, Table, Told
from digitwise.plots import new_figure, save
from digitwise.tasks.symbols import EQUAL, PAD, SIGNS

WIDE = 40
"""Places that are shown; of longer problems the lowest."""
NODES = 8
"""Codes up to which a machine is drawn as a graph."""
#: What cells of a claim hear along their row and from the row before, by the names of a walk's meanings.
HEARD = {
    "sum": ("carry", ""),
    "sums": ("carry", "digit to the next row"),
    "product": ("carry in rows of", "digit to the next row"),
    "difference": ("down", "to the row down"),
    "division": ("remainder by", ""),
}


class Machine(NamedTuple):
    """What a network has learned, proven or not: a table, every case that was checked, and what messages stand for."""

    name: str
    claim: str
    table: Table
    cases: Mapping[Situation, Told]
    meanings: Mapping[str, Mapping[int, Iterable[str]]]


def learned(proven: Compiled) -> Machine:
    """The machine of a certificate, which is checked for that."""
    found = proven.certificate
    return Machine(proven.name, found.claim, proven.table, found.table, certificate.check(found).meanings)


def told(problem: Problem, machine: Machine, lowest: int = 0, wide: int = WIDE) -> dict[str, Any]:
    """What every cell of a problem sees, hears, writes and says, row by row, the highest place first: of so many places
    from the `lowest` up."""
    table, rows = machine.table, []
    multipliers, numbers = arrays(problem.kind, [problem])
    shown, layout = slice(lowest, lowest + wide), lay_out(table, problem.kind, numbers, multipliers)
    for row, down in zip(run(table, layout), layout.down_R, strict=True):
        cells = row.numbers_BP[0][shown][::-1]
        situations = table.situations(cells)
        along, across = _names(machine.claim, situations.own_A[0], situations.digits_AK[0, 0])
        meanings = [machine.meanings.get(name, {}) for name in (along, across)]
        rows.append({
            "cells": [SIGNS[own] for own in situations.own_A],
            "digits": [[SIGNS[d] for d in seen] for seen in situations.digits_AK.T.tolist()],
            "hears along": _heard(situations.along_A, meanings[0]),
            "hears across": _heard(situations.across_A, meanings[1]),
            "writes": [SIGNS[symbol] for symbol in table.symbol[cells]],
            "says along": table.along[cells].tolist(),
            "messages": along,
            "down": down,
        })  # fmt: skip
    symbols = read_out(problem.kind, table.symbol[row.numbers_BP]).astype("uint8")
    answer = TASKS[machine.claim].spell(symbols)[0]
    return {"problem": str(problem), "answer": answer, "model": machine.name, "rows": rows}


def _names(claim: str, own: int, first: int | None) -> tuple[str, str]:
    """What messages along a row and from the row before are called, for cells with this symbol and first digit."""
    along, across = ("up", "") if own == EQUAL else HEARD[claim]
    return (f"{along} {first}" if claim in ("product", "division") else along), across


def graph(machine: Machine, problem: Problem, row: int = 0) -> dict[str, Any]:
    """The part of a machine that a row of a problem uses: messages as nodes, and arrows by the digits that are seen."""
    kind, (factors, _) = problem.kind, problem.kind.split(problem.numbers)
    own = SIGNS.index("=" if kind.operator == "?" or (kind.operator, row) == ("-", 0) else kind.operator)
    digit = int(factors[0][row if kind.operator == "*" else 0]) if factors else None
    found = {
        situation: does for situation, does in machine.cases.items()
        if situation.own == own and digit in (None, situation.digits[0])
    }  # fmt: skip
    means = machine.meanings.get(_names(machine.claim, own, digit)[0], {})
    steps = _steps(found)
    nodes = sorted({code for pair in steps for code in pair})
    return {
        "nodes": [{"code": code, "means": "/".join(sorted(means.get(code, {"start"})))} for code in nodes],
        "edges": [
            {"from": first, "to": last, "cases": len(seen), "label": _arrow(machine.claim, seen)}
            for (first, last), seen in steps.items()
        ],
    }  # fmt: skip


def _arrow(claim: str, seen: list[str]) -> str:
    if claim == "sum":
        return _short(seen).replace("\n", " ")
    return f"{len(seen)} cases" if claim in ("sums", "difference") else f"digit {_short([s[1:] for s in seen])}"


def _heard(codes: Iterable[int], meanings: Mapping[int, Iterable[str]]) -> list[dict[str, Any] | None]:
    return [
        None if code == NOTHING else {"code": int(code), "means": "/".join(sorted(meanings.get(int(code), {"?"})))}
        for code in codes
    ]


def render(found: dict[str, Any]) -> str:
    """The same as lines of text."""
    lines = [f"{found['problem']} = {found['answer']}   (model {found['model']}, proven)"]
    for number, row in enumerate(found["rows"], start=1):
        lines.append(f"row {number}" if len(found["rows"]) > 1 else "")
        parts: dict[str, list[str]] = {f"sees {index + 1}": digits for index, digits in enumerate(row["digits"])}
        for name in ("along", "across"):
            heard = row[f"hears {name}"]
            if any(heard):
                parts[f"hears {name}"] = [str(one["code"]) if one else "" for one in heard]
                parts["which means"] = [one["means"] if one else "" for one in heard]
                lines += _table(parts)
                parts = {}
        parts["writes"] = row["writes"]
        lines += _table(parts)
    return "\n".join(lines)


def _table(parts: dict[str, list[str]]) -> list[str]:
    return [f"{name:>13} " + "".join(f"{cell:>6}" for cell in cells) for name, cells in parts.items()]


def transitions(machine: Compiled) -> dict[tuple[int, int], list[str]]:
    """From a code that is heard along a row to the one that is said: by which digits, and what is heard across."""
    return _steps(machine.certificate.table)


def _steps(cases: Mapping[Situation, Told]) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for situation, does in cases.items():
        seen = "".join(SIGNS[digit] for digit in situation.digits)
        found[situation.along, does.along].append(seen)
    return found


def draw(machine: Compiled, path: Path) -> Path:
    """Messages as nodes and digits on the arrows; as a table where there are too many messages."""
    meanings = certificate.check(machine.certificate).meanings
    along: dict[int, set[str]] = defaultdict(set)
    for name, stands_for in meanings.items():
        for code, means in stands_for.items() if name != HEARD[machine.certificate.claim][1] else ():
            along[code] |= means
    steps = transitions(machine)
    codes = sorted({code for pair in steps for code in pair})
    title = f"The machine of {machine.name}: {machine.certificate.theorem}"
    if len(codes) <= NODES:
        return _graph(steps, codes, along, title, path)
    return _matrix(steps, codes, along, title, path)


def _label(code: int, means: dict[int, set[str]]) -> str:
    return "start" if code == NOTHING else f"{code}: {'/'.join(sorted(means.get(code, {'?'})))}"


def _graph(
    steps: dict[tuple[int, int], list[str]], codes: list[int], means: dict[int, set[str]], title: str, path: Path
) -> Path:
    figure, axes = new_figure(7.5, 6.0)
    angle = 2 * np.pi * np.arange(len(codes)) / len(codes) + np.pi / 2
    at = dict(zip(codes, np.stack([np.cos(angle), np.sin(angle)], 1), strict=True))
    for (first, last), seen in steps.items():
        start, end = at[first], at[last]
        if first == last:
            axes.annotate(
                "",
                end * 1.22 + (0.12, 0),
                end * 1.22 - (0.12, 0),
                arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=-1.6"},
            )
            where = end * 1.42
        else:
            axes.annotate(
                "", end * 0.86, start * 0.86, arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=0.15"}
            )
            where = 0.35 * start + 0.65 * end + 0.1 * np.array([-(end - start)[1], (end - start)[0]])
        axes.text(*where, _short(seen), fontsize=7, ha="center", va="center")
    for code, where in at.items():
        axes.text(
            *where,
            _label(code, means),
            ha="center",
            va="center",
            bbox={"boxstyle": "circle", "fc": "white", "ec": "black"},
        )
    axes.set_xlim(-1.7, 1.7)
    axes.set_ylim(-1.6, 1.7)
    axes.set_axis_off()
    axes.set_title(title, fontsize=9)
    return save(figure, path)


def _short(seen: list[str]) -> str:
    """The digits on an arrow: where they are two, their sums are enough to know them."""
    if len(seen[0]) == 2:
        sums = sorted({sum(int(c) for c in pair if c != SIGNS[PAD]) for pair in seen})
        return f"digits sum to\n{_ranges(sums)}"
    return _ranges(sorted(int(c) if c != SIGNS[PAD] else -1 for c in set(seen))).replace("-1", "pad")


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}" if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts)


def _matrix(
    steps: dict[tuple[int, int], list[str]], codes: list[int], means: dict[int, set[str]], title: str, path: Path
) -> Path:
    """How many situations lead from each code to each other one."""
    figure, axes = new_figure(8.0, 7.0)
    counts = np.zeros((len(codes), len(codes)))
    for (first, last), seen in steps.items():
        counts[codes.index(first), codes.index(last)] = len(seen)
    axes.imshow(np.where(counts > 0, np.log10(counts + 1), np.nan), cmap="Greys")
    for row, column in np.argwhere(counts):
        dark = counts[row, column] ** 2 > counts.max()
        axes.text(
            column,
            row,
            f"{counts[row, column]:.0f}",
            ha="center",
            va="center",
            fontsize=6,
            color="white" if dark else "black",
        )
    labels = [_label(code, means) for code in codes]
    axes.set_xticks(range(len(codes)), labels, rotation=90, fontsize=7)
    axes.set_yticks(range(len(codes)), labels, fontsize=7)
    axes.set_xlabel("what a cell says (code: what it stands for)")
    axes.set_ylabel("what it hears")
    axes.set_title(f"{title}\nsituations that lead from one message to the next", fontsize=9)
    return save(figure, path)
