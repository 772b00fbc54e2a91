"""Attention with pairwise positions: inside our encoder, and as a part for any model.

The part is `torch.nn.MultiheadAttention` plus coordinates:

    encoding = HeadGroups(((4, ByPlace()), (4, Nothing())))
    attention = PairwiseAttention(768, 8, encoding, Extent(512, (20, 21)), batch_first=True)
    output, weights = attention(x, x, x, coordinates=coordinates)

Where other people's code calls the attention, as in `nn.TransformerEncoderLayer`, the coordinates are given beforehand:

    layer.self_attn = PairwiseAttention.like(layer.self_attn, encoding, extent)
    with standing_at(coordinates):
        output = layer(x)

`digitwise.find_numbers` makes the coordinates of a batch of token ids. Only what an encoding adds to the scores is
added here: absolute positions belong to the embeddings of the model around it.

Shapes: B batch, N tokens, W width, H heads, D size of a head (W = H * D).
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Shape
from digitwise.encodings.base import total
from digitwise.encodings.rotation import rotated
from digitwise.models.picking import unseen

#: From scaled queries to what the encoding adds to the scores of one layer, if anything.
Positional = Callable[[Tensor], Tensor | None]


class Attention(nn.Module):
    """Eq. pairwise: softmax over j of q_i (k_j + p_ij) / sqrt(D); the encoding supplies the second product."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)
        self.sharpness = 1.0

    def forward(
        self,
        query_BNW: Tensor,
        key_BNW: Tensor,
        value_BNW: Tensor,
        positional: Positional,
        angles: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The output `[B, N, W]`, and the weights `[B, H, N, N]`. Queries may be fewer than keys and values. `angles`
        are of queries and of keys."""
        q_BHND, k_BHND, v_BHND = self._by_head(query_BNW, key_BNW, value_BNW)
        attended_BNW, weights_BHNN = attend(q_BHND, k_BHND, v_BHND, positional, self.dropout, angles)
        return self.out(attended_BNW), weights_BHNN

    def _by_head(self, *inputs_BNW: Tensor) -> Iterator[Tensor]:
        """Scaled queries, keys and values `[B, H, N, D]`: one product for those that read the same input."""
        scale = self.sharpness / math.sqrt(self.query.out_features // self.heads)
        # Scaled weights make scaled queries, and there are far fewer weights than entries of queries.
        query = self.query.weight * scale, self.query.bias * scale
        linears = [query, *((part.weight, part.bias) for part in (self.key, self.value))]
        for _, group in groupby(range(3), key=lambda n: [x_BNW is inputs_BNW[n] for x_BNW in inputs_BNW]):
            chosen = list(group)
            weight, bias = map(torch.cat, zip(*(linears[n] for n in chosen), strict=True))
            x_BNW = inputs_BNW[chosen[0]]
            joined_BNPHD = nn.functional.linear(x_BNW, weight, bias).unflatten(-1, (len(chosen), self.heads, -1))
            yield from joined_BNPHD.permute(2, 0, 3, 1, 4).unbind()


def sharpen(model: nn.Module, factor: float) -> None:
    """Multiply all logits of a model by a factor, which is no part of its weights."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.sharpness = factor


@torch.no_grad()
def fold(model: nn.Module, factor: float) -> None:
    """Multiply all logits of a model for good, by its weights: what is left is plain attention."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.query.weight.mul_(factor)
            module.query.bias.mul_(factor)


def attend(
    q_BHND: Tensor,
    k_BHND: Tensor,
    v_BHND: Tensor,
    positional: Positional,
    dropout: Callable[[Tensor], Tensor],
    angles: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """What queries, already scaled, collect of the values `[B, N, W]`, and by which weights."""
    q_BHND = q_BHND.contiguous()  # two products read it
    # What the encoding adds is a product with queries that are not rotated.
    turned_BHND, k_BHND = map(rotated, (q_BHND, k_BHND), angles) if angles else (q_BHND, k_BHND)
    scores_BHNN = turned_BHND @ k_BHND.mT
    added_BHNN = positional(q_BHND)
    if added_BHNN is not None:
        scores_BHNN += added_BHNN
    weights_BHNN = dropout(scores_BHNN.softmax(-1))
    return (weights_BHNN @ v_BHND).transpose(1, 2).flatten(-2), weights_BHNN


_given: ContextVar[Coordinates | None] = ContextVar("coordinates", default=None)


@contextmanager
def standing_at(coordinates: Coordinates) -> Iterator[None]:
    """Inside, every `PairwiseAttention` that is called without coordinates takes these."""
    token = _given.set(coordinates)
    try:
        yield
    finally:
        _given.reset(token)


class PairwiseAttention(nn.Module):
    """Self-attention with the interface of `nn.MultiheadAttention`, and coordinates of the tokens beside it.

    Masks mean what they mean there: true entries are not looked at, floats are added to the scores. Tokens whose
    position is -1 are not looked at either.
    """

    in_proj_bias = None  # keeps nn.TransformerEncoderLayer off a fast path that would leave positions out

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        encoding: Encoding,
        extent: Extent,
        dropout: float = 0.0,
        batch_first: bool = False,
    ):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim must be a multiple of num_heads, and {embed_dim} is not one of {num_heads}")
        self.batch_first = batch_first
        self.attention = Attention(embed_dim, num_heads, dropout)
        self.vectors = encoding.build(Shape(1, num_heads, embed_dim // num_heads, embed_dim), extent)

    @classmethod
    def like(cls, other: nn.MultiheadAttention, encoding: Encoding, extent: Extent) -> "PairwiseAttention":
        """A copy of a trained attention, to which pairwise positions are added."""
        extra = other.bias_k is not None or other.add_zero_attn
        if other.in_proj_weight is None or other.in_proj_bias is None or extra:
            raise ValueError("only an attention with biases, equal sizes and no extra keys can be copied")
        mine = cls(other.embed_dim, other.num_heads, encoding, extent, other.dropout, other.batch_first)
        attention = mine.attention
        with torch.no_grad():
            parts = zip(other.in_proj_weight.chunk(3), other.in_proj_bias.chunk(3), strict=True)
            for part, (weight, bias) in zip((attention.query, attention.key, attention.value), parts, strict=True):
                part.weight.copy_(weight)
                part.bias.copy_(bias)
            attention.out.load_state_dict(other.out_proj.state_dict())
        return mine.to(other.in_proj_weight).train(other.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        coordinates: Coordinates | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Output like the query, and the weights `[B, N, N]` (`[B, H, N, N]` unless averaged over heads) if needed."""
        coordinates = _given.get() if coordinates is None else coordinates
        if coordinates is None:
            raise ValueError("give the coordinates of the tokens, or call the model inside standing_at(coordinates)")
        if is_causal and attn_mask is None:
            raise ValueError("is_causal is only a hint: give the causal attn_mask too")
        if any(x.ndim != 3 or x.shape[:2] != query.shape[:2] for x in (query, key, value)):
            raise ValueError(
                "query, key and value must be batches [B, N, E] of the same tokens: pairs need both sides' coordinates"
            )
        inputs = [x if self.batch_first else x.transpose(0, 1) for x in (query, key, value)]
        coordinates = coordinates.map(lambda array: torch.as_tensor(array, device=query.device))
        if coordinates.position.shape[-1] != inputs[0].shape[1]:
            raise ValueError(f"coordinates of {coordinates.position.shape[-1]} tokens, and {inputs[0].shape[1]} tokens")
        masks = [unseen(coordinates), *self._masks(key_padding_mask, attn_mask)]
        prepared = self.vectors.prepare(coordinates)
        if self.training:
            prepared = self.vectors.vary(prepared, len(inputs[0]))
        if self.vectors.embed(prepared) is not None:
            raise ValueError("absolute positions belong to the embeddings of the model around: leave Absolute out here")

        def positional(q_BHND: Tensor) -> Tensor | None:
            added = [mask.to(q_BHND.dtype) for mask in masks if mask is not None]
            return total([self.vectors.scores(0, q_BHND, prepared), *added])

        angles = self.vectors.angles(0, prepared)
        output, weights = self.attention(*inputs, positional, None if angles is None else (angles, angles))
        output = output if self.batch_first else output.transpose(0, 1)
        if not need_weights:
            return output, None
        return output, weights.mean(1) if average_attn_weights else weights

    def _masks(self, key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> list[Tensor]:
        """Both masks as floats that can be added to scores `[B, H, N, N]`."""
        masks: list[Any] = []
        if key_padding_mask is not None:
            masks.append(_floats(key_padding_mask)[:, None, None, :])
        if attn_mask is not None:  # [N, N], or one per head and row: [B * H, N, N]
            mask = _floats(attn_mask)
            masks.append(mask.unflatten(0, (-1, self.attention.heads)) if mask.ndim == 3 else mask)
        return masks


def _floats(mask: Tensor) -> Tensor:
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)
    if not mask.is_floating_point():
        raise ValueError("masks must be of bools or floats: of a tokenizer's attention_mask take attention_mask == 0")
    return mask
