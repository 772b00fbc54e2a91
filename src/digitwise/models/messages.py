"""Cells that tell each other a few bits: a trained one is a finite machine, of which every case can be checked.

The cells stand in rows (`encodings.by_column`). A cell is one function: from its own symbol, the digits that it sees,
a message along its row and a message from the row before, to the symbol that it writes, the message to the next place
of its row and the message to the next row. Its state stays private. A message is a few bits, +1 or -1, and hearing
nothing is all zeros. What a message stands for is learned: nothing but the answers is ever shown.

In training messages are soft at first (tanh), then noise grows, then more and more problems have hard bits (the sign;
the gradient is that of the tanh). Once all are hard, bits that are near zero are pushed away from it, so that rounding
cannot turn them, and bits far from it are pulled back, so that training still can. At test bits are always hard.

`forward`, for training, takes cells in the order of their dependence. `answer` asks the cell about each situation that
occurs, once, and puts problems of any length together from that (`machines`).

Shapes: B problems, C cells of a problem, R rows, P places, the rest as in `cell`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding
from digitwise.encodings import noise as noise_of
from digitwise.machines.run import Layout, written
from digitwise.machines.table import NOTHING, Answered, Situations, Table
from digitwise.models.base import Answers, Blueprint
from digitwise.models.cell import Cell, Started, bits_of
from digitwise.models.chance import Chance, SharedChance
from digitwise.models.encoder import Architecture
from digitwise.models.margins import nearest_code, price
from digitwise.models.wiring import Graph, Wiring, join, wire
from digitwise.tasks.symbols import PAD, SIGNS

NOISE_FROM, HARD_FROM = 0.31, 0.64
"""Shares of the way to all bits being hard: from where noise grows, and from where bits become hard."""
CALM = 10
"""Times the price of thin margins once nothing is wrong. Where it does not matter which of two codes is said, bits stay
between them otherwise."""
REMEMBERED = 16
"""For how many coordinates a model remembers its wiring."""


@dataclass(frozen=True)
class Messages(Blueprint):
    """The size of a cell, and how it learns to speak in bits."""

    layers: int = 1  # distinct ones, which see digits only; one more hears the messages too
    width: int = 96
    heads: int = 4
    feedforward: int = 0  # 0 stands for four times the width
    along: int = 4
    """Bits to the next place of a row."""
    across: int = 0
    """Bits to the next row, 0 where no row hears another one."""
    hard: float = 0.55
    """Share of the training after which all bits are hard."""
    noise: float = 0.5
    """Deviation of the noise on bits once all of them are hard."""
    rest: float = 1.0
    """Share of that noise at the end of the training, to which it falls once all bits are hard. Noise that stays makes
    wrong answers of problems whose codes are one bit apart, and what is nearly right is undone again."""
    push: float = 0.1
    """Price of hard bits outside of their margins (`models.margins`)."""
    settle: float = 0.0
    """Price of hard bits of strays: codes to the next row that are hardly ever said. If there is a price, strays are
    heard as the nearest code that is said often, and pay until they are that code."""

    def __post_init__(self) -> None:
        self.encoder()  # refuses sizes that do not fit each other
        if not (1 <= self.along <= 8 and 0 <= self.across <= 8):
            raise ValueError("a message has at most 8 bits, and at least one along its row")
        if not 0 < self.hard <= 1:
            raise ValueError(f"hard must be above 0 and at most 1, not {self.hard}")
        if not 0 <= self.rest <= 1:
            raise ValueError(f"rest must be from 0 to 1, not {self.rest}")

    @property
    def bits(self) -> tuple[int, int]:
        return self.along, self.across

    def encoder(self) -> Architecture:
        return Architecture(self.layers, 1, 1, self.width, self.heads, self.feedforward)

    def smallest(self) -> Blueprint:
        return replace(self, layers=1, width=16, heads=4, feedforward=32)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> "Speakers":
        return Speakers(self, encoding, symbols, answers)


class Speakers(Cell):
    """All cells of a batch are the same cell."""

    joins = True

    def __init__(self, blueprint: Messages, encoding: Encoding, symbols: int, answers: int):
        super().__init__(blueprint.encoder(), blueprint.bits, encoding, symbols, answers)
        self.blueprint = blueprint
        self._remembered: list[tuple[Coordinates, Wiring]] = []
        self._price: Tensor | float = 0.0
        self.often: list[int] = []
        """Codes that are often said to the next row, as the last check of a training has counted them."""
        self.calm = False
        """No case was wrong at the last check: then margins are what matters."""
        self._kept: tuple[Any, Table] | None = None

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, *others: tuple[Tensor, Coordinates]) -> Any:
        """Return the logits `[B, S, V]`; in training mode messages are as hard as the progress asks."""
        parts = [(tokens_BN, coordinates), *others]
        wirings = [self.prepare(coordinates) for _, coordinates in parts]
        graph, symbols_AK = self._graph(parts)
        base = self.embedding.num_embeddings ** torch.arange(symbols_AK.shape[1], device=self.device)
        numbers_M, combination_A = (symbols_AK * base).sum(-1).unique(return_inverse=True)
        started = self.start(numbers_M[:, None] // base % self.embedding.num_embeddings, wirings[0].digits)
        classes_AK = self._classes(graph.down_A, wirings[0].shift)
        hardness, noise = self._voice()
        often_FL = self._often(hardness)
        hard_A1 = None
        chance = self._chance(graph)
        if self.training:
            hard_A1 = (chance.problems() < hardness)[graph.problem_A]
        said = [[torch.zeros(1, count, device=self.device)] for count in self.blueprint.bits if count]
        states, raw = [], [list[Tensor]() for _ in said]
        for now in map(slice, graph.bounds[:-1], graph.bounds[1:]):
            part = Started._make(tensor[combination_A[now]] for tensor in started)
            heard = [torch.cat(bits)[index[now]] for bits, index in zip(said, graph.heard, strict=False)]
            states.append(self.state(part, heard, classes_AK[now]))
            for number, (bits, say) in enumerate(zip(said, self.say, strict=True)):
                z = say(states[-1])
                raw[number].append(z)
                loud = z + noise * chance.like(z) if noise else z
                sign = torch.where(loud > 0, 1.0, -1.0).to(z.dtype)
                if number and often_FL is not None:
                    sign = torch.where(*nearest_code(z, often_FL), sign)
                bits.append(speak(loud, sign, None if hard_A1 is None else hard_A1[now]))
        if self.training and hardness == 1:
            push, settle = self.blueprint.push * (CALM if self.calm else 1), self.blueprint.settle
            paid = [price(torch.cat(z), push, settle, often_FL if kind else None) for kind, z in enumerate(raw)]
            self._price = torch.stack(paid).sum() / chance.share_of(sum(z.numel() for z in chain(*raw)))
        state_AW = torch.cat(states)
        logits = [self.readout(state_AW[slots_BS]) for slots_BS in graph.slots]
        return logits if others else logits[0]

    def _often(self, hardness: float) -> Tensor | None:
        """The codes that are often said to the next row, as bits, while strays are brought back to them."""
        if not (self.training and hardness == 1 and self.blueprint.settle and self.often):
            return None
        codes_F = torch.tensor(self.often, device=self.device)
        return bits_of(codes_F, self.blueprint.across).to(self.readout.weight.dtype)

    def _graph(self, parts: Sequence[tuple[Tensor, Coordinates]]) -> tuple[Graph, Tensor]:
        """All cells that are there, in the order of their dependence, and the symbols that each sees."""
        wirings = [self.prepare(coordinates) for _, coordinates in parts]
        graph = join([(wiring, len(tokens_BN)) for wiring, (tokens_BN, _) in zip(wirings, parts, strict=True)])
        seen = [
            tokens_BN.long()[:, w.seen_CK].transpose(0, 1) for w, (tokens_BN, _) in zip(wirings, parts, strict=True)
        ]
        symbols_AK = torch.cat([symbols_CBK.flatten(0, 1) for symbols_CBK in seen])[graph.order_A]
        there_A = symbols_AK[:, 0] != PAD  # the other cells are not there: problems with fewer rows than the widest
        return graph.only(there_A), symbols_AK[there_A]

    def _chance(self, graph: Graph) -> Chance:
        part = noise_of.share() if self.training else None
        if part is None:
            return Chance(graph)
        return SharedChance(self._graph(part.whole)[0], part, [count for count in self.blueprint.bits if count])

    def finite(self) -> "Speakers":
        return self

    def pay(self) -> Tensor | float:
        price, self._price = self._price, 0.0
        return price

    def _voice(self) -> tuple[float, float]:
        """The share of problems whose bits are hard, and the noise."""
        if not self.training:
            return 1.0, 0.0
        way = self.progress / self.blueprint.hard
        hard, noise = (min(max((way - start) / (1 - start), 0.0), 1.0) for start in (HARD_FROM, NOISE_FROM))
        over = min(max((self.progress - self.blueprint.hard) / max(1 - self.blueprint.hard, 1e-9), 0.0), 1.0)
        return hard, self.blueprint.noise * noise * (1 - over * (1 - self.blueprint.rest))

    def prepare(self, coordinates: Coordinates) -> Wiring:
        """Wire the cells of coordinates once; those that come again and again are one object per width."""
        for known, wiring in self._remembered:
            if known.same(coordinates):
                return wiring
        found = coordinates.map(lambda array: torch.as_tensor(array, device=self.device))
        wiring = wire(
            self.vectors.prepare(found), found.slot.reshape(-1, found.slot.shape[-1])[0], self.vectors.looks[1]
        )
        if wiring.shift is not None and not self.blueprint.across:
            raise ValueError("here rows hear each other: give the architecture bits for that with --across")
        self._remembered = [(coordinates, wiring), *self._remembered[: REMEMBERED - 1]]
        return wiring

    def floats(self, num_tokens: int) -> int:
        return num_tokens * 16 * self.blueprint.width

    # The cell as a table

    def table(self, wiring: Wiring) -> Table:
        """The cell as it is now; situations are worked out when they are asked for."""
        owns = [n for n in range(PAD + 1, self.embedding.num_embeddings) if n < len(SIGNS)]
        return Table(owns, wiring.seen_CK.shape[1] - 1, self.blueprint.bits, partial(self._told, wiring))

    @torch.inference_mode()
    def _told(self, wiring: Wiring, situations: Situations) -> Answered:
        logits_AV, raw = self.situations(wiring, situations)
        codes = [((z > 0).long() << torch.arange(z.shape[1], device=z.device)).sum(1) for z in raw]
        codes += [torch.full_like(codes[0], NOTHING)] * (2 - len(codes))
        confidence_A, symbol_A = logits_AV.float().softmax(-1).max(-1)
        return Answered(*(part.cpu().numpy() for part in (symbol_A, *codes, confidence_A)))

    def answer(self, tokens_BN: Tensor, coordinates: Coordinates) -> Answers:
        """Each situation that occurs is worked out once, and every cell is in one of them."""
        wiring = self.prepare(coordinates)
        table = self._known(wiring)
        symbols_BCK = tokens_BN.cpu().numpy()[:, wiring.seen_CK.cpu().numpy()]
        combination_BC = table.combination(symbols_BCK[..., 0], list(np.moveaxis(symbols_BCK[..., 1:], -1, 0)))
        combination_BRP = combination_BC.reshape(len(tokens_BN), len(wiring.down_R), -1)
        layout = Layout(lambda row: combination_BRP[:, row], wiring.down_R, wiring.shift)
        numbers_BS = written(table, layout)[:, wiring.writers - (combination_BC.shape[1] - combination_BRP.shape[2])]
        symbols_BS = torch.as_tensor(table.symbol[numbers_BS], device=self.device).long()
        confidence_BS = torch.as_tensor(table.confidence[numbers_BS], device=self.device)
        return Answers(symbols_BS, confidence_BS, torch.full_like(symbols_BS[:, 0], combination_BC.shape[1]))

    def _known(self, wiring: Wiring) -> Table:
        """The table of these weights, as far as it was asked for before."""
        version = [(id(weight), weight._version) for weight in self.parameters()]
        if self._kept is None or self._kept[0] != (version, wiring.digits, wiring.down_R[0], wiring.shift):
            self._kept = (version, wiring.digits, wiring.down_R[0], wiring.shift), self.table(wiring)
        return self._kept[1]


def speak(z: Tensor, sign: Tensor, hard_A1: Tensor | None) -> Tensor:
    """Messages from what cells would say: signs, or in training what is in between for problems that are not hard."""
    if hard_A1 is None:
        return sign
    soft = z.tanh()
    return torch.where(hard_A1, soft + (sign - soft).detach(), soft)
