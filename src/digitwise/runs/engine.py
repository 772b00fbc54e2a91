"""How a model is moved and kept: devices, processes, optimizers, weights. The only file that imports accelerate."""

import hashlib
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
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
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


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write weights with a checksum inside the file."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    try:
        save_file(tensors, path, {"format": "pt", "sha256": _checksum(tensors)})
    except SafetensorError as error:  # which is not an OSError even if the disk is full
        raise OSError(str(error)) from error


def load_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a file if they are those that were written; older files have no checksum to compare."""
    try:
        with safe_open(path, "pt") as file:
            written = (file.metadata() or {}).get("sha256")
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if written not in (None, _checksum(weights)):
        raise ValueError(f"{path} is damaged: its weights do not match the checksum that was written with them")
    return weights


def _checksum(tensors: dict[str, Tensor]) -> str:
    found = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Let one process at a time work on a file or a folder; the lock ends with the process, also with a killed one."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(f"{path} is in use by another process: wait until it has finished, or end it") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(descriptor)


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
