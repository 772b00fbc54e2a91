"""Commands about complexity, prediction, other people's models and the theory."""

import argparse
from typing import Any

from digitwise.cli import proof
from digitwise.cli.terminal import Bar, parse_numbers, show

SHOWN = 6  # numbers of a claim in print; --json has them all


def explain(options: argparse.Namespace) -> None:
    import json

    from digitwise.answers.explain import explain as worked_out
    from digitwise.answers.explain import stream

    if options.model is not None:
        return proof.explain_model(options)
    problem = " ".join(options.problem)
    if options.json and options.full:
        print(json.dumps(worked_out(problem, full=True)))  # millions of numbers: not one a line
    elif options.json or options.csv:
        show(options, worked_out(problem, options.full))
    else:
        for line in stream(problem, options.full):
            print(line)


def complexity(options: argparse.Namespace) -> None:
    """The law that was asked for, or the paper's four with their checks."""
    from digitwise.numbers.products import levels_law
    from digitwise.numbers.sums import law
    from digitwise.paper import law_figures as complexity_figures

    if options.length is None and (options.base, options.multiplier, options.kind) != (10, 1, "cascade"):
        raise ValueError("--base, --kind and --multiplier need a --length: without it the paper's four laws are shown")
    if options.kind == "levels" and options.base != 10:
        raise ValueError("the laws of products are for base 10 only: leave out --base")
    if options.length is None:
        report = complexity_figures.report()
        show(options, report, law_rows(report), check_lines(report))
        return
    if options.kind == "levels":
        found = levels_law(options.multiplier, options.length, options.exactly, upto=options.upto or 12)
    else:
        found = law(
            options.length, options.base, options.exactly, options.kind, exact=not options.floats, upto=options.upto
        )
    rows = [{"class": index, "probability": value} for index, value in enumerate(found.floats().tolist())]
    extra = {"multiplier": options.multiplier} if options.kind == "levels" else {}
    document = {"length": options.length, "base": options.base, "kind": options.kind, **extra, **found.to_json()}
    show(options, document, rows, f"{found.method}{', the last class holds everything longer' if found.open else ''}")


def law_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"law": found["name"], "class": index, "exact": chance, "monte carlo": share, "95%": interval}
        for found in report["laws"]
        for index, (chance, share, interval) in enumerate(
            zip(found["probabilities"], found["estimate"], found["intervals"], strict=False)
        )
        if index < 9
    ]


def check_lines(report: dict[str, Any]) -> str:
    return "\n".join(
        "{}: {what} is {law:.6g}; the paper has {paper:g}; {} samples give {estimate:.5g}".format(
            found["name"], report["samples"], **found["check"]
        )
        for found in report["laws"]
    )


def claims(options: argparse.Namespace) -> None:
    """One block per claim: its verdict, the paper's sentence, what is judged here, and the numbers."""
    from digitwise.paper.claims import CLAIMS, stated

    hint = "digitwise reproduce a2 makes some there; the committed ones are judged with --out results/cpu"
    if not options.out.is_dir():
        raise ValueError(f"there is no folder {options.out} with results: {hint}")
    found = CLAIMS.verdicts(options.out, options.profile)
    judged = [row for row in found if row["verdict"] != "not run"]
    if not judged:
        raise ValueError(f"{options.out} has no results of the {options.profile} profile: {hint}")
    document = [row | {"folder": str(options.out), "profile": options.profile} for row in found]
    rows = [
        {"claim": row["claim"], "verdict": marked(row), "paper": row["paper"], "judged": row["judged"],
         "measured": "; ".join(map(stated, row["measured"])), "command": row["command"], "folder": row["folder"]}
        for row in document
    ]  # fmt: skip
    if options.json or options.csv:
        show(options, document, rows)
        return
    for row in found:
        print(f"{row['claim']:<14}  {marked(row):<22}  {row['paper']}")
        if row["verdict"] == "not run":
            print(f"    not run: {row['why']}; {row['command']} --out {options.out}")
            continue
        more = len(row["measured"]) - SHOWN
        print(f"    judged: {row['judged']}")
        print("".join(f"    {stated(number)}\n" for number in row["measured"][:SHOWN]), end="")
        print(f"    and {more} more numbers: digitwise claims --json\n" * (more > 0), end="")
    print(f"judged by {options.out}, profile {options.profile}: {len(judged)} of {len(found)} claims have results")


def marked(claim: dict[str, Any]) -> str:
    """A verdict in print: it says where it rests on one seed."""
    return f"{claim['verdict']}, one seed" if claim["one seed"] else claim["verdict"]


