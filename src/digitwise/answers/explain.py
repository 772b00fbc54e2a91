"""One problem, seen round by round: the paper's two illustrations of the parallel algorithms, for any problem.

A problem of more than `WIDE` columns is shortened to both its ends, the first rounds and the last one, without working
out the rounds between them: time and memory grow with the length alone. `--full` shows all, a line at a time.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from digitwise.answers import Problem
from digitwise.data.distributions import MOST_DIGITS
from digitwise.numbers import complexity as cx
from digitwise.numbers import digits as dg

MAX_MULTIPLIER = 3
SHOWN = 6  # carries or chains shown in a line; the data have them all, or their longest
WIDE = 100  # columns of a problem that is shown as a whole
ENDS = 16  # columns at each end of a wider one, and rounds at its start
FULL = 2_000  # digits that --full takes: up to as many rounds of as many columns
EXAMPLES = '"987654 + 12347" or "56 * 4297"'


def explain(problem: str, full: bool = False) -> dict[str, Any]:
    """What the parallel algorithm does to a sum or a product, as plain data.

    Lists over places run as numbers are written, most significant first, and `places` names them. `trace` holds the
    columns at the start and after each round, with the carries that the round moved. `cascades` are found in the
    columns of round `cascades_in`: the start of a sum; for a product the first round without a column above 18, from
    which on it is a sum. Of a problem that is shortened, `left_out` says how much is not there.
    """
    explanation, steps = _worked_out(problem, full)
    return explanation | {"trace": list(steps)}


def stream(problem: str, full: bool = False) -> Iterator[str]:
    """The lines of the picture of a problem: one round at a time, so that no more than one is held in memory."""
    return _lines(*_worked_out(problem, full))


def render(explanation: dict[str, Any]) -> str:
    """The same as a picture: a line for each round, what it moves, and the cascades marked below the columns."""
    return "\n".join(_lines(explanation, explanation["trace"])) + "\n"


def _worked_out(problem: str, full: bool) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Everything but the rounds, and the rounds."""
    asked = _admitted(problem, full)
    first, second = asked.numbers
    is_sum = asked.kind.operator == "+"
    width = max(len(first), len(second)) if is_sum else None
    operands = dg.parse([first], width), dg.parse([second], width)
    columns = cx.column_sums(*operands)[0] if is_sum else int(first) * operands[1][0].astype(np.int64)
    farthest, count_rounds = (1, cx.addition_rounds) if is_sum else (len(first), cx.product_rounds)
    rounds = int(count_rounds(*operands)[0])
    start = columns = np.pad(columns.astype(np.int64), (0, farthest))
    settled = early = 0
    while columns.max() > 18:  # two or three rounds; from then on all carries are 1
        early += sum(int(np.count_nonzero(columns // 10**distance % 10)) for distance in range(1, farthest + 1))
        columns, settled = cx.carry_round(columns, farthest), settled + 1
    size, answer, chains = len(start), asked.answer(), _chains(columns)
    shorten = size > WIDE and not full
    places = [*range(size - 1, size - 1 - ENDS, -1), *range(ENDS - 1, -1, -1)] if shorten else [*range(size)][::-1]
    out: dict[str, Any] = {
        "problem": str(asked), "kind": "addition" if is_sum else "multiplication", "operands": [first, second],
        "answer": answer, "places": places, "columns": start[places].tolist(), "rounds": rounds,
        "cascades_in": settled,
    }  # fmt: skip
    if is_sum:
        measures = ("carries", "consecutive_carries", "cascade", "untriggered", "dependency")
        out |= {name: int(getattr(cx, name)(*operands)[0]) for name in measures}
    else:
        out |= {"carries": early + sum(found["length"] for found in chains["cascades"]), "dependency": rounds}
    if not shorten:
        return out | chains, _rounds(start, farthest, places)
    kept = {name: _kept(found, set(places)) for name, found in chains.items()}
    left_out = {name: len(found) - len(kept[name]) for name, found in chains.items()}
    left_out |= {"places": size - len(places), "rounds": max(rounds - ENDS - 1, 0)}
    steps = itertools.islice(_rounds(start, farthest, places, ENDS), ENDS + 1 if left_out["rounds"] else None)
    last = _last(rounds, rounds - settled, chains["cascades"], _spelled(answer, places))
    return out | kept | {"left_out": left_out}, itertools.chain(steps, [last] * (left_out["rounds"] > 0))


def _admitted(problem: str, full: bool) -> Problem:
    asked = Problem.parse(problem)
    operator = asked.kind.operator
    if operator == "-" or len(asked.numbers) > 2:
        raise ValueError(f"only sums of two numbers and products can be explained: write {EXAMPLES}")
    if operator == "*" and asked.kind.size > MAX_MULTIPLIER:
        shorter = asked.numbers[0]
        raise ValueError(
            f"multiplier {shorter[:10]} has {len(shorter)} digits; products are explained for up to {MAX_MULTIPLIER}"
        )
    if asked.length > MOST_DIGITS:
        raise ValueError(f"a number has {asked.length:,} digits; explain takes up to {MOST_DIGITS:,}")
    if full and asked.length > FULL:
        raise ValueError(f"a number has {asked.length:,} digits; --full takes up to {FULL:,}: leave it out")
    return asked


def _rounds(start: cx.Whole, farthest: int, places: list[int], most: int | None = None) -> Iterator[dict[str, Any]]:
    """Every round, with at most so many of the columns that send something up; then it says how many they are."""
    before, columns = start[:0], start
    for number in itertools.count():
        step = {"round": number, "columns": columns[places].tolist(), "moved": _moved(before, farthest, most)}
        yield step if most is None else step | {"columns_moved": int(np.count_nonzero(before > 9))}
        if not (columns > 9).any():
            return
        before, columns = columns, cx.carry_round(columns, farthest)


def _last(number: int, length: int, cascades: list[dict[str, Any]], answer: list[str]) -> dict[str, Any]:
    """The last of many rounds, worked out from the cascades: the longest of them, of this length, end in it."""
    ends = [cascade["place"] + length - 1 for cascade in cascades if cascade["length"] == length]
    moved = [{"from": place, "to": place + 1, "carry": 1} for place in ends[:ENDS]]
    columns = [int(digit.strip() or 0) for digit in answer]
    return {"round": number, "columns": columns, "moved": moved, "columns_moved": len(ends)}


def _lines(explanation: dict[str, Any], steps: Iterable[dict[str, Any]]) -> Iterator[str]:
    is_sum, places = explanation["kind"] == "addition", explanation["places"]
    gap = ENDS if "left_out" in explanation else None
    brief = _brief if gap else str
    operands = [brief(number) for number in explanation["operands"]]
    names = ["columns", f"round {explanation['rounds']}", *([] if is_sum else [f"{operands[0]} *"])]
    label = max(len(name) for name in names if name != "round 0")
    width = max(len(str(cell)) for cell in [places[0], *explanation["columns"]]) + 1

    def line(name: str, cells: Iterable[Any], note: str = "") -> str:
        written = [f"{cell:>{width}}" for cell in cells]
        if gap is not None:
            written.insert(gap, " ...")
        return (f"{name:>{label}} {''.join(written)}" + (f"   {note}" if note else "")).rstrip()

    yield from (f"{(' + ' if is_sum else ' * ').join(operands)} = {brief(explanation['answer'])}", "")
    yield line("place", places)
    for name, number in list(zip(("", "+" if is_sum else names[-1]), explanation["operands"], strict=True))[
        not is_sum :
    ]:
        yield line(name, _spelled(number, places))
    yield "-" * (label + 1 + width * len(places) + (4 if gap else 0))
    marks, done = _marks(explanation), -1
    for step in steps:
        if step["round"] > done + 1:
            yield f"{'...':>{label}}"
        done = step["round"]
        yield line(f"round {done}" if done else "columns", step["columns"], _told(step))
        if done == explanation["cascades_in"] and any(marks):
            yield line("", marks)
    yield from ("", *_summary(explanation))


def _brief(number: str) -> str:
    return number if len(number) <= WIDE else f"{number[:ENDS]}...{number[-ENDS:]} ({len(number):,} digits)"


def _moved(columns: cx.Whole, farthest: int, most: int | None = None) -> list[dict[str, int]]:
    """The carries that leave the columns in one round; of many columns the lowest."""
    return [
        {"from": int(place), "to": int(place) + distance, "carry": int(columns[place]) // 10**distance % 10}
        for place in np.flatnonzero(columns > 9)[:most]
        for distance in range(1, farthest + 1)
        if int(columns[place]) // 10**distance % 10
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


def _kept(chains: list[dict[str, Any]], shown: set[int]) -> list[dict[str, Any]]:
    """The chains that farthest into what is shown, and the longest."""
    longest = sorted(chains, key=lambda chain: -chain["length"])[:ENDS]
    seen = [chain for chain in chains if not shown.isdisjoint((chain["place"], chain["place"] + chain["length"] - 1))]
    return sorted({chain["place"]: chain for chain in [*longest, *seen]}.values(), key=lambda chain: chain["place"])


def _spelled(number: str, places: list[int]) -> list[str]:
    written = number[::-1]
    return [written[place] if place < len(number) else " " for place in places]


def _told(step: dict[str, Any]) -> str:
    """What each column sent up as a number: 39 from place 0 is a 9 to place 1 and a 3 to place 2."""
    sent: dict[int, int] = {}
    for carry in step["moved"]:
        sent[carry["from"]] = sent.get(carry["from"], 0) + carry["carry"] * 10 ** (carry["to"] - carry["from"] - 1)
    told = [f"{carry} from {place}" for place, carry in sent.items()]
    columns = step.get("columns_moved", len(told))
    if columns > SHOWN:
        told = [*told[:SHOWN], f"... ({columns} columns)"]
    return "up: " + ", ".join(told) if told else ""


def _marks(explanation: dict[str, Any]) -> list[str]:
    shown = np.array(explanation["places"])
    marks: dict[int, str] = {}
    for kind, first, others in (("cascades", "^", "<"), ("untriggered_runs", "o", "o")):
        for chain in explanation[kind]:
            within = (shown >= chain["place"]) & (shown < chain["place"] + chain["length"])
            marks |= {place: first if place == chain["place"] else others for place in shown[within].tolist()}
    return [marks.get(place, "") for place in explanation["places"]]


def _listed(explanation: dict[str, Any], kind: str) -> str:
    chains = explanation[kind]
    if left_out := explanation.get("left_out", {}).get(kind, 0):
        chains = sorted(chains, key=lambda chain: -chain["length"])  # of many the longest
    told, more = [f"{chain['length']} from place {chain['place']}" for chain in chains], len(chains) + left_out - SHOWN
    return ", ".join(told[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _summary(explanation: dict[str, Any]) -> list[str]:
    lines = []
    if explanation["cascades"]:
        lines.append(f"^ makes a carry, < passes it on. Cascades: {_listed(explanation, 'cascades')}.")
    if explanation["untriggered_runs"]:
        lines.append(f"o sums to 9 but no carry comes. Runs: {_listed(explanation, 'untriggered_runs')}.")
    if explanation["kind"] == "addition":
        lines.append(
            f"Rounds: {explanation['rounds']}, the longest cascade. Carries: {explanation['carries']},"
            f" at most {explanation['consecutive_carries']} in a row."
        )
        lines.append(f"The worst digit depends on {explanation['dependency']} columns.")
    else:
        lines.append(f"Rounds: {explanation['rounds']}, the levels of this product.")
    if "left_out" in explanation:
        left = explanation["left_out"]
        lines.append(
            f"Left out: {left['places']:,} places in the middle, and {left['rounds']:,} rounds before the last;"
            f" --full shows all of them for numbers of up to {FULL:,} digits."
        )
    return lines
