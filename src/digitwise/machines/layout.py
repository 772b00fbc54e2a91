"""Problems laid out for a machine: which cells there are, what they see, and who hears whom, for each claim.

This is the wiring that the theorems are about (docs/proof.md). Networks have theirs from tokens and coordinates, and a
test compares the two.
"""

import numpy as np

from digitwise.machines.run import Layout
from digitwise.machines.table import Ints, Table
from digitwise.numbers.digits import Digits
from digitwise.tasks.problems import Kind
from digitwise.tasks.symbols import DIVIDE, EQUAL, MINUS, PAD, PLUS, REST, TIMES, pad


def claim_of(kind: Kind) -> str:
    """The claim that covers a kind of problem."""
    return {"+": "sum" if kind.size == 2 else "sums", "*": "product", "/": "division"}.get(kind.operator, "difference")


def lay_out(table: Table, kind: Kind, numbers: Digits, multipliers: Digits) -> Layout:
    """Problems of one kind: numbers `[count, numbers, width]`, multipliers or divisors `[count, digits]`."""
    places = numbers.shape[2] + (kind.overflow or 1)
    words = [pad(numbers[:, index], places) for index in range(kind.drawn)]

    def cells(own: int, *digits: np.ndarray) -> Ints:
        return table.combination(np.array(own), digits)

    if kind.operator == "+" and kind.size == 2 and table.digits == 2:
        return Layout(lambda _: cells(PLUS, words[1], words[0]), [False], None)
    if kind.operator == "+":
        return Layout(lambda row: cells(PLUS, words[row]), [False] * kind.size, 0)
    if kind.operator == "*":
        digits = multipliers[:, : kind.size][:, ::-1, None]  # the highest first
        return Layout(lambda row: cells(TIMES, digits[:, row], words[0]), [False] * kind.size, 1)
    if kind.operator == "/":
        own = np.array([REST] + [DIVIDE] * places)
        seen = np.concatenate([np.full((len(numbers), 1), PAD, dtype=np.uint8), words[0]], axis=1)
        return Layout(lambda _: table.combination(own, [multipliers[:, :1], seen]), [True], None)
    owns = [EQUAL, MINUS] if kind.operator == "-" else [EQUAL]
    return Layout(lambda row: cells(owns[row], *words), [False, True][: len(owns)], 0 if len(owns) == 2 else None)


def read_out(kind: Kind, symbols_BP: Ints) -> Ints:
    """The symbols of the answer among those that the last row writes."""
    return symbols_BP[:, -1:] if kind.operator == "?" else symbols_BP
