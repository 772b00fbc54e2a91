"""Tracking by name, beside the run's own log."""

from needed import needs
from small import SMALL, with_training

needs("tensorboard")

import signal  # noqa: E402

import pytest  # noqa: E402

from digitwise.runs.folder import Run  # noqa: E402
from digitwise.runs.training import Stopped, train  # noqa: E402


def scalars(run: Run) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run.folder / "tensorboard"))
    found.Reload()
    return {tag: {event.step: event.value for event in found.Scalars(tag)} for tag in found.Tags()["scalars"]}


def logged(run: Run, what: str) -> dict[int, float]:
    return {row["step"]: row[what] for row in run.metrics() if what in row}


def test_tensorboard_has_what_the_log_has(tmp_path):
    run = Run.create(tmp_path / "run", SMALL)
    train(run, track="tensorboard")
    found = scalars(run)
    for what in ("loss", "norm", "validation"):
        assert found[what] == pytest.approx(logged(run, what), rel=1e-6)


def test_a_run_that_goes_on_is_tracked_on(tmp_path):
    run = Run.create(tmp_path / "run", with_training(steps=40))

    def interrupt(step: int, loss: float) -> None:
        if step == 17:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        train(run, interrupt, "tensorboard")
    train(run, track="tensorboard")
    assert scalars(run)["loss"] == pytest.approx(logged(run, "loss"), rel=1e-6)
    assert set(logged(run, "loss")) == {10, 20, 30, 40}


def test_nothing_is_tracked_unless_it_is_asked_for(tmp_path):
    run = Run.create(tmp_path / "run", SMALL)
    train(run)
    assert not (run.folder / "tensorboard").exists()
