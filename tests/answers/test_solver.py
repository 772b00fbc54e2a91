"""Text in, text out: what the network says, in the order of the questions; and what it refuses."""

import base64
import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small import SMALL

from digitwise.answers import Problem
from digitwise.answers import solver as solver_module
from digitwise.answers.hub import bundle, from_pretrained, push_to_hub
from digitwise.answers.solver import Solver, bundled, load
from digitwise.cli import main
from digitwise.cli.solve import ready
from digitwise.data import ShortMultipliers, UniformLengths
from digitwise.encodings import HeadGroups
from digitwise.paper import arms
from digitwise.runs.evaluation import load_model
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Multiplication, TextAddition
from digitwise.tasks.symbols import read_answers


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """A model of everything that has learned for a second: it answers, mostly wrong."""
    run = Run.create(tmp_path_factory.mktemp("runs") / "all-seed0", arms("beyond-all", "smoke")["all"])
    train(run)
    return run


def says(capsys, *arguments: object, code: int = 0) -> list[str]:
    assert main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return (captured.out if code == 0 else captured.err).splitlines()


@given(st.lists(st.integers(0, 10**30), min_size=2, max_size=5))
@settings(max_examples=30)
def test_problems_are_parsed(numbers):
    found = Problem.parse(" + ".join(f"00{number}" for number in numbers))
    assert found.numbers == tuple(map(str, numbers))
    assert (found.kind.operator, found.kind.size, found.length) == (
        "+",
        len(numbers),
        max(len(str(n)) for n in numbers),
    )


def test_the_shorter_factor_is_the_multiplier():
    assert Problem.parse("4297*56").numbers == ("56", "4297")
    assert str(Problem.parse("56 * 4297").kind) == "2-digit multiplier"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a problem"), ("12", "is not a problem"), ("1 + x", "is not a problem"),
        ("1 + 2 * 3", "is not a problem"), ("3 - 2 - 1", "is not a problem"),
        ("2 * 3 * 4", "is not a problem"), ("١ + ٢", "is not a problem"),
        ("-5 + 3", "negative"), ("3 + -5", "negative"), ("7 / 0", "divided by 0"), ("7 ? 3 ? 1", "is not a problem"),
    ],
)  # fmt: skip
def test_what_is_no_problem_is_refused_in_one_line(text, message, capsys):
    with pytest.raises(ValueError, match=message):
        Problem.parse(text)
    lines = says(capsys, "solve", text, code=2)
    assert len(lines) == 1 and message in lines[0]


def test_it_says_what_the_network_says(run):
    """The same symbols as the model read out column by column; no help from outside, right or wrong."""
    ours = Solver.from_folder(run.folder)
    texts = ["123 + 4095", "56 * 4297", "900 - 1", "7 + 5", "4297 * 56", "0 - 0", "999 * 1"]
    found = list(ours.solve_many(texts, check=True))
    assert [solution.problem for solution in found] == texts
    for text, solution in zip(texts, found, strict=True):
        problem = Problem.parse(text)
        numbers = [solver_module.dg.parse([number]) for number in problem.numbers]
        tokens, coordinates = ours.task.write(ours.task.pose(problem.kind, numbers))
        with torch.no_grad():
            shares, symbols = ours.model(torch.as_tensor(tokens), coordinates)[0].softmax(-1).max(-1)
        expected = "".join("0123456789_"[symbol] for symbol in symbols.flip(0)).lstrip("_") or "_"
        expected = expected.lstrip("0") or "0" if "-" in text else expected
        assert solution.answer == expected
        assert len(solution.confidence) == len(solution.answer)
        assert solution.confidence[-1] == pytest.approx(float(shares[0]), abs=0.02)
        assert solution.right is (solution.answer == str(eval(text)))
        assert solution.rounds >= 1 and solution.model == str(run.folder)


def test_batches_do_not_change_answers(run):
    ours = Solver.from_folder(run.folder)
    texts = [f"{7**n} + {3**n}" for n in range(30)] + [f"{n} * {11**n}" for n in range(1, 30)]
    together = [solution.answer for solution in ours.solve_many(texts)]
    assert together == [ours.solve(text).answer for text in texts]
    assert len(set(together)) > 2


