"""What the local page is told: a problem as it stands on paper, its answer, messages, attention and problems to try."""

from typing import Any

import numpy as np

from digitwise.answers import Problem
from digitwise.answers.machine import graph, told
from digitwise.data import Cascade, Distribution, ExactLength, NinesRun
from digitwise.models.looking import attention, far_share, positions
from digitwise.pages import LIMITS
from digitwise.pages.shelf import Shown
from digitwise.paper.leak import exact_match, near_only
from digitwise.rng import generator
from digitwise.runs.evaluation import answer
from digitwise.tasks import Arithmetic, Kind
from digitwise.tasks.symbols import SIGNS

WIDE = 64
"""Columns that are shown at once; of a longer problem the page asks for others."""
PROBLEMS = 64
"""Problems per length when attention is measured."""
LENGTHS = 30
"""Lengths at which it is measured, at most."""


def admitted(text: str, shown: Shown) -> Problem:
    """The problem, if it is within the limits of the page and of the model."""
    problem = Problem.parse(text)
    factors, numbers = problem.kind.split(problem.numbers)
    found = {"digits": problem.length, "numbers": len(numbers), "multiplier": max(map(len, factors), default=0)}
    for name, most in LIMITS.items():
        if found[name] > most:
            what = {
                "digits": "a number of {} digits",
                "numbers": "{} numbers",
                "multiplier": "a multiplier of {} digits",
            }
            raise ValueError(f"{what[name].format(f'{found[name]:,}')} is too large: this page takes up to {most:,}")
    return shown.solver.admitted(problem)


def solved(asked: str, shown: Shown, lowest: int = 0) -> dict[str, Any]:
    """A problem in columns with the model's answer below, and what its cells tell each other."""
    problem = admitted(asked, shown)
    task, posed = shown.solver.posed([problem])
    batch = task.encode(posed)
    with shown.lock:
        found = answer(shown.solver.model, batch)
    symbols, confidence = found.symbols_BS.numpy().astype("uint8"), found.confidence_BS[0].numpy()
    targets = batch.targets[0]
    text, at = task.spell(symbols)[0], _column_of_slots(problem, len(targets))
    slots = {*task.read_at(text, symbols[0]).tolist(), *np.flatnonzero(symbols[0] != targets).tolist()}
    lines = _lines(problem)
    width = max([len(line["symbols"]) for line in lines] + [at[slot] + 1 for slot in slots])
    lowest = max(0, min(lowest, width - WIDE))
    by_column = {at[slot]: slot for slot in slots}
    columns = range(lowest, min(width, lowest + WIDE))[::-1]
    machine = shown.machine
    out: dict[str, Any] = {
        "problem": str(problem), "model": shown.name, "answer": text, "exact": problem.answer(),
        "right": bool((symbols[0] == targets).all()), "wrong": int((symbols[0] != targets).sum()),
        "symbols": len(targets), "proven": shown.solver.proven, "operator": problem.kind.operator,
        "width": width, "lowest": lowest, "places": [column - (problem.kind.operator == "/") for column in columns],
        "lines": [line | {"symbols": [line["symbols"][::-1][c : c + 1] or " " for c in columns]} for line in lines],
        "written": [_cell(by_column.get(column), symbols[0], targets, confidence) for column in columns],
        "rows": [], "graphs": [],
    }  # fmt: skip
    if machine is not None:
        out["rows"] = told(problem, machine, lowest, len(columns))["rows"]
        out["graphs"] = [graph(machine, problem, row) for row in range(len(out["rows"]))]
    return out


def _column_of_slots(problem: Problem, slots: int) -> list[int]:
    """A slot is a column. The remainder has the lowest, and a comparison is read at the top."""
    return [problem.length] if problem.kind.operator == "?" else [*range(slots)]


def _lines(problem: Problem) -> list[dict[str, str]]:
    """The numbers one below the other with their signs; a divisor stands before its line."""
    factors, numbers = problem.kind.split(problem.numbers)
    if problem.kind.operator == "/":
        return [{"sign": f"{factors[0]} into", "symbols": f"{numbers[0]} "}]
    below = [*numbers, *factors]
    signs = [""] + [{"*": "×", "-": "−"}.get(problem.kind.operator, problem.kind.operator)] * (len(below) - 1)
    return [{"sign": sign, "symbols": number} for sign, number in zip(signs, below, strict=True)]


def _cell(slot: int | None, symbols: Any, targets: Any, confidence: Any) -> dict[str, Any] | None:
    if slot is None:
        return None
    return {
        "slot": slot, "symbol": SIGNS[symbols[slot]], "exact": SIGNS[targets[slot]],
        "confidence": round(float(confidence[slot]), 4),
    }  # fmt: skip


