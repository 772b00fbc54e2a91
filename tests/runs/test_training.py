"""Golden losses, and what must not change them: accumulation, interruption, evaluation in between."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small import SMALL, with_training

from digitwise.data import Practice, UniformValues
from digitwise.encodings import ENCODINGS, Absolute, ByColumn, HeadGroups, Sum
from digitwise.models import Architecture, Columns
from digitwise.runs import training as training_module
from digitwise.runs.experiment import Training
from digitwise.runs.folder import Run
from digitwise.runs.optimizers import OPTIMIZERS, Muon
from digitwise.runs.training import Source, Stopped, rate_at, train
from digitwise.tasks import Arithmetic, Multiplication, TextAddition

SLOW = "relative-width=32-steps=60-save_seconds=0-seed5"
GOLDEN = Path(__file__).parent / "golden_losses.json"


def losses_of(run: Run) -> list[float]:
    losses: list[float] = []
    train(run, lambda step, loss: losses.append(loss))
    return losses


def weights(run: Run) -> dict[str, torch.Tensor]:
    return run.load_checkpoint(run.checkpoints()[-1])


def assert_same_bits(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


CASES = {
    "relative addition": SMALL,
    "absolute addition, post-norm": replace(
        SMALL, encoding=Absolute(), architecture=replace(SMALL.architecture, norm="post")
    ),
    "product, pool, repeated layer": replace(
        with_training(pool=64, schedule="constant"),
        task=Multiplication(2, 6),
        data=UniformValues(3),
        architecture=Architecture(layers=1, repeated=1, rounds=3, width=16, heads=2, feedforward=32),
    ),
    "relative addition, Muon": with_training(optimizer="muon"),
    "sums and products in columns": replace(
        SMALL,
        task=Arithmetic("+-*", summands=3, multiplier=2),
        data=Practice(3, borrows=True),
        encoding=ByColumn(),
        architecture=Columns(width=16, heads=2, feedforward=32, dropout=0.1),
    ),
    "sums in a text": replace(SMALL, task=TextAddition(6, most=4), encoding=Sum((Absolute(4), HeadGroups()))),
}
#: One of each: a model on a canvas, one without, and one of texts.
EACH = {
    "canvas": SMALL,
    "columns": CASES["sums and products in columns"],
    "text": CASES["sums in a text"],
}
#: Encodings that draw in training.
DRAWING = {name: replace(SMALL, encoding=ENCODINGS[name]()) for name in ("abacus", "coupled", "randomised")}


@pytest.mark.parametrize("name", CASES)
def test_golden_losses_of_twenty_steps(name, tmp_path):
    """Made by PYTHONPATH=tests python tests/runs/test_training.py. A change here is a change of the training."""
    measured = losses_of(Run.create(tmp_path / "run", CASES[name]))
    assert len(measured) == 20
    assert measured == pytest.approx(json.loads(GOLDEN.read_text())[name], rel=1e-4)


@pytest.mark.parametrize("name", EACH)
def test_a_batch_equals_its_accumulated_parts(name, tmp_path):
    experiment = EACH[name]
    if name == "text":  # each part of a batch would draw its own offsets
        experiment = replace(experiment, encoding=Sum((Absolute(), HeadGroups())))
    settings = {"experiment": experiment, "dropout": 0.0, "batch": 64}
    whole = losses_of(Run.create(tmp_path / "whole", with_training(**settings)))
    parts = losses_of(Run.create(tmp_path / "parts", with_training(**settings, accumulate=2)))
    # Differences of rounding only: tiny, and no trend to either side.
    differences = torch.tensor(whole) - torch.tensor(parts)
    assert differences.abs().max() < 1e-4
    assert whole == pytest.approx(parts, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("canvas", {}),
        ("canvas", {"average": 0.9}),
        ("canvas", {"optimizer": "muon"}),
        ("columns", {"average": 0.9}),
        ("text", {"average": 0.9}),
        *((name, {}) for name in DRAWING),
    ],
    ids=str,
)
def test_resuming_gives_the_same_bits_dropout_included(name, changes, tmp_path):
    experiment = with_training((EACH | DRAWING)[name], **changes)
    straight = Run.create(tmp_path / "straight", experiment)
    train(straight)
    broken = Run.create(tmp_path / "broken", experiment)

    def interrupt(step: int, loss: float) -> None:
        if step == 7:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        train(broken, interrupt)
    assert broken.load_state()["step"] == 7
    resumed = Run.open(broken.folder)
    train(resumed)
    assert_same_bits(weights(straight), weights(resumed))
    drop_time = [{k: v for k, v in row.items() if k != "seconds"} for row in straight.metrics()]
    assert drop_time == [{k: v for k, v in row.items() if k != "seconds"} for row in resumed.metrics()]
    assert resumed.load_state() is None and resumed.finished


def test_a_killed_process_loses_nothing_before_its_last_state(tmp_path):
    """A real process, killed without warning, then resumed from the command line."""
    slow = ["--steps", "60", "--save_seconds", "0", "--arm", "relative", "--seed", "5", "--width", "32"]
    command = [sys.executable, "-m", "digitwise", "train", "quickstart", "--profile", "smoke", *slow]
    straight = subprocess.run([*command, "--out", str(tmp_path / "straight")], capture_output=True, text=True)
    assert straight.returncode == 0, straight.stderr
    process = subprocess.Popen([*command, "--out", str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
    folder = tmp_path / "killed" / "quickstart" / SLOW
    deadline = time.monotonic() + 60
    while not (folder / "state.safetensors").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    resume = [sys.executable, "-m", "digitwise", "train", "--resume", str(folder), "--json"]
    resumed = subprocess.run(resume, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)[0]["steps"] == 60
    assert_same_bits(weights(Run.open(tmp_path / "straight" / "quickstart" / SLOW)), weights(Run.open(folder)))


def test_checkpoints_without_a_state_are_not_thrown_away(tmp_path):
    run = Run.create(tmp_path / "run", with_training(checkpoints=4))

    def interrupt(step: int, loss: float) -> None:
        if step == 12:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        train(run, interrupt)
    state = run.load_state()
    run.drop_state()
    with pytest.raises(ValueError, match=r"no state to go on from"):
        train(run)
    assert run.checkpoints() == [5, 10]
    run.save_state({**state, "model": {}})
    with pytest.raises(ValueError, match="does not fit its config"):
        train(run)


def test_evaluating_between_steps_changes_nothing(tmp_path):
    from digitwise.rng import generator
    from digitwise.runs.evaluation import correct_symbols

    plain, watched = Run.create(tmp_path / "plain", SMALL), Run.create(tmp_path / "watched", SMALL)
    train(plain)
    seen = []
    original = training_module.Engine.step

    def step_and_evaluate(self, *arguments):
        result = original(self, *arguments)
        operands = SMALL.task.draw(SMALL.data, generator(9, "elsewhere"), 8)
        seen.append(correct_symbols(self.plain_model, SMALL.task, operands).shape)
        torch.rand(3)
        return result

    training_module.Engine.step = step_and_evaluate
    try:
        train(watched)
    finally:
        training_module.Engine.step = original
    assert len(seen) == 20
    assert_same_bits(weights(plain), weights(watched))


def test_training_leaves_torchs_random_state_alone(tmp_path):
    torch.manual_seed(123)
    expected = torch.rand(4)
    torch.manual_seed(123)
    train(Run.create(tmp_path / "run", SMALL))
    assert torch.equal(torch.rand(4), expected)


def test_checkpoints_hold_the_average_of_the_weights(tmp_path):
    """Against the definition, from a run that keeps the weights of every step."""
    every = Run.create(tmp_path / "every", with_training(checkpoints=20))
    train(every)
    train(averaged := Run.create(tmp_path / "averaged", with_training(average=0.8)))
    mean = every.load_checkpoint(1)
    for step in range(2, 21):
        share = max(0.2, 1 / step)
        mean = {name: mean[name] + share * (value - mean[name]) for name, value in every.load_checkpoint(step).items()}
    for name, value in weights(averaged).items():
        torch.testing.assert_close(value, mean[name], rtol=1e-4, atol=1e-6)


def test_batches_are_a_function_of_seed_and_step():
    one, other = Source(SMALL), Source(replace(SMALL, seed=1))
    assert (one.batch(3).tokens == Source(SMALL).batch(3).tokens).all()
    assert (one.batch(3).tokens != one.batch(4).tokens).any()
    assert (one.batch(3).tokens != other.batch(3).tokens).any()


def test_a_pool_holds_only_its_problems():
    source = Source(with_training(pool=8))
    seen = {bytes(row) for step in range(20) for row in source.batch(step).tokens}
    assert seen == {bytes(row) for row in source.pool.tokens}


def test_the_rate_warms_up_and_falls():
    training = Training(steps=100, rate=1.0, warmup=10)
    rates = [rate_at(step, training) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and max(rates) == pytest.approx(1.0, abs=0.05)
    assert rates[50] == pytest.approx(0.5, abs=0.01) and rates[-1] < 0.001
    constant = replace(training, schedule="constant")
    assert rate_at(99, constant) == rate_at(10, constant) == 1.0


def test_muon_moves_every_direction_of_a_matrix_alike_and_leaves_the_rest_to_adamw():
    ours, adam = SMALL.build(), SMALL.build()
    adam.load_state_dict(ours.state_dict())
    generator = torch.Generator().manual_seed(0)
    for one, other in zip(ours.parameters(), adam.parameters(), strict=True):
        one.grad = torch.randn(one.shape, generator=generator)
        if one.ndim == 2:  # directions of which one is twenty times as strong as another
            u, _, v = torch.linalg.svd(one.grad, full_matrices=False)
            one.grad = u * torch.linspace(0.05, 1, u.shape[1]) @ v
        other.grad = one.grad.clone()
    before = {name: weight.clone() for name, weight in ours.state_dict().items()}
    Muon(ours, 1e-3, 0.0).step()
    OPTIMIZERS["adamw"](adam, 1e-3, 0.0).step()
    for name, weight in ours.named_parameters():
        if name.startswith("layers") and weight.ndim == 2:
            moved = torch.linalg.svdvals(weight - before[name]) / (1e-3 * 0.2 * max(weight.shape) ** 0.5)
            assert moved.min() > 0.6 and moved.max() < 1.3, name
        else:
            assert torch.equal(weight, adam.get_parameter(name)), name


def test_divergence_is_named(tmp_path):
    with pytest.raises(ValueError, match="try a lower --rate"):
        train(Run.create(tmp_path / "run", with_training(rate=1e30, warmup=0, clip=0.0, schedule="constant")))


def test_lower_precision_trains_too(tmp_path):
    losses = losses_of(Run.create(tmp_path / "run", with_training(precision="bf16")))
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("steps", 0, "at least 1"),
        ("accumulate", 3, "must divide batch"),
        ("schedule", "linear", "cosine"),
        ("precision", "int8", "bf16"),
        ("optimizer", "sgd", "adamw, muon"),
        ("decay", -1.0, "negative"),
    ],
)
def test_impossible_settings_are_refused(field, value, message):
    with pytest.raises(ValueError, match=message):
        with_training(**{field: value})


if __name__ == "__main__":
    import tempfile

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        golden = {
            name: losses_of(Run.create(Path(scratch) / str(i), case)) for i, (name, case) in enumerate(CASES.items())
        }
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
