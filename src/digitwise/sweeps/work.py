"""One job, wherever it is done: claimed, gone on with from its last saved state, trained, tested."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run
from digitwise.runs.places import seconds
from digitwise.runs.training import Stopped, train
from digitwise.sweeps import estimate
from digitwise.sweeps.claims import Record, Taken, Watch
from digitwise.sweeps.jobs import Job

#: Told each step and its loss.
Told = Callable[[int, float], None]


def perform(
    job: Job, watch: Watch, driver: str, told: Told = lambda step, loss: None, track: str = ""
) -> Record | None:
    """Do a job and return its record; None if someone else holds it or has done it.

    What cannot be done is `failed`, with the reason. A request to stop, as by Ctrl-C, is passed on, and everything is
    ready to be gone on with.
    """
    claim = watch.take(job, driver)
    if claim is None:
        return None

    def tell(step: int, loss: float) -> None:
        claim.tell(step=step, loss=round(loss, 6))
        told(step, loss)

    with tempfile.TemporaryDirectory(prefix="digitwise-") as scratch, claim.beating():
        try:
            run = watch.place.run(job.name, job.experiment, Path(scratch))
            train(run, tell, track)
            for test in job.tests:
                evaluate(run, *test[:3], checkpoints=test.checkpoints)
                claim.tell()
            return claim.close("finished", **summary(run))
        except Taken:
            return None
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            return claim.close("failed", error=" ".join(f"{error}".split()) or type(error).__name__)
        except (KeyboardInterrupt, Stopped):
            claim.close("stopped")
            raise


def summary(run: Run) -> dict[str, Any]:
    """How a finished run went, its stages together, for tables and for estimates."""
    last = run.select("last")[0]
    return {
        "step": run.experiment.steps_before + last,
        "loss": next((row["loss"] for row in reversed(run.metrics()) if "loss" in row), None),
        "validation": run.validation()[last],
        "seconds": round(seconds(run), 1),
        "cost": estimate.cost(run.experiment),
    }
