"""Tracking by name, beside the run's own log."""

from needed import needs
from small import SMALL, with_training

needs("tensorboard")

import signal  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import fsspec  # noqa: E402
import pytest  # noqa: E402

from digitwise.runs import tracking  # noqa: E402
from digitwise.runs.engine import Engine  # noqa: E402
from digitwise.runs.folder import Run  # noqa: E402
from digitwise.runs.tracking import Tracker  # noqa: E402
from digitwise.runs.training import Stopped, train  # noqa: E402
from digitwise.sweeps import drive  # noqa: E402
from digitwise.sweeps.drive import Where  # noqa: E402
from digitwise.sweeps.jobs import Job  # noqa: E402
from digitwise.sweeps.place import Place  # noqa: E402


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


def test_a_failed_run_lets_go_of_its_tracker(tmp_path, monkeypatch):
    """Otherwise wandb would log the next run of the same process to the failed one."""
    closed = []
    monkeypatch.setattr(Engine, "close", lambda engine: closed.append(engine))
    broken = with_training(rate=1e30, clip=0.0, warmup=0, schedule="constant")
    with pytest.raises(ValueError, match="lower --rate"):
        train(Run.create(tmp_path / "run", broken), track="tensorboard")
    assert len(closed) == 1


def test_what_is_tracked_gets_to_a_place_that_is_not_a_folder(tmp_path):
    place = Place("memory://tracked")
    drive.run([Job("small/x", SMALL, ())], place, Where(track="tensorboard"))
    place.files.get(place.path("small/x"), str(tmp_path / "got"), recursive=True)
    run = Run.open(tmp_path / "got")
    assert scalars(run)["loss"] == pytest.approx(logged(run, "loss"), rel=1e-6)
    fsspec.filesystem("memory").rm("/tracked", recursive=True)


@pytest.mark.parametrize(("name", "field"), [("wandb", "id"), ("trackio", "name")])
def test_a_run_is_known_by_where_it_is_kept(name, field, monkeypatch):
    """Not by the folder that it works in, which is another one on another machine."""
    monkeypatch.setattr(tracking, "refuse_tracker", lambda _: None)

    def known(scratch: str, address: str) -> str:
        return Tracker.of(name, Path(scratch, "small/x"), address, {}, 0).settings[field]

    assert known("one", "s3://a/small/x") == known("two", "s3://a/small/x") != known("one", "s3://b/small/x")


def test_what_trackers_print_is_not_a_result(capsys, monkeypatch):
    finished = []
    ours = SimpleNamespace(name="trackio", finish=lambda: print("finished"))
    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace(finish=lambda: finished.append("trackio")))
    tracking.finish([ours])
    said = capsys.readouterr()
    assert said.out == "" and said.err == "finished\n" and finished == ["trackio"]
