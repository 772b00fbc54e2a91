"""What a trained model looks at: its attention at the answer, how much of it goes to far digits, and its positions.

Models whose cells see a few neighbours only have no attention over the whole problem: for them the lists are empty.

Shapes: B batch, H heads, S answer slots, N tokens, L layers in the order in which they are applied.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from digitwise.models.attention import Attention
from digitwise.models.base import Model
from digitwise.models.encoder import slot_positions
from digitwise.tasks import Batch
from digitwise.tasks.symbols import PAD

Floats = NDArray[np.float32]
NEAR = 1
"""A digit is near if its place is at most so many from the answer's: the column itself, and where its carry is from."""


def attention(model: Model, batch: Batch) -> list[Floats]:
    """Return how the answer slots look at all tokens, `[B, H, S, N]` for each layer; every sum over N is 1."""
    found: list[torch.Tensor] = []

    def keep(module: Any, inputs: Any, outputs: tuple[torch.Tensor, torch.Tensor]) -> None:
        found.append(outputs[1])

    hooks = [part.register_forward_hook(keep) for part in model.modules() if isinstance(part, Attention)]
    was_training = model.training
    try:
        with torch.inference_mode():
            model.eval()(torch.as_tensor(batch.tokens, device=model.device), batch.coordinates)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    slots = slot_positions(batch.coordinates.map(torch.as_tensor)).numpy()
    return [_at(slots, weights.cpu().numpy()) for weights in found]


def _at(slots: NDArray[np.int64], weights_BHNN: Floats) -> Floats:
    """Queries at the slots alone; the last layer has no others."""
    if weights_BHNN.shape[2] == slots.shape[-1]:
        return weights_BHNN
    index = slots[None] if slots.ndim == 1 else slots
    return np.take_along_axis(weights_BHNN, index[:, None, :, None], axis=2)


def far_share(model: Model, batch: Batch, near: int = NEAR) -> NDArray[np.float64]:
    """Return the share of attention that written answer digits give to far digits of the numbers: `[L, H]`.

    As numbers grow there are more far digits, and nothing in the scores of a trained model takes them into account.
    """
    weights = attention(model, batch)
    operand, place, tokens = batch.coordinates.operand, batch.coordinates.place, batch.tokens
    digit_BN = (operand >= 0) & (tokens < PAD)
    distance_BSN = np.abs(place[..., None, :] - np.arange(batch.targets.shape[1])[:, None])
    far_BSN = np.broadcast_to(digit_BN[:, None] & (distance_BSN > near), (*batch.targets.shape, tokens.shape[1]))
    written_BS = batch.targets < PAD
    shares = [(layer * far_BSN[:, None]).sum(-1).transpose(0, 2, 1)[written_BS].mean(0) for layer in weights]
    return np.array(shares, dtype=np.float64)


def positions(model: Model, batch: Batch) -> dict[str, Floats]:
    """Return the learned positional vectors by name: those that are added to the embeddings `[N, width]`, and those of
    pairs `[classes, head size]`, layer by layer. Models without either have none."""
    found: dict[str, Floats] = {}
    vectors = getattr(model, "vectors", None)
    if vectors is None or not attention(model, batch.part(slice(0, 1))):
        return found
    coordinates = batch.coordinates.map(lambda array: torch.as_tensor(array, device=model.device))
    with torch.inference_mode():
        embedded = vectors.embed(vectors.prepare(coordinates))
        if embedded is not None:
            found["added to the embeddings"] = embedded.reshape(-1, *embedded.shape[-2:])[0].cpu().numpy()
        try:
            tables = model.pairwise()
        except ValueError:  # the encoding has no pairs
            return found
    return found | {f"pairs, layer {n + 1}": table.detach().cpu().numpy() for n, table in enumerate(tables)}
