"""Machines made by hand that are right: what training has to find, stated as arithmetic on codes."""

import numpy as np

from digitwise.machines import CLAIMS
from digitwise.machines.certificate import Certificate
from digitwise.machines.table import NOTHING, Answered, Situation, Situations, Table, Told
from digitwise.machines.walk import value
from digitwise.tasks.symbols import DIVIDE, EQUAL, MINUS, PAD, PLUS, REST, TIMES

BITS = {"sum": (1, 0), "sums": (1, 4), "product": (4, 4), "difference": (2, 2), "division": (4, 0)}
SIGN = {0: 0, 1: 1, 2: -1}  # of a code: equal, more, less
LOWEST = 3


def told(situation: Situation) -> Told:
    own, digits, along, across = situation
    heard = max(along, 0)
    if own == PLUS and len(digits) == 2:
        total = sum(map(value, digits)) + heard
        return Told(PAD if set(digits) == {PAD} and not total else total % 10, total // 10)
    if own == PLUS:
        so_far = PAD if across in (NOTHING, 10) else across
        total = value(digits[0]) + value(so_far) + heard
        written = PAD if digits[0] == so_far == PAD and not total else total % 10
        return Told(written, total // 10, written)
    if own == TIMES:
        total = value(digits[0]) * value(digits[1]) + max(across, 0) + heard
        return Told(total % 10, total // 10, total % 10)
    if own in (DIVIDE, REST):
        if own == REST:
            return Told(heard)
        quotient, rest = divmod(10 * heard + value(digits[1]), digits[0]) if digits[0] else (0, 0)
        return Told(PAD if digits[1] == PAD else quotient, rest)
    a, b = map(value, digits)
    if own == EQUAL:
        sign = (a > b) - (a < b) or SIGN[heard]
        return Told(EQUAL + SIGN[heard], sign % 3, LOWEST if along == NOTHING else heard)
    low = SIGN.get(across, 0)
    top = along == NOTHING
    below, zeros = (low < 0, True) if top else (bool(along & 2), bool(along & 1))
    upper, lower = (b, a) if below else (a, b)
    digit = (upper - lower - (low == (1 if below else -1))) % 10
    zeros = zeros and not digit
    written = PAD if zeros and across != LOWEST else digit
    if top:
        written = MINUS if below else PAD
    return Told(written, 2 * below + zeros)


def ask(situations: Situations) -> Answered:
    asked = zip(situations.own_A, situations.digits_AK, situations.along_A, situations.across_A, strict=True)
    found = [told(Situation(int(o), tuple(map(int, d)), int(x), int(y))) for o, d, x, y in asked]
    return Answered(*(np.array(part) for part in zip(*found, strict=True)), np.ones(len(found), dtype=np.float32))


def table(claim: str) -> Table:
    owns = {"sum": [PLUS], "sums": [PLUS], "product": [TIMES], "difference": [MINUS, EQUAL], "division": [DIVIDE, REST]}
    return Table(owns[claim], 1 if claim == "sums" else 2, BITS[claim], ask)


def certificate(claim: str) -> Certificate:
    used = list(CLAIMS[claim](table(claim).tell).used)
    entries = dict(zip(used, table(claim).tell(used), strict=True))
    return Certificate(claim, "0" * 64, BITS[claim], {"bit": 1.0}, entries)
