"""How a model is moved: devices, processes, optimizers. The only file that imports accelerate."""

import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.rng import seed_of


class Engine:
    """One model and its optimizer, on whatever devices there are."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, precision: str = "no"):
        from accelerate import Accelerator  # slow to import, and needed by training alone
        from accelerate.state import AcceleratorState

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
    # Without a list of devices every visible GPU would be touched at every step.
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed_of(*key))
        yield


def best_device() -> str:
    """Where a model answers fastest."""
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def loss_of(logits_BSV: Tensor, targets_BS: Tensor) -> Tensor:
    """The cross entropy of every answer symbol, pads included."""
    return nn.functional.cross_entropy(logits_BSV.flatten(0, 1), targets_BS.long().flatten())


def environment() -> dict[str, Any]:
    """Return the versions and the machine that a run is made with."""

    def installed(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        **{name: installed(name) for name in ("digitwise", "torch", "numpy", "accelerate")},
        "commit": _commit(Path(__file__).resolve().parents[3]),
    }


def _cpu() -> str | None:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or None


def _commit(checkout: Path) -> str | None:
    """The commit of the package's own checkout, with `-dirty` where files were changed; None if it was installed."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


#: Coefficients of the odd quintic a x + b x^3 + c x^5 that drives all singular values near 1 within five rounds, and
#: the factor that gives an orthogonal step the size of an AdamW step, so that one rate and one decay serve both.
#: Both are published values: Keller Jordan et al., "Muon" (2024); Liu et al., "Muon is scalable" (2025).
QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
SIZE_OF_ADAM = 0.2


def adamw(model: nn.Module, rate: float, decay: float) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, fused=True)


class Muon(torch.optim.AdamW):
    """The matrices inside the layers move by their momentum with all its singular values set to about 1; embeddings,
    positional vectors, biases and norms are AdamW's.

    `torch.optim.Muon` rounds to bfloat16, which is many times slower on a CPU, and takes one matrix at a time.
    """

    def __init__(self, model: nn.Module, rate: float, decay: float, momentum: float = 0.95):
        super().__init__(model.parameters(), lr=rate, weight_decay=decay, fused=True)
        self.matrices = [m.weight for m in model.get_submodule("layers").modules() if isinstance(m, nn.Linear)]
        self.momentum = momentum
        self._step_supports_amp_scaling = False  # as fused AdamW does; our matrices need the scaler to check before

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        group = self.param_groups[0]
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


OPTIMIZERS: dict[str, Callable[[nn.Module, float, float], torch.optim.Optimizer]] = {"adamw": adamw, "muon": Muon}
