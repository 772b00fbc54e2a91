"""Bundled models are proven, their certificates belong to them, and tables answer what networks answer."""

import copy
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from digitwise.answers import Problem, compiled, machine
from digitwise.answers.solver import BUNDLED, bundled, load
from digitwise.cli import main
from digitwise.machines import certificate
from digitwise.runs.certify import certify, is_wrong

PROVEN = [name for name in bundled() if (BUNDLED / name / certificate.FILE).exists()]
EXAMPLES = {
    "addition": ["999999 + 1", "0 + 0", "987 + 14"],
    "summands": ["9 + 99 + 999", "1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12", "5 + 5"],
    "product": ["123456789 * 987654321", "0 * 7", "999 * 999", "10000 * 10000"],
    "difference": ["17 - 400", "400 - 17", "200 - 191", "300 - 191", "5 - 5", "3 ? 12", "12 ? 12", "12 ? 3"],
    "division": ["1000 / 7", "3 / 9", "0 / 5"],
}


@pytest.mark.parametrize("name", PROVEN)
def test_every_case_of_a_bundled_model_is_right(name):
    solver = load(name)
    report = certify(solver.experiment, solver.model)
    assert report.verdict == "proven" and report.wrong == 0 and solver.proven
    assert min(report.logit, report.bit) > 100 * report.difference
    assert certificate.read(BUNDLED / name / certificate.FILE).table == report.table
    assert solver.experiment.trained_length == 5


@pytest.mark.parametrize("name", PROVEN)
def test_tables_answer_what_networks_answer(name):
    rng = np.random.default_rng(0)
    texts = list(EXAMPLES[name])
    for operator in {Problem.parse(text).kind.operator for text in texts}:
        for _ in range(20):
            a, b = ("".join(map(str, rng.integers(1, 10, rng.integers(1, 30)))) for _ in range(2))
            texts.append(f"{a} {operator} {b[:1] if operator == '/' else b}")
    network, table = load(name), compiled.load(name)
    found = list(network.solve_many(texts, check=True))
    problems = [table.admitted(Problem.parse(text)) for text in texts]
    by_table = [table.batch([problem], check=True)[0] for problem in problems]
    assert [solution.answer for solution in found] == [solution.answer for solution in by_table]
    assert all(solution.right and solution.proven for solution in [*found, *by_table])


def test_certify_and_check_from_the_shell(capsys, tmp_path):
    path = tmp_path / "certificate.json"
    assert main(["certify", "addition", "--to", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "proven" and set(found["messages"]["carry"]) == {"0", "1"}
    assert main(["certify", "--check", str(path)]) == 0
    assert "proven from" in capsys.readouterr().out
    text = path.read_text()
    path.write_text(text.replace('"9",', '"8",', 1))
    assert main(["certify", "--check", str(path)]) == 2
    assert "wrong in" in capsys.readouterr().err


def test_a_model_that_tells_its_whole_state_is_refused(capsys, tmp_path):
    from digitwise.paper import arms
    from digitwise.runs.folder import Run
    from digitwise.runs.training import train

    run = Run.create(tmp_path / "run", arms("beyond-addition", "smoke")["addition"])
    train(run)
    assert main(["certify", str(run.folder)]) == 2
    assert "whole state" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"has no certificate\.json"):
        compiled.Compiled(run.folder)


def test_a_disturbed_network_loses_its_certificate_and_is_judged_anew(tmp_path):
    """Lightly it stays proven and right on hard problems; heavily it is refuted by a problem that it gets wrong."""
    solver = load("addition")
    generator, verdicts = torch.Generator().manual_seed(0), []
    for scale in (1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.5):
        disturbed = copy.deepcopy(solver.model)
        with torch.no_grad():
            for weight in disturbed.parameters():
                weight.add_(scale * weight.abs().mean() * torch.randn(weight.shape, generator=generator))
        report = certify(solver.experiment, disturbed)
        verdicts.append(report.verdict)
        if report.verdict == "refuted":
            assert all(is_wrong(disturbed.eval(), solver.task, text) for text in report.problems)
        if report.verdict == "proven":
            hard = [f"{'9' * n} + {m}" for n in (1, 7, 60) for m in (0, 1, 9, "9" * 40)]
            assert not any(is_wrong(disturbed.eval(), solver.task, text) for text in hard)
    assert verdicts[0] == "proven" and verdicts[-1] != "proven" and "refuted" in verdicts


def test_a_certificate_of_other_weights_is_worth_nothing(tmp_path):
    folder = tmp_path / "addition"
    shutil.copytree(BUNDLED / "addition", folder)
    weights = folder / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    assert not load(str(folder)).proven
    with pytest.raises(ValueError, match="other weights"):
        compiled.Compiled(folder)
    assert main(["certify", "--check", str(folder / certificate.FILE)]) == 2


def test_a_network_answers_without_the_compiler_of_torch():
    """Its import takes longer than all the rest."""
    code = "import sys; from digitwise.cli import main; main(sys.argv[1:]); assert 'torch._dynamo' not in sys.modules"
    result = subprocess.run([sys.executable, "-c", code, "solve", "987 + 14"], capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("1001"), result.stderr


def test_compiled_answers_without_torch():
    code = "import sys; from digitwise.cli import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    for text, answer in (("999 + 1", "1000"), ("12 * 34", "408"), ("1000 / 7", "142 remainder 6")):
        command = [sys.executable, "-c", code, "solve", "--compiled", text]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"{answer}  proven\n"


def test_a_million_digits_by_the_table():
    text = f"{'9' * 1_000_000} + 1"
    assert compiled.choose(Problem.parse(text)).batch([Problem.parse(text)], True)[0].right


def test_explain_shows_every_message_and_what_it_stands_for(capsys):
    assert main(["explain", "987 + 14", "--model", "addition", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    heard = [one["means"] if one else None for one in row["hears along"]]
    assert heard == ["1", "1", "1", None] and row["writes"] == ["1", "0", "0", "1"]
    assert main(["explain", "12 * 34", "--model", "product"]) == 0
    shown = capsys.readouterr().out
    assert "row 2" in shown and "hears across" in shown and "= 408" in shown


@pytest.mark.parametrize("name", PROVEN)
def test_the_machine_is_drawn(name, tmp_path, capsys):
    assert main(["figure", "machine", name, "--to", str(tmp_path / "machine.svg")]) == 0
    assert (tmp_path / "machine.svg").stat().st_size > 5000
    assert machine.transitions(compiled.load(name))
