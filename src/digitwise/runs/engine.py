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

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from digitwise.rng import seed_of
from digitwise.runs.tracking import Tracker, finish, quiet


class Engine:
    """One model and its optimizer, on whatever devices there are."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        precision: str = "no",
        tracker: Tracker | None = None,
    ):
        from accelerate import Accelerator  # slow to import, and needed by training alone
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state(True)  # it is global, and refuses a second precision in one process otherwise
        # Without being told it would let the processes of a CPU cluster train one model each.
        self.accelerator = Accelerator(
            mixed_precision=precision,
            cpu=not torch.accelerator.is_available(),
            log_with=tracker.name if tracker else None,
            project_dir=tracker.folder if tracker else None,
        )
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        if tracker:
            title = "tensorboard" if tracker.name == "tensorboard" else "digitwise"  # a folder, or a project
            with quiet():
                self.accelerator.init_trackers(title, tracker.config, {tracker.name: tracker.settings})

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

    def agree(self, asked: bool) -> bool:
        """Whether any process was asked, so that all stop after the same step."""
        return asked if self.processes == 1 else self.mean(float(asked)) > 0

    def mean(self, number: float) -> float:
        """Over all processes."""
        if self.processes == 1:
            return number
        return float(self.accelerator.reduce(torch.tensor(number, device=self.device, dtype=torch.float64), "mean"))

    def track(self, step: int, **row: Any) -> None:
        """Tell the tracker, if there is one, the numbers of a row of the log."""
        numbers = {name: value for name, value in row.items() if type(value) in (int, float, bool)}
        if self.accelerator.trackers and numbers:
            self.accelerator.log(numbers, step=step)

    def close(self) -> None:
        """Let trackers write what they have."""
        if self.is_main:
            finish(self.accelerator.trackers)

    def wait(self) -> None:
        """Until all processes are here."""
        self.accelerator.wait_for_everyone()

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


class Processes:
    """The processes that work together, if this one was started as one of several."""

    def __init__(self) -> None:
        self.rank, self.number, self.state = 0, 1, None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            from accelerate import PartialState

            self.state = PartialState(cpu=not torch.accelerator.is_available())
            self.rank, self.number = self.state.process_index, self.state.num_processes

    def wait(self) -> None:
        if self.state is not None:
            self.state.wait_for_everyone()

    def rows(self, count: int) -> slice:
        """Which of so many rows are this process's."""
        return slice(self.rank * count // self.number, (self.rank + 1) * count // self.number)

    def together(self, mine: NDArray) -> NDArray:
        """The rows of all processes."""
        if self.state is None:
            return mine
        from accelerate.utils import gather, pad_across_processes

        device = self.state.device
        sizes = gather(torch.tensor([len(mine)], device=device)).tolist()
        padded = gather(pad_across_processes(torch.as_tensor(mine, device=device)))
        parts = padded.view(self.number, max(sizes), -1)
        return np.concatenate([part[:size].cpu().numpy() for part, size in zip(parts, sizes, strict=True)])


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
