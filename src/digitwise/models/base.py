"""What a model is: it reads tokens with their coordinates, and answers. Its blueprint can be compared and stored.

Shapes: B batch, N tokens, S answer slots, V symbols.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding


class Answers(NamedTuple):
    symbols_BS: Tensor
    confidence_BS: Tensor
    """The probability that the model gives to each symbol."""
    rounds_B: Tensor
    """After how many rounds the answer did not change any more."""


class Model(nn.Module):
    """The seam for models: tokens and coordinates go in, the logits of one symbol per answer slot come out."""

    progress: float = 1.0
    """Share of the training that is done, which the training loop sets; some models begin differently."""
    joins: bool = False
    """Whether `forward` takes further batches, as pairs of tokens and coordinates, and returns the logits of each."""

    def finite(self) -> "Model":
        """Return the model, if its cells tell each other finitely many things, so that every case can be checked."""
        reason = "its cells tell each other their whole state, or it has no cells, and there is no end of cases"
        raise ValueError(f"this model cannot be proven: {reason}. Models with --architecture messages can")

    def pay(self) -> Tensor | float:
        """Return what the last forward adds to the loss of its answers."""
        return 0.0

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates) -> Tensor:
        """Return the logits `[B, S, V]`."""
        raise NotImplementedError

    def answer(self, tokens_BN: Tensor, coordinates: Coordinates) -> Answers:
        confidence_BS, symbols_BS = self(tokens_BN, coordinates).float().softmax(-1).max(-1)
        return Answers(symbols_BS, confidence_BS, torch.ones_like(symbols_BS[:, 0]))

    def floats(self, num_tokens: int) -> int:
        """Return how many numbers the activations of one problem take, to size batches by memory."""
        return 1000 * num_tokens

    def grow_from(self, smaller: "Model", before: Coordinates, now: Coordinates) -> None:
        """Take the weights of a model of the same kind. Only positional vectors may depend on the coordinates."""
        self.load_state_dict(smaller.state_dict())

    def pairwise(self) -> list[Tensor]:
        """Return the table of pairwise vectors of each layer, if the model has any."""
        raise ValueError("maps need pairwise vectors: this kind of model has none")

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


@dataclass(frozen=True)
class Blueprint:
    """The stated half of a model: a frozen dataclass that can be compared and written to a file."""

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> Model:
        """Return a model with weights from torch's current random state; `symbols` go in, `answers` come out."""
        raise NotImplementedError

    def smallest(self) -> "Blueprint":
        """Return the same kind of model at a size that trains in seconds, to see that everything runs."""
        return self
