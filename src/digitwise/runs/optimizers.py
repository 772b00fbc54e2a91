"""Optimizers, and which decay each parameter has."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.encodings import Vectors

#: Coefficients of the odd quintic a x + b x^3 + c x^5 that drives all singular values near 1 within five rounds, and
#: the factor that gives an orthogonal step the size of an AdamW step, so that one rate and one decay serve both.
#: Both are published values: Keller Jordan et al., "Muon" (2024); Liu et al., "Muon is scalable" (2025).
QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
SIZE_OF_ADAM = 0.2


def groups(model: nn.Module, decay: float, table_decay: float | None) -> list[dict[str, Any]]:
    """All parameters, and first of all the positional vectors if they have a decay of their own."""
    if table_decay is None:
        return [{"params": list(model.parameters()), "weight_decay": decay}]
    tables = {id(p) for part in model.modules() if isinstance(part, Vectors) for p in part.parameters()}
    chosen = [[p for p in model.parameters() if (id(p) in tables) is own] for own in (True, False)]
    return [{"params": chosen[0], "weight_decay": table_decay}, {"params": chosen[1], "weight_decay": decay}]


def adamw(model: nn.Module, rate: float, decay: float, table_decay: float | None = None) -> torch.optim.AdamW:
    return torch.optim.AdamW(groups(model, decay, table_decay), lr=rate, fused=True)


class Muon(torch.optim.AdamW):
    """The matrices inside the layers move by their momentum with all its singular values set to about 1; embeddings,
    positional vectors, biases and norms are AdamW's.

    `torch.optim.Muon` rounds to bfloat16, which is many times slower on a CPU, and takes one matrix at a time.
    """

    def __init__(
        self, model: nn.Module, rate: float, decay: float, table_decay: float | None = None, momentum: float = 0.95
    ):
        super().__init__(groups(model, decay, table_decay), lr=rate, fused=True)
        self.matrices = [m.weight for m in model.get_submodule("layers").modules() if isinstance(m, nn.Linear)]
        self.momentum = momentum
        self._step_supports_amp_scaling = False  # as fused AdamW does; our matrices need the scaler to check before

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        group = self.param_groups[-1]
        stacks: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
        for weight in self.matrices:
            if weight.grad is None:
                continue
            state = self.state[weight]
            if not state:  # AdamW's names: loading a state expects them
                state.update(step=torch.zeros(()), exp_avg=torch.zeros_like(weight))
            mean = state["exp_avg"].lerp_(weight.grad, 1 - self.momentum)
            towards = weight.grad.lerp(mean, self.momentum)
            weight.grad = None  # AdamW passes it over
            wide, high = sorted(towards.shape, reverse=True)
            stacks.setdefault((high, wide), []).append((weight, towards))
        for (_, wide), pairs in stacks.items():
            stack = torch.stack([towards if towards.shape[1] == wide else towards.T for _, towards in pairs])
            for (weight, _), straight in zip(pairs, orthogonal(stack), strict=True):
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                oriented = straight if weight.shape[1] == wide else straight.T
                weight.add_(oriented, alpha=-group["lr"] * SIZE_OF_ADAM * wide**0.5)
        return super().step(closure)


def orthogonal(matrices: Tensor) -> Tensor:
    """A stack of wide matrices with all their singular values brought near 1, by Newton and Schulz's iteration."""
    a, b, c = QUINTIC
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {"adamw": adamw, "muon": Muon}