def attended(text: str, shown: Shown, layer: int, head: int) -> dict[str, Any]:
    """How each answer symbol looks at all tokens, in one head of one layer."""
    layers, heads = _canvas(shown)
    if not (0 <= layer < layers and 0 <= head < heads):
        raise ValueError(f"there is no layer {layer + 1}, head {head + 1}: {shown.name} has {layers} of {heads} heads")
    problem = admitted(text, shown)
    task, posed = shown.solver.posed([problem])
    batch = task.encode(posed)
    with shown.lock:
        weights_SN = attention(shown.solver.model, batch)[layer][0, head]
        symbols = answer(shown.solver.model, batch).symbols_BS[0].tolist()
    slots = np.argsort(np.ravel(batch.coordinates.slot))[-len(symbols) :]
    return {
        "tokens": [task.symbols[token] for token in batch.tokens[0]],
        "slots": slots.tolist(), "symbols": [SIGNS[symbol] for symbol in symbols],
        "weights": weights_SN.round(4).tolist(),
    }  # fmt: skip


def leaked(shown: Shown) -> dict[str, Any]:
    """The share of attention that goes to digits farther away than any in training, and exact match, by length: also
    with these digits hidden."""
    _canvas(shown)
    longest, trained = shown.solver.task.longest or LENGTHS, shown.solver.experiment.trained_length
    rows = []
    for digits in sorted({round(n) for n in np.linspace(1, longest, min(longest, LENGTHS))}):
        batch = shown.drawn(digits, PROBLEMS)
        model = shown.solver.model
        with shown.lock:
            shares_LH = far_share(model, batch, near=trained)
            right, masked = exact_match(model, batch), exact_match(near_only(model, batch, trained), batch)
        shares = shares_LH.mean(1).round(4).tolist()
        rows.append({"digits": digits, "shares": shares, "right": right, "masked": masked})
    return {"rows": rows, "problems": PROBLEMS, "trained": trained}


def vectors(shown: Shown) -> dict[str, Any]:
    """The positional vectors, as tables of numbers."""
    _canvas(shown)
    with shown.lock:
        found = positions(shown.solver.model, shown.drawn(1, 1))
    return {"tables": {name: table.round(3).tolist() for name, table in found.items()}}


def _canvas(shown: Shown) -> tuple[int, int]:
    if not shown.heads[0]:
        raise ValueError(f"{shown.name} does not look at a whole canvas: its cells see their neighbours only")
    return shown.heads


# Problems to try

#: Hard sums by name; `ones` is 99...9 + 1, which is not drawn at random.
SUMS = {
    "random": lambda n: ExactLength(n),
    "cascade": lambda n: Cascade(n, n, exactly=True),
    "nines": lambda n: NinesRun(n, n, carry_in=False, exactly=True),
}


def drawn(operator: str, how: str, digits: int, seed: int) -> str:
    """A problem of numbers of exactly so many digits: at random, or as hard as they come."""
    if not 1 <= digits <= LIMITS["digits"]:
        raise ValueError(f"digits must be from 1 to {LIMITS['digits']:,}, not {digits:,}")
    rng = generator(seed, "drawn", operator, how, digits)
    if operator == "+":
        if how == "ones":
            return f"{'9' * digits} + 1"
        if how in SUMS:
            return _rendered(SUMS[how](digits), rng)
    if how == "random" and operator in "-*/?":
        first, second = _rendered(ExactLength(digits), rng).split(" + ")
        second = {"*": second[: LIMITS["multiplier"]], "/": str(rng.integers(1, 10))}.get(operator, second)
        return f"{first} {operator} {second}"
    if how == "cascade" and operator in "-*":
        return f"1{'0' * digits} - 1" if operator == "-" else f"{'9' * digits} * {'9' * min(digits, 3)}"
    raise ValueError(f"there is no problem '{how}' for {operator}: try random")


def _rendered(distribution: Distribution, rng: np.random.Generator) -> str:
    task = Arithmetic("+")
    return task.render(task.draw(distribution, rng, 1, Kind("+", 2)))[0]


def tallied(models: list[Shown], operator: str, how: str, digits: int, count: int, seed: int) -> dict[str, Any]:
    """How many of some new problems each model gets right; None for a model that does not support them."""
    texts = [drawn(operator, how, digits, seed + number) for number in range(count)]
    right: dict[str, int | None] = {}
    for shown in models:
        try:
            for text in texts:
                admitted(text, shown)
        except ValueError:
            right[shown.name] = None
            continue
        with shown.lock:
            solutions = list(shown.solver.solve_many(texts, check=True))
        right[shown.name] = sum(solution.right is True for solution in solutions)
    return {"digits": digits, "tried": count, "right": right}
