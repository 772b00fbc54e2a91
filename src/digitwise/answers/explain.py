"""One problem, seen round by round: the paper's two illustrations of the parallel algorithms, for any problem."""

from typing import Any

import numpy as np

from digitwise.answers import Problem
from digitwise.numbers import complexity as cx
from digitwise.numbers import digits as dg

MAX_MULTIPLIER = 3
SHOWN = 6  # carries or chains shown in a line; the data have them all
EXAMPLES = '"987654 + 12347" or "56 * 4297"'


def explain(problem: str) -> dict[str, Any]:
    """What the parallel algorithm does to a sum or a product, as plain data.

    Lists over places run as numbers are written, most significant first, and `places` names them. `trace` holds the
    columns at the start and after each round, with the carries that the round moved. `cascades` are found in the
    columns of round `cascades_in`: the start of a sum; for a product the first round without a column above 18, from
    which on it is a sum.
    """
    asked = Problem.parse(problem)
    operator = asked.kind.operator
    if operator == "-" or len(asked.numbers) > 2:
        raise ValueError(f"only sums of two numbers and products can be explained: write {EXAMPLES}")
    if operator == "*" and asked.kind.size > MAX_MULTIPLIER:
        shorter = asked.numbers[0]
        raise ValueError(
            f"multiplier {shorter[:10]} has {len(shorter)} digits; products are explained for up to {MAX_MULTIPLIER}"
        )
    first, second = asked.numbers
    if operator == "+":
        width = max(len(first), len(second))
        operands = [dg.parse([number], width)[0] for number in (first, second)]
        trace, reach = cx.parallel_addition(*operands), 1
    else:
        operands = [dg.parse([number])[0] for number in (first, second)]
        trace, reach = cx.parallel_multiplication(*operands), len(first)
    places = len(trace[0])
    settled = next(index for index, columns in enumerate(trace) if columns.max() <= 18)
    out: dict[str, Any] = {
        "problem": str(asked),
        "kind": "addition" if operator == "+" else "multiplication",
        "operands": [first, second],
        "answer": str(dg.render(trace[-1].astype(np.uint8))),
        "places": list(range(places))[::-1],
        "columns": trace[0][::-1].tolist(),
        "trace": [
            {"round": index, "columns": columns[::-1].tolist(), "moved": _moved(before, reach)}
            for index, (before, columns) in enumerate(zip([trace[-1], *trace], trace, strict=False))
        ],
        "rounds": len(trace) - 1,
        "cascades_in": settled,
    }
    out |= _chains(trace[settled])
    if operator == "+":
        a, b = (operand[None] for operand in operands)
        measures = {
            "carries": cx.carries,
            "consecutive_carries": cx.consecutive_carries,
            "cascade": cx.cascade,
            "untriggered": cx.untriggered,
            "dependency": cx.dependency,
        }
        out |= {name: int(measure(a, b)[0]) for name, measure in measures.items()}
    else:
        out["carries"] = sum(len(step["moved"]) for step in out["trace"])
        out["dependency"] = out["rounds"]
    return out


def render(explanation: dict[str, Any]) -> str:
    """The same as a picture: a line for each round, what it moves, and the cascades marked below the columns."""
    is_sum = explanation["kind"] == "addition"
    rows: list[tuple[str, list[str], str]] = [("place", [str(place) for place in explanation["places"]], "")]
    size = len(explanation["places"])
    if is_sum:
        rows += [(sign, _spelled(number, size), "") for sign, number in zip(" +", explanation["operands"], strict=True)]
    else:
        multiplier, multiplicand = explanation["operands"]
        rows.append((f"{multiplier} *", _spelled(multiplicand, size), ""))
    for step in explanation["trace"]:
        name = f"round {step['round']}" if step["round"] else "columns"
        rows.append((name, [str(column) for column in step["columns"]], _told(step["moved"])))
        marks = _marks(explanation, size)
        if step["round"] == explanation["cascades_in"] and any(marks):
            rows.append(("", marks, ""))
    label = max(len(name) for name, _, _ in rows)
    width = max(len(cell) for _, cells, _ in rows for cell in cells) + 1
    lines = [
        f"{name:>{label}} " + "".join(f"{cell:>{width}}" for cell in cells) + (f"   {note}" if note else "")
        for name, cells, note in rows
    ]
    rule = "-" * (label + 1 + width * size)
    lines = [line.rstrip() for line in [lines[0], *lines[1 : 3 if is_sum else 2], rule, *lines[3 if is_sum else 2 :]]]
    title = f"{explanation['problem']} = {explanation['answer']}"
    return "\n".join([title, "", *lines, "", *_summary(explanation)]) + "\n"


def _moved(columns: cx.Whole, reach: int) -> list[dict[str, int]]:
    """The carries that leave the columns in one round."""
    return [
        {"from": place, "to": place + distance, "carry": int(column) // 10**distance % 10}
        for place, column in enumerate(columns)
        for distance in range(1, reach + 1)
        if int(column) // 10**distance % 10
    ]


def _chains(columns: cx.Whole) -> dict[str, list[dict[str, Any]]]:
    """All cascades, and all runs of nines that no carry enters, from the ones upwards."""
    cascades: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for place, column in enumerate(columns.tolist()):
        if column > 9:
            current = {"place": place, "length": 1}
            cascades.append(current)
        elif column < 9:
            current = None
        elif current is None:
            current = {"place": place, "length": 1}
            runs.append(current)
        else:
            current["length"] += 1
    return {"cascades": cascades, "untriggered_runs": runs}


def _spelled(number: str, size: int) -> list[str]:
    return list(number.rjust(size))


def _told(moved: list[dict[str, int]]) -> str:
    """What each column sent up as a number: 39 from place 0 is a 9 to place 1 and a 3 to place 2."""
    sent: dict[int, int] = {}
    for step in moved:
        sent[step["from"]] = sent.get(step["from"], 0) + step["carry"] * 10 ** (step["to"] - step["from"] - 1)
    told = [f"{carry} from {place}" for place, carry in sent.items()]
    if len(told) > SHOWN:
        told = [*told[:SHOWN], f"... ({len(told)} columns)"]
    return "up: " + ", ".join(told) if told else ""


def _marks(explanation: dict[str, Any], size: int) -> list[str]:
    marks = [""] * size
    for chain in explanation["cascades"]:
        for place in range(chain["place"], chain["place"] + chain["length"]):
            marks[place] = "^" if place == chain["place"] else "<"
    for chain in explanation["untriggered_runs"]:
        for place in range(chain["place"], chain["place"] + chain["length"]):
            marks[place] = "o"
    return marks[::-1]


def _listed(chains: list[dict[str, Any]]) -> str:
    told = [f"{chain['length']} from place {chain['place']}" for chain in chains]
    return ", ".join(told[:SHOWN]) + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def _summary(explanation: dict[str, Any]) -> list[str]:
    lines = []
    if explanation["cascades"]:
        lines.append(f"^ makes a carry, < passes it on. Cascades: {_listed(explanation['cascades'])}.")
    if explanation["untriggered_runs"]:
        lines.append(f"o sums to 9 but no carry comes. Runs: {_listed(explanation['untriggered_runs'])}.")
    if explanation["kind"] == "addition":
        lines.append(
            f"Rounds: {explanation['rounds']}, the longest cascade. Carries: {explanation['carries']},"
            f" at most {explanation['consecutive_carries']} in a row."
        )
        lines.append(f"The worst digit depends on {explanation['dependency']} columns.")
    else:
        lines.append(f"Rounds: {explanation['rounds']}, the levels of this product.")
    return lines
