"""The command line. Imports stand inside the commands, so that --help answers at once."""

import os
import sys

try:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import NoReturn

    from digitwise import __version__
    from digitwise.cli import bench, compare, models, pages, proof, science, solve, sweep, terminal
    from digitwise.cli.fields import split_changes
    from digitwise.config import load
except KeyboardInterrupt:  # Ctrl-C right after the command was given
    print("digitwise: interrupted", file=sys.stderr)
    raise SystemExit(130) from None


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, no usage block."""
        raise ValueError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        words, changes = split_changes(sys.argv[1:] if arguments is None else arguments)
        options, rest = parser().parse_known_args(words)
        if rest and rest[0].startswith("-"):
            raise ValueError(f"unknown option {rest[0]} (see digitwise {options.command} --help)")
        if rest:
            raise ValueError(f"'{rest[0]}' is one argument too many (see digitwise {options.command} --help)")
        options.changes = changes
        for reference in options.imports:
            load(reference)
        return options.run(options) or 0
    except BrokenPipeError:  # the reader of our output has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        if os.environ.get("DIGITWISE_DEBUG"):
            raise
        return report(" ".join(str(error).split()), 2)
    except MemoryError as error:
        return report(f"memory does not suffice: {str(error) or 'choose something smaller'}", 2)
    except KeyboardInterrupt:
        return report("interrupted", 130)


def report(message: str, code: int) -> int:
    """Print one line of its own, and return the exit code."""
    terminal.Bar.close_all()
    print(f"digitwise: {message}", file=sys.stderr)
    return code


def parser() -> Parser:
    top = Parser(
        prog="digitwise", description="Transformers that learn arithmetic on short numbers and get long ones right."
    )
    top.add_argument("--version", action="version", version=f"digitwise {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    def command(
        name: str,
        run: Callable[[argparse.Namespace], int | None],
        description: str,
        json: str = "print one JSON document and nothing else on stdout",
        table: bool = True,
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=description, description=description)
        style = sub.add_mutually_exclusive_group()
        style.add_argument("--json", action="store_true", help=json)
        if table:
            style.add_argument("--csv", action="store_true", help="print tables as comma-separated values")
        sub.add_argument(
            "--import", dest="imports", action="append", default=[], metavar="FILE.py:NAME",
            help="import code of your own or of others, such as the encoding that a run was trained with",
        )  # fmt: skip
        sub.set_defaults(run=run)
        return sub

    sub = command("train", models.train, "Train the models of a recipe; any field can be changed with --FIELD VALUE.")
    sub.add_argument("recipe", nargs="?", help="a name from: digitwise ls recipes")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--arm", help="train only this one of the recipe's models")
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder for the run folders")
    sub.add_argument("--resume", type=Path, metavar="RUN", help="go on with an interrupted run")
    sub.add_argument("--until-proven", action="store_true", help="check every case, and go on until none is wrong")
    sub.add_argument("--show", action="store_true", help="print all fields and their values, and train nothing")
    sub.add_argument("--track", default="", metavar="NAME", help="also log to tensorboard, wandb or trackio")

    sweep.options(command("sweep", sweep.sweep, "Train and test a grid: any field with several values, several seeds."))

    sub = command("eval", models.evaluate, "Test checkpoints of runs: exact match by length, every symbol counted.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sub.add_argument("--suite", default="uniform", help="a name from: digitwise ls suites")
    sub.add_argument("--lengths", help="for instance 1-20 or 5,10,50; default: the recipe's")
    sub.add_argument("--problems", type=int, help="per length; default: the recipe's")
    sub.add_argument("--seed", type=int, default=0, help="of the problems")
    sub.add_argument("--checkpoints", default="last,best", help="last, best (on the validation set), all, or steps")
    sub.add_argument("--errors", type=int, default=0, metavar="N", help="show the first N mistakes of each run")
    sub.add_argument("--dump", type=Path, metavar="FILE", help="write every prediction: .jsonl or .parquet")

    sub = command("ls", terminal.ls, "List what there is by name.")
    sub.add_argument(
        "what", choices=["recipes", "tasks", "encodings", "distributions", "suites", "architectures", "models", "runs"]
    )
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder to look for runs in")

    sub = command("figure", models.figure, "Draw tested runs by length, or how they learned; or a learned machine.")
    several = 'run folders; or one folder of results, to draw all of its figures anew; or "machine" and a proven model'
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN", help=several)
    sub.add_argument("--suite", default="uniform")
    sub.add_argument("--by", choices=["run", "checkpoint"], help="one curve per run or checkpoint; default: what fits")
    sub.add_argument("--curve", choices=["loss", "validation"], help="draw this over the steps of training instead")
    sub.add_argument("--to", type=Path, help="file to write: .png, .svg or .pdf")

    sub = command("reproduce", models.reproduce, "Train what is missing of recipes, test it, draw it.")
    sub.add_argument("recipes", nargs="*", metavar="RECIPE")
    sub.add_argument("--all", action="store_true", help="every recipe, the quick ones first; go on where it stopped")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--seeds", help="training seeds, for instance 0-2 or 0,3; by default those of the recipe")
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder for the run folders")
    sweep.cluster(sub)

    about = "Compare encodings, yours too: same data, encoder, optimizer and tuning."
    compare.add_options(command("compare", compare.compare, about))

    sub = command("claims", science.claims, "The paper's findings, each with its numbers and a verdict.")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder of the results, as in reproduce --out")

    sub = command("explain", science.explain, "Show the columns of a problem and what each round does to them.")
    sub.add_argument("problem", nargs="+", help='for instance "987654 + 12347" or "56 * 4297"')
    sub.add_argument("--model", help="show what the cells of this proven model tell each other instead")
    sub.add_argument("--full", action="store_true", help="every column and round, for numbers of up to 2,000 digits")

    sub = command(
        "solve", solve.solve,
        "Answer with a proven network: sums, differences, products, comparisons, quotients, of up to 1,000,000 digits.",
        json="print one JSON object per problem, one per line", table=False,
    )  # fmt: skip
    sub.add_argument(
        "problem", nargs="+", help='"123 + 4095", "56 * 4297", "17 - 400", "3 ? 12", "1000 / 7"; a file; or - for stdin'
    )
    sub.add_argument(
        "--model", help="a bundled model by name, or a run folder; default: the one that is proven for the problem"
    )
    sub.add_argument("--compiled", action="store_true", help="run the table extracted from the network instead of it")
    sub.add_argument("--check", action="store_true", help="also say whether the answer is right")

    sub = command("certify", proof.certify, "Prove a model right for all numbers of all lengths, or refute it.")
    sub.add_argument("model", nargs="?", help="a bundled model by name, or a folder of a model or a run")
    sub.add_argument("--to", type=Path, metavar="FILE", help="write the certificate of a proven model to this file")
    sub.add_argument("--check", type=Path, metavar="FILE", help="check a certificate by integers, without the network")
    sub.add_argument("--disturb", type=int, metavar="TIMES", help="disturb the weights so often, and judge each anew")

    sub = command("share", solve.share, "Write a model with its card to a folder or to the hub.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="seeds of one experiment; the first is shared")
    sub.add_argument("--name", required=True, help="what the model is called")
    sub.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="folder to write")
    sub.add_argument("--hub", metavar="OWNER/NAME", help="also send it to this repository of the Hugging Face hub")

    sub = command("complexity", science.complexity, "Exact laws: the paper's four, or the one that is asked for.")
    sub.add_argument("--length", type=int, help="digits of both numbers; without it the paper's four laws")
    sub.add_argument("--base", type=int, default=10)
    sub.add_argument("--kind", default="cascade", choices=["cascade", "untriggered", "joint", "levels"])
    sub.add_argument("--multiplier", type=int, default=1, help="digits of the multiplier, for levels")
    sub.add_argument("--exactly", action="store_true", help="numbers of exactly that many digits")
    sub.add_argument("--floats", action="store_true", help="floats instead of exact fractions")
    sub.add_argument("--upto", type=int, help="collect longer classes in this one")

    sub = command("predict", science.predict, "Predict accuracy at any length from accuracy by complexity at one.")
    sub.add_argument("run_folder", type=Path, metavar="RUN")
    sub.add_argument("--at", type=int, help="length to measure strata at; default: twice the trained one")
    sub.add_argument("--lengths", help="lengths to predict; default: the recipe's, 30, 50, 100")
    sub.add_argument("--problems", type=int, default=300, help="per stratum")
    sub.add_argument("--checkpoint", default="last", help="last, best or a step")
    sub.add_argument("--to", type=Path, help="file of the plot; default: prediction.png in the run's folder")

    sub = command("data", science.data, "Show the problems of a suite, or write them for other people's models.")
    sub.add_argument("suite", help="a name from: digitwise ls suites")
    sub.add_argument("--task", default="addition", help="a name from: digitwise ls tasks")
    sub.add_argument("--sentences", action="store_true", help="English sentences instead of random words around them")
    sub.add_argument("--multiplier", type=int, default=1, help="digits of the multiplier")
    sub.add_argument("--lengths", required=True, help="for instance 1-20 or 5,10,50")
    sub.add_argument("--canvas", type=int, help="room for shifted and full-canvas problems; default: the longest")
    sub.add_argument("--problems", type=int, default=100, help="per stratum")
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--out", type=Path, help="file to write: .jsonl or .parquet; without it they are shown")

    sub = command("score", science.score, "Judge anybody's answers to such problems.")
    sub.add_argument("file", type=Path, help="rows with id and response")
    sub.add_argument("--problems", type=Path, metavar="FILE", help="the file of problems, if the answers are not in it")
    sub.add_argument("--extract", metavar="HOW", help="find the number in an answer: last-number, after-equals, REGEX")
    sub.add_argument("--to", type=Path, help="draw accuracy by length into this file")

    sub = command(
        "theory", science.theory, "The linear-attention results beside their predictions; or a task of one's own."
    )
    own = sub.add_argument_group("a task of one's own", "any of these trains the three settings on it instead")
    for name, kind, text in (
        ("--n", int, "positions on the ring"), ("--n-1", int, "positions seen in training"), ("--d", int, "dimension"),
        ("--alpha", float, "weight of the position itself"), ("--beta", str, "weights of neighbours: 0.5 or 0.5,0.2"),
        ("--step", float, "step size"), ("--steps", int, "number of steps"), ("--decay", float, "weight decay"),
    ):  # fmt: skip
        own.add_argument(name, type=kind, default=argparse.SUPPRESS, help=text)
    sub.add_argument("--seeds", default="0-4", help="for instance 0-4")
    sub.add_argument("--figures", type=Path, metavar="FOLDER", help="draw the figures into this folder too")

    about = "Measure speed, as ratios to what one would use instead."
    bench.add_options(command("bench", bench.bench, about))
    pages.add(command)
    return top
