"""Walks over every case: all situations that a cell can be in, from the first cells on, compared with arithmetic.

A walk goes over pairs of what the machine says (a code) and what is true (a carry, a digit, a comparison, a remainder),
until nothing new appears. If the symbol that is written is right in every situation of the walk, the machine is right
at every length: that is an induction over places, and the pairs are what it assumes of the place before.

Numbers have no leading zeros, so it matters how far a number has been read. From its lowest place up, its phase is:
it cannot end here, since its last digit is a zero; it can end here; it is over, and pads follow.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from digitwise.machines.table import NOTHING, Situation, Told
from digitwise.tasks.symbols import DIVIDE, EQUAL, MINUS, PAD, PLUS, REST

Tell = Callable[[Sequence[Situation]], list[Told]]
READ, ALONG, ACROSS = 1, 2, 4
"""Which outputs of a cell matter in a situation: those that are read or heard."""
ZERO, OPEN, OVER = range(3)
DIGITS = range(10)
SEEN = (*DIGITS, PAD)
WORST = 3000
"""A walk that has found so many wrong cases is not continued."""
State = tuple


@dataclass
class Walk:
    """What a walk has found."""

    tell: Tell
    used: dict[Situation, int] = field(default_factory=lambda: defaultdict(int))
    """Situations that can occur, and which of their outputs matter."""
    wrong: dict[Situation, None] = field(default_factory=dict)
    """Where a symbol or a message is wrong, in the order in which that was found."""
    problems: list[str] = field(default_factory=list)
    """Problems that lead to wrong symbols, shortest first, where the walk knows them."""
    meanings: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """For each kind of message what its codes stand for."""

    def told(self, asked: Sequence[tuple[Situation, int]]) -> list[Told]:
        for situation, used in asked:
            self.used[situation] |= used
        return self.tell([situation for situation, _ in asked])

    def is_wrong(self, situation: Situation, problem: str) -> None:
        self.wrong[situation] = None
        if problem not in self.problems:
            self.problems.append(problem)


def phase_after(phase: int | None, digit: int) -> int | None:
    """The phase after one more digit, None for a digit that cannot come; phase None is below the lowest place."""
    if digit == PAD:
        return None if phase in (None, ZERO) else OVER
    if phase == OVER:
        return None
    return ZERO if digit == 0 and phase is not None else OPEN


def columns(one: int | None, two: int | None) -> Iterator[tuple[int, int, int, int]]:
    """Digits of two numbers that can come next, with the phases after them."""
    for a in SEEN:
        after_a = phase_after(one, a)
        for b in SEEN if after_a is not None else ():
            after_b = phase_after(two, b)
            if after_a is not None and after_b is not None:
                yield a, b, after_a, after_b


def value(symbol: int) -> int:
    return 0 if symbol == PAD else symbol


def number(digits: Sequence[int]) -> str:
    """A number from its symbols, lowest first; where zeros lead it gets a 1 in front."""
    written = [digit for digit in digits if digit != PAD]
    if len(written) > 1 and written[-1] == 0:
        written.append(1)
    return "".join(map(str, reversed(written)))


def _written(track: Sequence[tuple[int, int]], operator: str) -> str:
    first, second = zip(*track, strict=True)
    return f"{number(first)} {operator} {number(second)}"


def sums_of_two(tell: Tell) -> Walk:
    """States of the row: what is heard, the carry, and the phases of both numbers."""
    walk = Walk(tell)
    tracks: dict[State, list[tuple[int, int]]] = {(NOTHING, 0, None, None): []}
    level = list(tracks)
    while level:
        steps = [(state, column) for state in level for column in columns(*state[2:])]
        told = walk.told([(Situation(PLUS, (a, b), s[0]), READ | ALONG) for s, (a, b, *_) in steps])
        level = []
        for (state, (a, b, *phases)), (symbol, code, _) in zip(steps, told, strict=True):
            total = value(a) + value(b) + state[1]
            track = [*tracks[state], (a, b)]
            if symbol != (PAD if a == b == PAD and not total else total % 10):
                walk.is_wrong(Situation(PLUS, (a, b), state[0]), _written(track, "+"))
            walk.meanings["carry"][code].add(str(total // 10))
            new = (code, total // 10, *phases)
            if new not in tracks and len(walk.wrong) < WORST:
                tracks[new] = track
                level.append(new)
    return walk


def divisions(tell: Tell) -> Walk:
    """States of the row: the divisor, what is heard, the remainder, and what the dividend began with."""
    walk = Walk(tell)
    tracks: dict[State, str] = {(m, NOTHING, 0, "top"): "" for m in range(1, 10)}
    level = list(tracks)
    while level:
        steps = []
        for state in level:
            m, code, _, phase = state
            for x in {"top": (PAD,), "none": SEEN, "zero": (), "some": DIGITS}[phase]:
                steps.append((state, Situation(DIVIDE, (m, x), code), READ | ALONG))
            if phase in ("zero", "some"):
                steps.append((state, Situation(REST, (m, PAD), code), READ))
        told = walk.told([(situation, used) for _, situation, used in steps])
        level = []
        for (state, situation, _), (symbol, code, _) in zip(steps, told, strict=True):
            (m, x), (_, _, rest, _), digits = situation.digits, state, tracks[state]
            if situation.own == REST:
                if symbol != rest:
                    walk.is_wrong(situation, f"{digits} / {m}")
                continue
            quotient, rest = divmod(10 * rest + value(x), m)
            digits += "" if x == PAD else str(x)
            if symbol != (PAD if x == PAD else quotient):
                walk.is_wrong(situation, f"{digits or 1} / {m}")
            walk.meanings[f"remainder by {m}"][code].add(str(rest))
            new = (m, code, rest, "none" if x == PAD else "zero" if digits == "0" else "some")
            if new not in tracks and len(walk.wrong) < WORST:
                tracks[new] = digits
                level.append(new)
    return walk


@dataclass
class _Up:
    """The row up of a difference or a comparison: its states, and all ways between them."""

    tracks: dict[State, list[tuple[int, int]]]
    ways: dict[State, list[tuple[State, int, int, int]]]
    """To a state: from which one, by which digits, and with which message to the next row."""


START: State = (NOTHING, 0, None, None)
SIGNS = "=><"  # of 0, 1 and -1


def _row_up(walk: Walk) -> _Up:
    """States: what is heard, how the numbers compare so far, and their phases."""
    up = _Up({START: []}, defaultdict(list))
    level = [START]
    while level:
        steps = [(state, column) for state in level for column in columns(*state[2:])]
        told = walk.told([
            (Situation(EQUAL, (a, b), s[0]), ALONG | ACROSS | (READ if a == b == PAD else 0)) for s, (a, b, *_) in steps
        ])  # fmt: skip
        level = []
        for (state, (a, b, *phases)), (symbol, code, across) in zip(steps, told, strict=True):
            if a == b == PAD and symbol != EQUAL + state[1]:
                walk.is_wrong(Situation(EQUAL, (a, b), state[0]), _written(up.tracks[state], "?"))
            sign = (value(a) > value(b)) - (value(a) < value(b)) or state[1]
            walk.meanings["up"][code].add(SIGNS[sign])
            new = (code, sign, *phases)
            up.ways[new].append((state, a, b, across))
            if new not in up.tracks:
                up.tracks[new] = [*up.tracks[state], (a, b)]
                level.append(new)
    return up


def differences(tell: Tell) -> Walk:
    """Differences and comparisons. A comparison is read where the row up has come to an empty place. The row down of a
    difference begins there and goes the ways of the row up back. Its states: the state of the row up below this place,
    what is heard, the sign, and whether all digits so far are zeros."""
    walk = Walk(tell)
    up = _row_up(walk)
    above: dict[State, list[tuple[int, int]]] = {
        (state, NOTHING, None, True): []
        for state, ways in up.ways.items()
        if any(way[1] == way[2] == PAD for way in ways)  # the top place is empty
    }
    level = list(above)
    while level:
        steps = [
            (state, way, Situation(MINUS, way[1:3], state[1], way[3]))
            for state in level
            for way in up.ways[state[0]]
            if state[2] is not None or way[1] == way[2] == PAD
        ]
        told = walk.told([(situation, READ if way[0] == START else READ | ALONG) for _, way, situation in steps])
        level = []
        for (state, (source, a, b, across), situation), (symbol, code, _) in zip(steps, told, strict=True):
            top, lowest, low = state[2] is None, source == START, source[1]
            sign = low if top else state[2]  # at the top nothing but pads is left, so what is below decides
            lower, upper = (a, b) if sign < 0 else (b, a)
            digit = (value(upper) - value(lower) - (low == (1 if sign < 0 else -1))) % 10
            zeros = state[3] and not digit
            right = PAD if zeros and not lowest else digit
            if top:
                right = MINUS if sign < 0 else PAD
            if symbol != right:
                walk.is_wrong(situation, _written([*up.tracks[source], (a, b), *above[state]], "-"))
            walk.meanings["to the row down"][across].add(SIGNS[low] if not lowest else "lowest place")
            if not lowest:
                walk.meanings["down"][code].add("-" if sign < 0 else "+")
                new = (source, code, sign, zeros)
                if new not in above and len(walk.wrong) < WORST:
                    above[new] = [(a, b), *above[state]]
                    level.append(new)
    return walk
