"""Certificates: what a network does in every situation, and which theorem that proves. It is checked without torch.

The check takes nothing on trust but the table. It starts where rows start, asks the table about every situation that
can follow, and compares with arithmetic on integers: by induction the machine is right at every length. A table that
lacks a situation, writes a wrong symbol anywhere, or lets a message mean two things where that matters, is refused.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from digitwise.machines import CLAIMS
from digitwise.machines.table import NOTHING, Situation, Table, Told
from digitwise.machines.walk import Walk
from digitwise.tables import read_json, replacing
from digitwise.tasks.symbols import PAD, SIGNS

FILE = "certificate.json"
FORMAT = 1
#: What each claim says, in words; docs/proof.md states and proves it.
THEOREMS = {
    "sum": "the sum of any two numbers, of any length, is right",
    "sums": "the sum of any two or more numbers, of any length, is right",
    "product": "the product of any two numbers, of any length, is right",
    "difference": "the difference and the comparison of any two numbers, of any length, are right",
    "division": "quotient and remainder of any number, of any length, by one digit from 1 to 9 are right",
}


class Certificate(NamedTuple):
    claim: str
    weights: str
    """sha256 of the file of weights that it is about."""
    bits: tuple[int, int]
    margins: dict[str, float]
    table: dict[Situation, Told]

    @property
    def theorem(self) -> str:
        return THEOREMS[self.claim]

    def machine(self) -> Table:
        """The table as a machine that runs problems; a situation that it lacks is an error."""
        owns = sorted({situation.own for situation in self.table})
        digits = len(next(iter(self.table)).digits)
        table = Table(owns, digits, self.bits, None)
        own, seen, along, across = (np.array(part) for part in zip(*self.table, strict=True))
        numbers = table.number(table.combination(own, list(seen.T)), along, across)
        for known, column in zip(
            (table.symbol, table.along, table.across), zip(*self.table.values(), strict=True), strict=True
        ):
            known[numbers] = column
        return table


def fingerprint(weights: Path) -> str:
    return hashlib.sha256(Path(weights).read_bytes()).hexdigest()


def write(certificate: Certificate, path: Path) -> None:
    rows = [
        [SIGNS[s.own], "".join(SIGNS[d] for d in s.digits), s.along, s.across, SIGNS[t.symbol], t.along, t.across]
        for s, t in certificate.table.items()
    ]
    described = {
        "format": FORMAT, "claim": certificate.claim, "theorem": certificate.theorem, "weights": certificate.weights,
        "bits": certificate.bits, "margins": certificate.margins,
    }  # fmt: skip
    head = json.dumps(described, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in rows)
    with replacing(path) as temporary:
        temporary.write_text(f'{head},\n "table": [\n  {lines}\n ]\n}}\n')


def read(path: Path) -> Certificate:
    data = read_json(path)
    try:
        if data["format"] != FORMAT:
            raise ValueError(f"it is of format {data['format']}, and this version reads {FORMAT}")
        if data["claim"] not in CLAIMS:
            raise ValueError(f"it claims '{data['claim']}', which is none of {', '.join(CLAIMS)}")
        (along, across), table = map(int, data["bits"]), {}
        bits = along, across
        for row in data["table"]:
            situation, told = _entry(row, bits)
            if situation in table:
                raise ValueError(f"it has two entries for {row[:4]}")
            table[situation] = told
        if not table:
            raise ValueError("its table is empty")
        return Certificate(data["claim"], str(data["weights"]), bits, dict(data["margins"]), table)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{path} is not a certificate: {error}") from error


def _entry(row: Sequence[Any], bits: tuple[int, int]) -> tuple[Situation, Told]:
    own, digits, along, across, symbol, *said = row
    seen = tuple(SIGNS.index(digit) for digit in digits)
    for code, count in zip((along, across, *said), bits * 2, strict=True):
        if type(code) is not int or not NOTHING <= code < 2**count or (code != NOTHING and not count):
            raise ValueError(f"{row} has a message that {count} bits cannot say")
    if any(digit > PAD for digit in seen):
        raise ValueError(f"{row} sees what is neither a digit nor a pad")
    return Situation(SIGNS.index(own), seen, along, across), Told(SIGNS.index(symbol), *said)


def check(certificate: Certificate) -> Walk:
    """Prove the theorem from the table alone, or raise a ValueError that says where it fails."""
    table = certificate.table

    def tell(asked: Sequence[Situation]) -> list[Told]:
        for situation in asked:
            if situation not in table:
                raise ValueError(f"it is incomplete: nothing is said about {spell(situation)}")
        return [table[situation] for situation in asked]

    walk = CLAIMS[certificate.claim](tell)
    if walk.wrong:
        shown = f", as in {walk.problems[0]}" if walk.problems else ""
        raise ValueError(f"it is wrong in {len(walk.wrong)} situations: first {spell(next(iter(walk.wrong)))}{shown}")
    unused = table.keys() - walk.used.keys()
    if unused:
        raise ValueError(f"{len(unused)} of its situations cannot occur: first {spell(min(unused))}")
    return walk


def spell(situation: Situation) -> str:
    """A situation in words."""
    digits = " ".join(SIGNS[digit] for digit in situation.digits)
    heard = [
        f"{code} {where}" for code, where in ((situation.along, "along"), (situation.across, "across")) if code >= 0
    ]
    return f"a cell {SIGNS[situation.own]} that sees {digits} and hears {' and '.join(heard) or 'nothing'}"
