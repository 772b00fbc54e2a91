"""The only file that imports accelerate: devices, precision and processes are its business, arithmetic is not."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from digitwise.rng import seed_of


class Engine:
    """One model and its optimizer, on whatever devices there are."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, precision: str = "no"):
        AcceleratorState._reset_state(True)  # it is global, and refuses a second precision in one process otherwise
        # Without being told it would let the processes of a CPU cluster train one model each.
        self.accelerator = Accelerator(mixed_precision=precision, cpu=not torch.accelerator.is_available())
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    @property
    def device(self) -> torch.device:
        return self.accelerator.device

    @property
    def rank(self) -> int:
        return self.accelerator.process_index

    @property
    def processes(self) -> int:
        return self.accelerator.num_processes

    @property
    def is_main(self) -> bool:
        return self.accelerator.is_main_process

    @property
    def plain_model(self) -> Any:
        return self.accelerator.unwrap_model(self.model)

    def step(self, losses: Sequence[Callable[[], Tensor]], rate: float, clip: float) -> tuple[float, float]:
        """One update from the mean of several losses; returns that mean and the norm of the gradient."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.device)
        for part, loss_of in enumerate(losses):
            last = part == len(losses) - 1
            with self.accelerator.autocast(), nullcontext() if last else self.accelerator.no_sync(self.model):
                loss = loss_of() / len(losses)
                self.accelerator.backward(loss)
            total += loss.detach()
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), clip or float("inf"))
        self.optimizer.step()
        return float(self.accelerator.reduce(total, "mean")), float(norm)


@contextmanager
def seeded(*key: int | str) -> Iterator[None]:
    """Torch's random numbers as a pure function of the key inside, and untouched outside."""
    with torch.random.fork_rng():
        torch.manual_seed(seed_of(*key))
        yield
