"""Training that ends in a proof: the check again and again, and practice on what it finds wrong.

Once all bits are hard, every case is checked every so many steps. When the loss is low, problems in which wrong cases
occur get a share of the next batches: problems of at most as many digits as training shows anyway, and their answers
only. No carry, no message and no inner row is ever supervised. When cases stay wrong long after the schedule has ended,
the code that was found does not do, and the schedule begins again: soft bits can find another one.
"""

from typing import Any, cast

import numpy as np
from torch import Tensor

from digitwise.models import Model, Speakers
from digitwise.runs.certify import BIT, Report, certify
from digitwise.runs.experiment import Experiment
from digitwise.tasks.problems import Problems, kind_of

EVERY, SELDOM = 50, 200
"""Steps between checks, and between those from which nothing can be learned yet: to check a table in which many cases
are wrong takes half as long as fifty steps."""
MANY = 1000
"""Wrong cases."""
SHARE = 3
"""One in so many problems of a batch is practice."""
LOW = 0.06
"""Wrong cases are practised once the mean loss is this low; before that nearly everything is wrong."""
MOST = 500
"""Problems that are kept for practice, the latest first."""
LINGER = 300
"""Steps after the first proof in which margins may still grow. Then the proof with the widest ones is taken: a proof is
never lost again."""
MEMORY = 0.98
"""Of the mean loss."""
HALFWAY = 0.82
"""Share of the way to hard bits at which half of the problems have hard ones, and a schedule may wait."""
PATIENCE = 1.5
"""Schedules after which one that has not led to a right table begins again."""


class Prover:
    """What training until a proof remembers between steps, also over interruptions."""

    def __init__(self, experiment: Experiment, model: Model, state: dict[str, Any] | None = None):
        self.experiment, self.hard = experiment, cast(Speakers, model.finite()).blueprint.hard
        self.practice: list[str] = list(state["practice"]) if state else []
        self.loss = float(state["loss"]) if state else 1.0
        self.calm = bool(state and state.get("calm"))  # states of before had none
        """Nothing was wrong once: from then on the rate stays at its floor, so that only the margins still grow. At the
        rate of the schedule a difference was lost again."""
        self.began = int(state.get("began", 0)) if state else 0
        """The step at which the schedule began for the last time."""
        self.waited = int(state.get("waited", 0)) if state else 0
        """Steps for which this schedule stood still."""
        self.wrong = int(state.get("wrong", 0)) if state else 0
        """Cases that were wrong at the last check."""
        self.often: list[int] = list(state.get("often", [])) if state else []
        """Codes that were often said to the next row at the last check."""

        self.kept: dict[str, Tensor] = state.get("kept", {}) if state else {}
        """The weights that were proven with the widest margins, if any were."""
        self.margin = float(state.get("margin", 0)) if state else 0.0
        self.proven_at = int(state.get("proven_at", 0)) if state else 0
        self.is_over = False

    def state(self) -> dict[str, Any]:
        names = ("practice", "loss", "calm", "began", "waited", "wrong", "often", "kept", "margin", "proven_at")
        return {name: getattr(self, name) for name in names}

    def mix(self, problems: Problems, rng: np.random.Generator) -> Problems:
        """The same number of problems, some of them practice of the same kinds."""
        here = {kind for kind, _ in problems.by_kind()}
        known = [text for text in self.practice if kind_of(text) in here]
        count = len(problems) // SHARE
        if not known or not count:
            return problems
        chosen = [known[index] for index in rng.integers(0, len(known), count)]
        return problems[: len(problems) - count].joined(self.experiment.task.read(chosen))

    def is_due(self, done: int) -> bool:
        every = SELDOM if self.wrong > MANY and not self.practice else EVERY
        return done % every == 0 and done - self.began > self.hard * self.experiment.training.steps

    def check(self, model: Model, done: int, last: bool = False) -> Report:
        """Check every case after so many steps. When there is enough of a proof, or no more time for a better one,
        the model gets the weights of the best."""
        report = certify(self.experiment, model, thorough=False, before=self.often)
        self.wrong = report.wrong
        self.often = report.often
        self.calm = self.calm or not report.wrong
        if report.wrong and done - self.began >= PATIENCE * self.experiment.training.steps:
            self.began, self.waited, self.calm = done, 0, False
        if self.practice or self.loss < LOW:
            task, longest = self.experiment.task, self.experiment.trained_length
            short = [text for text in report.practice if _longest(text) <= longest and task.fitting([text]) == task]
            self.practice = list(dict.fromkeys([*short, *self.practice]))[:MOST]
        if report.verdict == "proven" and report.bit > self.margin:
            self.kept = {name: weight.clone() for name, weight in model.state_dict().items()}
            self.margin, self.proven_at = report.bit, self.proven_at or done
        self.is_over = bool(self.kept) and (is_enough(report) or done - self.proven_at >= LINGER or last)
        if self.is_over and not is_enough(report):
            model.load_state_dict(self.kept)
            report = certify(self.experiment, model, thorough=False, before=self.often)
        return report

    def tell(self, model: Speakers) -> None:
        """What a model in training needs of the last check."""
        model.often, model.calm = self.often, self.calm and not self.wrong

    def saw(self, loss: float, done: int) -> None:
        """The loss of the last step, after which so many are done."""
        self.loss += (1 - MEMORY) * (loss - self.loss)
        training = self.experiment.training
        way = (done - self.began) / (self.hard * training.steps)
        if HALFWAY <= way < 1 and self.loss > training.wait > 0 and self.waited < training.steps:
            self.began, self.waited = self.began + 1, self.waited + 1


def is_enough(report: Report) -> bool:
    return report.verdict == "proven" and report.bit >= BIT


def _longest(text: str) -> int:
    return max(len(number) for number in text.split() if number.isdecimal())