def test_lines_stream_in_their_order(run, tmp_path):
    """A process that waits for each answer before it asks again gets it."""
    command = [sys.executable, "-m", "digitwise", "solve", "-", "--json", "--check", "--model", str(run.folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
    ) as process:
        assert process.stdin and process.stdout
        for text in ("1 + 2", "900 - 1", "3 * 456"):
            print(text, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert answer["problem"] == text
            assert set(answer) == {"problem", "answer", "confidence", "rounds", "model", "proven", "right"}
        process.stdin.close()
        assert process.wait() == 0


def test_a_file_of_problems_and_a_bad_line_in_it(run, tmp_path, capsys):
    path = tmp_path / "problems.txt"
    path.write_text("1 + 2\n\n10 - 1\n2 * 3\n")
    lines = says(capsys, "solve", path, "--model", run.folder, "--json")
    assert [json.loads(line)["problem"] for line in lines] == ["1 + 2", "10 - 1", "2 * 3"]
    assert all("right" not in json.loads(line) for line in lines)
    path.write_text("1 + 2\n5 % 3\n2 * 3\n")
    assert main(["solve", str(path), "--model", str(run.folder)]) == 2
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2  # the others are answered
    bad, whole = captured.err.splitlines()
    assert bad.startswith("line 2: '5 % 3' is not a problem") and whole.startswith("digitwise: 1 of 3 lines")
    assert main(["solve", str(path), "--model", str(run.folder), "--json", "--check"]) == 2
    captured = capsys.readouterr()
    assert [list(json.loads(line))[:2] for line in captured.out.splitlines()][1] == ["problem", "error"]
    assert " of 3 right" in captured.err


def test_a_file_that_is_no_text_is_refused(tmp_path, capsys):
    path = tmp_path / "problems.txt"
    path.write_bytes("1 + 2\n".encode("utf-16"))
    (line,) = says(capsys, "solve", path, code=2)
    assert "cannot be read" in line
    path.write_bytes("1 + 2\n".encode("utf-8-sig"))
    assert says(capsys, "solve", path) == ["3  proven"]


def test_files_and_streams_are_read_alike(tmp_path, capsys, monkeypatch):
    """A mark at the start is dropped; a line that is not UTF-8 is one refused line, and the others are answered."""
    content = b"\xef\xbb\xbf1 + 2\n5 + \xe9\n3 + 4\r\n"
    path = tmp_path / "problems.txt"
    path.write_bytes(content)
    for name in (str(path), "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(["solve", name]) == 2
        captured = capsys.readouterr()
        assert captured.out.splitlines() == ["3  proven", "7  proven"]
        bad, whole = captured.err.splitlines()
        assert bad.startswith("line 2: ") and "not UTF-8" in bad and whole.startswith("digitwise: 1 of 3 lines")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("1 + 2\n".encode("utf-16"))))
    (line,) = says(capsys, "solve", "-", code=2)
    assert "cannot be read" in line and "UTF-16" in line


def test_nobody_waits_for_a_stream_that_is_closed_or_fails(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)  # what `<&-` makes of it
    (line,) = says(capsys, "solve", "-", code=2)
    assert "standard input is closed" in line

    def broken():
        yield b"1 + 2\n"
        raise RuntimeError("out of order")

    parts = ready(broken())
    assert next(parts) == [(1, b"1 + 2\n")]
    with pytest.raises(ValueError, match="cannot be read: out of order"):
        list(parts)


def test_problems_of_like_length_share_a_batch_and_keep_their_order(monkeypatch):
    """The places that padding adds change no answer, and what was solved is told."""
    ours, sizes, told = load("addition"), [], []
    original = Solver.batch
    monkeypatch.setattr(Solver, "batch", lambda *a: (sizes.append(len(a[1])), original(*a))[1])
    texts = [f"{10**n - 1} + {n}" for n in (*range(1, 60), *range(59, 0, -1))]
    posed = [(ours, Problem.parse(text)) for text in texts]
    found = solver_module.solve(posed, check=True, progress=told.append)
    assert [solution.problem for solution in found] == texts and all(solution.right for solution in found)
    assert len(sizes) < 15 and sum(sizes) == told[-1] == len(texts)


def test_progress_of_many_lines_goes_to_stderr(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("digitwise.cli.solve.MANY", 3)
    monkeypatch.setattr("digitwise.cli.solve.LINES", 4)
    path = tmp_path / "problems.txt"
    path.write_text("".join(f"{n} + {10 * n}\n" for n in range(1, 6)))
    assert main(["solve", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.split()[::2] == ["11", "22", "33", "44", "55"]
    assert "lines 1 to 4" in captured.err and "lines 5" not in captured.err


@pytest.mark.parametrize("given", [None, 5, b"1 + 2", ["1 + 2", None], [5], [b"1 + 2"], [["1 + 2"]]])
def test_what_is_not_text_is_a_value_error(given):
    with pytest.raises(ValueError, match="problem"):
        list(load("addition").solve_many(given))


def test_what_a_model_does_not_know_is_said(run, capsys):
    (line,) = says(capsys, "solve", "1234 * 56789", "--model", run.folder, code=2)
    assert "supports" in line and "3-digit multiplier" in line and "not 4-digit multiplier" in line
    (line,) = says(capsys, "solve", "1 + 2 + 3", "--model", run.folder, code=2)
    assert "not 3 summands" in line
    (line,) = says(capsys, "solve", "1 + 2", "--model", "nowhere", code=2)
    assert "no model 'nowhere'" in line
    (line,) = says(capsys, "solve", "12 / 34", code=2)
    assert "a divisor of 2 digits is not supported" in line
    (line,) = says(capsys, "solve", "1 - 900", "--model", run.folder, code=2)
    assert "larger number first" in line


@pytest.mark.parametrize(
    ("changes", "good", "bad"),
    [
        ({}, "123 + 45", "1234567 + 1"),
        ({"task": Multiplication(2, 6), "data": ShortMultipliers(UniformLengths(3))}, "4297 * 56", "9 * 4"),
        ({"task": TextAddition(6, most=3), "encoding": HeadGroups()}, "7 + 123456", "1 - 1"),
    ],
)
def test_models_on_a_canvas_answer_within_it(changes, good, bad, tmp_path, capsys):
    run = Run.create(tmp_path / "run", replace(SMALL, **changes))
    train(run)
    (answer,) = says(capsys, "solve", good, "--model", run.folder, "--json")
    document = json.loads(answer)
    assert document["problem"] == good and len(document["confidence"]) == len(document["answer"])
    model, task = load_model(run, 20), run.experiment.task.plain()
    problem = Problem.parse(good)
    batch = task.encode(task.pose(problem.kind, [solver_module.dg.parse([number]) for number in problem.numbers]))
    with torch.no_grad():
        symbols = model.eval()(torch.as_tensor(batch.tokens), batch.coordinates).argmax(-1).numpy()
    assert document["answer"] == read_answers(symbols)[0]
    (line,) = says(capsys, "solve", bad, "--model", run.folder, code=2)
    assert "supports" in line


def test_shared_folders_answer_the_same(run, tmp_path, capsys):
    says(capsys, "share", run.folder, "--name", "mine", "--to", tmp_path / "mine")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"weights.safetensors", "config.json", "card.md"}
    card = (tmp_path / "mine" / "card.md").read_text()
    assert "at most 5 digits" in card and "seed 0" in card and "not tested yet" in card
    (line,) = says(capsys, "share", tmp_path / "mine", "--name", "again", "--to", tmp_path / "again", code=2)
    assert "saved model already" in line
    shared, original = from_pretrained(str(tmp_path / "mine")), Solver.from_folder(run.folder)
    assert shared.solve("123 + 4095") == replace(original.solve("123 + 4095"), model="mine")
    (tmp_path / "mine" / "weights.safetensors").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="does not hold a readable model"):
        from_pretrained(str(tmp_path / "mine"))
    with pytest.raises(ValueError, match="neither a folder nor a bundled model nor a repository"):
        from_pretrained("nowhere")


def test_the_hub_gets_a_model_with_its_card(run, tmp_path, monkeypatch):
    """huggingface_hub for real, talking to a server here that keeps what it is sent in a folder."""
    store = tmp_path / "store"

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = b""
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.endswith("/create"):
                return self.say({"url": f"{endpoint}/me/mine"})
            if "/preupload/" in self.path:
                files = json.loads(body)["files"]
                plain = {"uploadMode": "regular", "shouldIgnore": False}
                return self.say({"files": [{"path": file["path"], **plain} for file in files]})
            if "/commit/" not in self.path:  # the card is looked at first
                return self.say({"errors": [], "warnings": []})
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    path = store / line["value"]["path"]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(base64.b64decode(line["value"]["content"]))
            self.say({"commitUrl": f"{endpoint}/me/mine/commit/1", "commitOid": "1", "success": True})

        def do_GET(self):
            self.say({"id": "me/mine", "sha": "1", "siblings": []})

        def say(self, document):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    endpoint = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    try:
        ours = Solver.from_folder(bundle([run], "mine", tmp_path / "mine"))
        push_to_hub(ours, "me/mine", endpoint=endpoint)
    finally:
        server.shutdown()
        server.server_close()
    assert {path.name for path in store.iterdir()} == {"weights.safetensors", "config.json", "README.md"}
    assert from_pretrained(str(store)).solve("56 * 4297") == ours.solve("56 * 4297")


@pytest.mark.parametrize("name", bundled())
def test_bundled_models_answer_right(name):
    ours = load(name)
    examples = {"+": "999999 + 1", "-": "1000000 - 1", "*": "9 * 99999", "?": "1000 ? 999", "/": "1000000 / 7"}
    for operator in {kind.operator for kind in ours.task.kinds}:
        assert ours.solve(examples[operator], check=True).right, (name, operator)
    assert {"Data", "Time", "Seeds", "Limits"} <= set(ours.card.replace("**", " ").replace(":", " ").split())


def test_bundled_models_are_small():
    sizes = [path.stat().st_size for path in Path(solver_module.BUNDLED).rglob("*") if path.is_file()]
    assert sum(sizes) <= 10_000_000


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("difference", ["5 - 77", "17 - 400", "123456 - 7", "9 - 9"]),
        ("division", ["1000 / 7", "3 / 9", "0 / 5", "123456 / 8"]),
        ("product", ["12 * 34", "0 * 7", "99 * 99999"]),
    ],
)
def test_confidence_belongs_to_the_symbols_of_the_answer_also_in_a_batch(name, texts):
    """A problem has the same confidence alone and padded in a batch, one number for each sign and digit."""
    ours = load(name)
    alone = [ours.solve(text) for text in texts]
    problems = [solver_module.Problem.parse(text) for text in texts]
    same = [problem for problem in problems if problem.kind == problems[0].kind]
    together = {solution.problem: solution for solution in ours.batch(same, False)}
    for solution in alone:
        assert len(solution.confidence) == len(solution.answer.replace(" remainder ", ""))
        if solution.problem in together:
            assert together[solution.problem].answer == solution.answer
            assert together[solution.problem].confidence == pytest.approx(solution.confidence, abs=1e-3)
    if name == "difference":  # the sign's own number, read at the top of the cells
        task, posed = ours.posed(problems[1:2])
        found = solver_module.answer(ours.model, task.encode(posed, False)).confidence_BS[0]
        assert alone[1].confidence == pytest.approx([float(found[-1]), *found[:3].flip(0).tolist()], abs=1e-3)


def test_models_that_are_there_to_fail_are_never_chosen_and_are_counted_in_the_size():
    from digitwise.pages.shelf import MODELS

    there = [path.name for path in MODELS.iterdir()]
    assert sorted(there) == ["absolute", "relative"] and not set(there) & set(bundled())
    sizes = [
        path.stat().st_size
        for root in (solver_module.BUNDLED, MODELS)
        for path in Path(root).rglob("*")
        if path.is_file()
    ]
    assert sum(sizes) <= 10_000_000
