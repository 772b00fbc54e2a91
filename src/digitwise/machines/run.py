"""Problems of any length by a table: how they are laid out, then row after row, each from its first cell to its last.

A layout says which cells there are, what they see and who hears whom: the wiring that the theorems are about
(docs/proof.md). Networks have theirs from tokens and coordinates, and a test compares the two.

A row is a scan. What a cell says depends on what the cell before it said, so a long row is cut into blocks: for every
code that could enter a block the code that leaves it is found, all blocks at once; then the codes that do enter follow
block by block, and a second pass fills in what is said inside.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.machines.table import NOTHING, UNKNOWN, Ints, Table
from digitwise.numbers.digits import Digits
from digitwise.tasks.problems import Kind
from digitwise.tasks.symbols import DIVIDE, EQUAL, MINUS, PAD, PLUS, REST, TIMES, pad

WIDE = 256
"""Rows are cut into blocks if fewer problems than this are run at once; many keep the processor busy anyway."""


class Layout(NamedTuple):
    """Problems that are wired alike, row by row, the answer's row last."""

    combination: Callable[[int], Ints]
    """The combinations of the cells of a row, `[B, P]`."""
    down_R: list[bool]
    """Whether a row flows down: its cells hear the next higher place instead of the next lower one."""
    shift: int | None
    """Cells hear the row before at their place (0), or one place lower (1), or no other row (None)."""


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


class Row(NamedTuple):
    """A row of cells at work: the numbers of their situations, and what they hear."""

    numbers_BP: Ints
    along_BP: NDArray[np.int16]
    across_BP: NDArray[np.int16]


def run(table: Table, layout: Layout) -> Iterator[Row]:
    """One row after the other; those before the last are needed no more once the next has come."""
    said_BP = None
    for number, down in enumerate(layout.down_R):
        start_BP = layout.combination(number)
        across_BP = np.full(start_BP.shape, NOTHING, dtype=np.int16)
        if said_BP is not None and layout.shift is not None:
            across_BP[:, layout.shift :] = said_BP[:, : start_BP.shape[1] - layout.shift]
        start_BP = table.number(start_BP, NOTHING, across_BP)
        order = slice(None, None, -1) if down else slice(None)
        along_BP = scan(table, start_BP[:, order])[:, order]
        numbers_BP = start_BP + (along_BP + 1) * table.codes[1]
        table.know(numbers_BP)
        said_BP = table.across[numbers_BP]
        yield Row(numbers_BP, along_BP, across_BP)


def written(table: Table, layout: Layout) -> Ints:
    """The situations of the cells that write the answer, `[B, P]`."""
    for row in run(table, layout):
        last = row
    return last.numbers_BP


def scan(table: Table, start_BP: Ints) -> NDArray[np.int16]:
    """What each cell of a row hears along it. `start` has the numbers of situations in which nothing is heard."""
    problems, places = start_BP.shape
    blocks = 1 if problems >= WIDE else max(1, math.isqrt(places // 4))
    size = -(-places // blocks)
    padded_BP = np.zeros((problems, blocks * size), dtype=np.int64)  # cells that are not there
    padded_BP[:, :places] = start_BP
    start_SL = np.ascontiguousarray(padded_BP.reshape(problems * blocks, size).T)  # steps, lanes
    enters_L = np.full(problems * blocks, NOTHING)
    if blocks > 1:
        enters_L = _entering(table, start_SL, blocks)
    heard_SL = _steps(table, start_SL, enters_L)[:-1]
    return heard_SL.T.reshape(problems, -1)[:, :places]


def _entering(table: Table, start_SL: Ints, blocks: int) -> Ints:
    """The code that enters each block. Codes that nobody has said so far are left out at first."""
    while True:
        codes = np.unique(np.append(table.along[table.along != UNKNOWN], NOTHING)).astype(np.int64)
        lanes = start_SL.shape[1]
        leaves = _steps(table, np.repeat(start_SL, len(codes), axis=1), np.tile(codes, lanes), sure=False)[-1]
        leaves_BKC = leaves.reshape(-1, blocks, len(codes))
        where = np.full(table.codes[0] + 1, -1)
        where[codes] = np.arange(len(codes))  # the code of nothing, -1, is the last entry
        enters_BK = np.full(leaves_BKC.shape[:2], NOTHING)
        problem = np.arange(len(enters_BK))
        for block in range(1, blocks):
            enters_BK[:, block] = leaves_BKC[problem, block - 1, where[enters_BK[:, block - 1]]]
        if (where[enters_BK] >= 0).all():
            return enters_BK.ravel()


def _steps(table: Table, start_SL: Ints, code_L: NDArray, sure: bool = True) -> NDArray[np.int16]:
    """What is heard at every step of every lane, and what is said at the last: `[S + 1, L]`. Unless it is sure that the
    first codes can be heard there, a complete table need not know what follows; such lanes are never used."""
    heard_SL = np.empty((len(start_SL) + 1, len(code_L)), dtype=np.int16)
    heard_SL[0] = code_L
    times, along = table.codes[1], table.along
    for step, start_L in enumerate(start_SL):
        number_L = (heard_SL[step] + np.int64(1)) * times + start_L
        said_L = along[number_L]
        if said_L.min() < NOTHING:  # unknown
            if sure or table.ask is not None:
                table.know(number_L)
            said_L = np.maximum(along[number_L], NOTHING)
        heard_SL[step + 1] = said_L
    return heard_SL
