"""Training that ends in a proof, or goes on with what is wrong; interrupted or not, it is the same training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from digitwise.answers.solver import load
from digitwise.cli import main
from digitwise.paper import arms
from digitwise.runs import proving
from digitwise.runs.certify import certify, said_often
from digitwise.runs.evaluation import load_model
from digitwise.runs.folder import Run
from digitwise.runs.proving import Prover, is_enough
from digitwise.runs.training import Source, train

PRACTICE = {"practice": ["200 - 191", "3 ? 12", "191 - 600"], "loss": 0.01, "calm": False}


def small(arm, steps=30, most=120):
    experiment = arms("proof", "smoke")[arm]
    training = replace(experiment.training, steps=steps, until_proven=most, save_seconds=0.0)
    return replace(experiment, training=training, architecture=replace(experiment.architecture, hard=0.5))


def test_an_untrained_network_is_refuted_by_a_problem_it_gets_wrong():
    for arm in ("sum", "sums", "product", "difference", "division"):
        experiment = small(arm)
        report = certify(experiment, experiment.build())
        assert report.verdict == "refuted" and report.wrong and report.problems
        assert len(report.problems[0]) <= len(report.problems[-1])


def test_training_goes_on_until_its_limit_and_tells_what_is_wrong(tmp_path):
    run = Run.create(tmp_path / "run", small("sum", most=100))
    train(run)
    assert run.finished and run.checkpoints()[-1] == 100
    found = run.proof()
    assert found["step"] == 100 and found["verdict"] == "refuted" and not found["enough"] and found["shown"]
    assert [row["step"] for row in run.metrics() if "verdict" in row] == [50, 100]


def test_an_interrupted_training_is_the_same_training(tmp_path):
    whole, parts = (Run.create(tmp_path / name, small("division", most=80)) for name in ("whole", "parts"))
    train(whole)

    class Halt(Exception):
        pass

    for stop in (37, 74):

        def halt(step, loss, stop=stop):
            if step == stop:
                raise Halt

        with pytest.raises(Halt):
            train(parts, halt)
    train(parts)
    first, second = (load_model(run, run.checkpoints()[-1]).state_dict() for run in (whole, parts))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert whole.proof() | {"seconds": 0} == parts.proof() | {"seconds": 0}


def test_practice_is_short_and_of_the_kinds_of_the_batch():
    experiment = small("difference")
    prover = Prover(experiment, experiment.build(), PRACTICE)
    rng = np.random.default_rng(0)
    task = experiment.task
    for kind in task.kinds:
        problems = task.draw(experiment.data, rng, 16, kind)
        mixed = prover.mix(problems, rng)
        assert len(mixed) == 16 and {k for k, _ in mixed.by_kind()} == {kind}
        assert set(task.render(mixed)[-2:]) <= set(prover.practice)
    report = prover.check(experiment.build(), 60)
    assert not is_enough(report)
    assert all(len(n) <= 5 for text in prover.practice for n in text.split())
    assert Source(experiment, prover).draws(3)[0].tokens.shape[0] == 16 // experiment.training.draws


def test_a_schedule_that_leads_to_nothing_begins_again(tmp_path):
    """With bits that are soft to the end of the schedule there is no check in the first 60 steps of each."""
    experiment = small("sum", steps=60, most=200)
    experiment = replace(experiment, architecture=replace(experiment.architecture, hard=1.0))
    run = Run.create(tmp_path / "run", experiment)
    train(run)
    assert [row["step"] for row in run.metrics() if "verdict" in row] == [100, 200]
    prover = Prover(experiment, experiment.build())
    prover.check(experiment.build(), 50)
    assert prover.began == 0
    prover.check(experiment.build(), 100)
    assert prover.began == 100 == Prover(experiment, experiment.build(), prover.state()).began


def test_halfway_to_hard_bits_a_schedule_waits_for_the_loss_but_not_for_ever():
    experiment = small("sum", steps=100, most=400)
    experiment = replace(experiment, training=replace(experiment.training, wait=0.05))
    prover = Prover(experiment, experiment.build())
    for done in range(1, 61):
        prover.saw(1.0, done)
    assert 60 - prover.began == pytest.approx(0.82 * 50, abs=1)  # all bits are hard from step 50 on
    resumed = Prover(experiment, experiment.build(), prover.state())
    for done in range(61, 400):
        prover.saw(1.0, done)
    assert prover.waited == prover.began == 100
    resumed.loss, waited = 0.04, resumed.waited
    resumed.saw(0.04, 61)
    assert resumed.began == resumed.waited == waited > 15
    hasty = Prover(replace(experiment, training=replace(experiment.training, wait=0.0)), experiment.build())
    hasty.saw(1.0, 45)
    assert hasty.began == 0


def test_rare_codes_are_strays_a_few_at_a_time():
    share = np.array([0.6, 0.3929, 0.0, 0.0036, 0.0025, 0.001])
    assert said_often(share, []) == [0, 1, 3, 4]  # a thousandth of the cells at first
    share = np.array([0.6, 0.3939, 0.0, 0.0036, 0.0025, 0.0])
    assert said_often(share, []) == [0, 1, 3]  # then the next one, though it has more than that
    assert said_often(share, [0, 1, 3, 4]) == [0, 1, 3, 4]  # codes of before need half as many


def test_a_mean_of_weights_cannot_be_proven():
    experiment = small("sum")
    with pytest.raises(ValueError, match="average 0"):
        replace(experiment.training, average=0.9)
    with pytest.raises(ValueError, match="must not be below steps"):
        replace(experiment.training, until_proven=10)


def test_until_proven_is_an_option_of_train(capsys):
    assert main(["train", "proof", "--arm", "sum", "--until-proven", "--show"]) == 0
    assert "until_proven" in capsys.readouterr().out
    assert main(["train", "quickstart", "--arm", "relative", "--until-proven", "--show"]) == 2
    assert "cannot be proven" in capsys.readouterr().err


def test_a_proof_is_never_lost_again(monkeypatch):
    """Margins that do not get as wide as wished for end with the best proof that there was."""
    solver = load("addition")
    experiment, model = solver.experiment, solver.model
    proven = {name: weight.clone() for name, weight in model.state_dict().items()}
    monkeypatch.setattr(proving, "BIT", 10.0)
    prover = Prover(experiment, model)
    report = prover.check(model, 500)
    assert report.verdict == "proven" and not is_enough(report) and not prover.is_over
    resumed = Prover(experiment, model, prover.state())
    with torch.no_grad():
        model.readout.weight.zero_()
    assert resumed.check(model, 600).verdict == "refuted" and not resumed.is_over
    report = resumed.check(model, 500 + proving.LINGER)
    assert resumed.is_over and report.verdict == "proven"
    assert all(torch.equal(model.state_dict()[name], proven[name]) for name in proven)
