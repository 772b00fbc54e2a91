"""Commands that prove a model right, check such a proof, and show the machine that was learned."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise.cli.terminal import Bar, show

if TYPE_CHECKING:
    from digitwise.runs.experiment import Experiment


def certify(options: argparse.Namespace) -> int:
    """The exit code is 0 only for what is proven."""
    if options.check is not None:
        return _check(options)
    if options.model is None:
        raise ValueError("name a model to certify (digitwise ls models, or a run folder), or a certificate to --check")
    if options.disturb is not None:
        return _disturb(options)
    from digitwise.answers.solver import load
    from digitwise.machines import certificate
    from digitwise.runs.certify import certify as run_certify

    solver = load(options.model)
    if solver.weights is None:
        raise ValueError("a certificate needs a file of weights")
    report = run_certify(solver.experiment, solver.model)
    written = None
    if report.verdict == "proven" and options.to is not None:
        certificate.write(report.certificate(solver.weights), options.to)
        written = str(options.to)
    document = {
        "model": solver.name, "claim": certificate.THEOREMS[report.claim], "verdict": report.verdict,
        "messages": report.meanings, "several meanings": report.double, "situations": report.situations,
        "wrong": report.wrong, "problems": report.problems[:10], "least margin of a logit": report.logit,
        "least margin of a bit": report.bit, "largest difference by rounding": report.difference,
        "seconds": round(report.seconds, 2), "certificate": written,
    }  # fmt: skip
    show(options, document, None, "\n".join(_told(document)))
    return int(report.verdict != "proven")


def _disturb(options: argparse.Namespace) -> int:
    """The exit code is 0 if every verdict stands its test."""
    from collections import Counter

    from digitwise.answers.disturbed import HARD, disturb
    from digitwise.tables import replacing, rows_to_json

    if options.disturb < 1:
        raise ValueError(f"--disturb must be at least 1, not {options.disturb}")
    bar = Bar()
    rows = disturb(options.model, options.disturb, bar)
    bar.close()
    verdicts = Counter(row["verdict"] for row in rows)
    wrong = sum(row.get("hard problems wrong", 0) for row in rows)
    unfounded = sum(not row.get("replayed", True) for row in rows)
    accepted = sum(row["old certificate"] != "refused" for row in rows)
    document = {
        "model": options.model, "disturbed": len(rows), "verdicts": dict(verdicts), "certificates accepted": accepted,
        "refuted without a wrong answer": unfounded, "hard problems": HARD, "hard problems wrong": wrong, "rows": rows,
    }  # fmt: skip
    if options.to is not None:
        with replacing(options.to) as temporary:
            head = rows_to_json([{name: value for name, value in document.items() if name != "rows"}])
            temporary.write_text(f'{{"summary": {head}, "rows": {rows_to_json(rows)}}}\n')
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    show(options, document, None, f"{len(rows)} disturbances of {options.model}: {told}\n"
         f"the old certificate was accepted {accepted} times; {unfounded} refutations without a wrong answer; of "
         f"{HARD:,} hard problems for each that is proven again {wrong} wrong")  # fmt: skip
    return int(bool(wrong or unfounded or accepted))


def until_proven(experiment: "Experiment") -> "Experiment":
    """The same experiment, trained until every case is right; for up to four times its steps if it says no other."""
    from dataclasses import replace

    experiment.build().finite()
    training = experiment.training
    return replace(experiment, training=replace(
        training, until_proven=training.until_proven or 4 * training.steps, average=0.0
    ))  # fmt: skip


def in_words(found: dict[str, Any]) -> str:
    """What the check of every case found, in a line."""
    from digitwise.machines.certificate import THEOREMS

    cases = f"{found['situations']:,} situations checked, {found['wrong']:,} wrong"
    return f"{found['verdict']} after {found['step']:,} steps: {THEOREMS[found['claim']]} ({cases})"


def _told(found: dict[str, Any]) -> list[str]:
    lines = [f"claim: {found['claim']}", "messages:"]
    for relation, meanings in found["messages"].items():
        told = ", ".join(f"{meaning}: {' '.join(map(str, codes))}" for meaning, codes in meanings.items())
        several = found["several meanings"].get(relation, [])
        note = f"   (codes {' '.join(map(str, several))} mean different things in different places)" if several else ""
        lines.append(f"  {relation:>22}  {told}{note}")
    lines.append(f"situations: {found['situations']:,} checked, {found['wrong']:,} wrong")
    lines += [f"  wrong: {problem}" for problem in found["problems"]]
    logit, bit = found["least margin of a logit"], found["least margin of a bit"]
    lines.append(f"least margins: {logit:.3g} of a logit, {bit:.3g} of a bit")
    lines.append(f"largest difference by rounding: {found['largest difference by rounding']:.2g}")
    if found["certificate"]:
        lines.append(f"certificate: {found['certificate']}")
    return [*lines, f"verdict: {found['verdict']} ({found['seconds']} s)"]


def _check(options: argparse.Namespace) -> int:
    """A certificate against arithmetic, without torch and without the network."""
    from digitwise.machines import certificate

    path: Path = options.check
    found = certificate.read(path)
    walk = certificate.check(found)
    weights = path.parent / "weights.safetensors"
    beside = weights.is_file() and certificate.fingerprint(weights) == found.weights
    if weights.is_file() and not beside:
        raise ValueError(f"{path} is about other weights than those beside it")
    document = {"certificate": str(path), "verdict": "proven", "theorem": found.theorem, "situations": len(walk.used)}
    of = "the weights beside it" if beside else f"weights {found.weights[:12]}..."
    show(options, document | {"weights": found.weights}, None,
         f"proven from {len(walk.used):,} situations: {found.theorem}\nof {of}")  # fmt: skip
    return 0


def draw_machine(options: argparse.Namespace) -> None:
    from digitwise.answers.compiled import load
    from digitwise.answers.machine import draw

    if len(options.runs) != 2:
        raise ValueError("name one proven model: digitwise figure machine addition")
    machine = load(str(options.runs[1]))
    path = draw(machine, options.to or Path(f"machine-{machine.name}.png"))
    show(options, {"figure": str(path)}, None, str(path))


def explain_model(options: argparse.Namespace) -> None:
    """What the cells of a proven model tell each other in a problem."""
    from digitwise.answers import Problem
    from digitwise.answers.compiled import load
    from digitwise.answers.machine import learned, render, told

    machine = load(options.model)
    found = told(machine.admitted(Problem.parse(" ".join(options.problem))), learned(machine))
    show(options, found, None, render(found))