def predict(options: argparse.Namespace) -> None:
    from digitwise.paper import prediction
    from digitwise.runs.folder import Run

    run = Run.open(options.run_folder)
    lengths = parse_numbers(options.lengths, "--lengths") if options.lengths is not None else None
    result = prediction.predict_run(run, options.at, lengths, options.problems, options.checkpoint)
    result["figure"] = str(prediction.draw(result, options.to or run.folder / "prediction.png"))
    notes = [f"warning: {warning}" for warning in result["warnings"]]
    notes.append(f"strata measured at {result['measured at']} digits; plot: {result['figure']}")
    rows = [{name: value for name, value in row.items() if name != "why"} for row in result["rows"]]
    show(options, result, rows, "\n".join(notes))


def data(options: argparse.Namespace) -> None:
    from dataclasses import fields

    from digitwise.answers import exchange
    from digitwise.config import lookup
    from digitwise.tasks import TASKS

    lengths = parse_numbers(options.lengths, "--lengths")
    found: Any = lookup(options.task, TASKS, "task")
    known = {field.name for field in fields(found)}
    if "canvas" not in known:
        raise ValueError(f"task {options.task} has no canvas: problems are written for tasks on a canvas")
    if options.sentences and "sentences" not in known:
        raise ValueError("--sentences are for the tasks text-addition and text-multiplication")
    given = {
        "canvas": options.canvas if options.canvas is not None else max(lengths),
        "multiplier": options.multiplier,
        "sentences": options.sentences,
    }
    task = found(**{name: value for name, value in given.items() if name in known})
    rows = exchange.problems(options.suite, task, lengths, options.problems, options.seed)
    if options.out is None:
        listed = list(rows)
        show(options, listed, [{name: row[name] for name in ("problem", "answer")} for row in listed])
        return
    number = exchange.write(rows, options.out)
    note = f"{number} problems: add a field 'response' to each row, then digitwise score {options.out}"
    show(options, {"file": str(options.out), "problems": number}, None, note)


def score(options: argparse.Namespace) -> None:
    from digitwise.answers import exchange

    counts, said = exchange.score(options.file, options.problems, options.extract)
    rows: list[dict[str, Any]] = [
        {"suite": f"{c.suite} v{c.version}", "digits": c.length, "stratum": c.stratum, "problems": c.tried,
         "correct": c.correct, "exact match": round(c.accuracy, 4), "95%": [round(x, 4) for x in c.interval]}
        for c in counts
    ]  # fmt: skip
    document: dict[str, Any] = {"answers": said, "rows": rows}
    if options.to:
        from digitwise.runs import results

        curves, over = results.never_added(options.file.stem, counts)
        document["figure"] = str(results.draw(curves, options.to, f"Answers in {options.file.name}", xlabel=over))
    faults = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in said.items() if name != "problems")
    note = f"{said['problems']} problems: {faults}; what is not right counts as wrong"
    if options.extract:
        given = max(said["problems"] - said["missing"], 1)
        shares = {name: round(said[name] / given, 4) for name in ("extracted", "not_found")}
        document["shares"] = shares
        note += "\nshare of answers with the number taken out of a sentence: {extracted:.3f}; in which no number was "
        note = f"{note}found: {{not_found:.3f}}".format(**shares)
    show(options, document, rows, note)


OWN_TASK = ("n", "n_1", "d", "alpha", "beta", "step", "steps", "decay")


def explore_theory(options: argparse.Namespace, own: dict[str, Any], seeds: list[int]) -> None:
    """The three settings trained on a task with other numbers."""
    from digitwise import theory as linear

    if "beta" in own:
        try:
            own["beta"] = [float(part) for part in own["beta"].split(",")]
        except ValueError:
            raise ValueError(f"--beta takes numbers such as 0.5 or 0.5,0.2, not '{own['beta']}'") from None
    if options.figures:
        raise ValueError("--figures draws the paper's tasks: leave out the numbers of a task of your own")
    for name in ("alpha", "decay", "step"):
        if not abs(own.get(name, 0.0)) <= 1e6:
            raise ValueError(f"{name} must be a number between -1e6 and 1e6, not {own[name]}")
    found = [{"seed": seed, **row} for seed in seeds for row in linear.explore(seed=seed, **own)]
    shown = [{name: value for name, value in row.items() if not name.startswith("by_position")} for row in found]
    show(options, found, shown)


def theory(options: argparse.Namespace) -> None:
    from digitwise import theory as linear

    seeds = parse_numbers(options.seeds, "--seeds")
    own = {name: value for name, value in vars(options).items() if name in OWN_TASK}
    if own:
        explore_theory(options, own, seeds)
        return
    bar = Bar()
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        done += 1
        bar("theory", done, 0, what)

    rows = linear.table(seeds, tell)
    if options.figures:
        linear.figures(options.figures, tell)
    bar.close()
    shown = [{name: row[name] for name in ("name", "prediction", "measured", "interval", "verdict")} for row in rows]
    failed = sum(row["verdict"] != "holds" for row in rows)
    show(options, rows, shown, f"{len(rows) - failed} of {len(rows)} rows hold on {len(seeds)} seed(s)")
