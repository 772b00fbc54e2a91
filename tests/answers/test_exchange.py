"""Problems out, answers in, judged by the same counts."""

import json

import pytest

from digitwise.answers import exchange
from digitwise.cli import main
from digitwise.tasks import Addition, Multiplication


@pytest.fixture
def asked(tmp_path, capsys):
    path = tmp_path / "problems.jsonl"
    arguments = ["data", "cascade", "--lengths", "3,5", "--problems", "4", "--out", str(path), "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(path), "problems": 4 * (4 + 6)}
    return path


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_say_what_they_are(asked):
    rows = rows_of(asked)
    assert {"id", "problem", "answer", "of"} | set(exchange.NAMED) < set(rows[0])
    assert {row["of"] for row in rows} == {4}
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        a, b = map(int, row["problem"].split(" + "))
        assert row["answer"] == str(a + b) == exchange.solve(row["problem"])
        assert row["stratum"] == f"cascade {row['complexity']}" and row["length"] == len(str(a)) == len(str(b))
    products = list(exchange.problems("uniform", Multiplication(3, 6), [6], 30, seed=2))
    assert all(str(eval(row["problem"])) == row["answer"] for row in products)


def test_parquet_holds_the_same(asked, tmp_path):
    path = tmp_path / "problems.parquet"
    assert exchange.write(exchange.problems("cascade", Addition(5), [3, 5], 4, 0), path) == 40
    assert exchange.read(path)[0] == rows_of(asked)


def test_answers_in_the_same_file(asked, tmp_path, capsys):
    rows = rows_of(asked)
    answers = tmp_path / "answered.jsonl"
    answered = [{**row, "response": row["answer"]} for row in rows]
    answered[0]["response"] = "12"
    answered[1]["response"] = int(rows[1]["answer"])  # a number is fine too
    answered[2]["response"] = f"{rows[2]['answer']} apples"
    answered[3]["response"] = "0" + rows[3]["answer"]
    answered[4]["response"] = True
    del answered[5]["response"]
    answered[6]["answer"] = answered[6]["response"] = "7"  # the right answer is never taken from the file
    answered.append(answered[7])
    answers.write_text("\n".join(json.dumps(row) for row in answered) + "\nnot json\n")
    figure = tmp_path / "score.png"
    assert main(["score", str(answers), "--to", str(figure), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["answers"] == {
        "problems": 40, "right": 33, "wrong": 2, "missing": 1, "duplicated": 1, "malformed": 3, "unknown": 0,
        "broken_lines": 1, "extracted": 0,
    }  # fmt: skip
    assert sum(row["problems"] for row in document["rows"]) == 40
    assert sum(row["correct"] for row in document["rows"]) == 33
    assert figure.exists()


def test_a_row_that_was_lost_counts_as_wrong(asked, tmp_path):
    rows = [{**row, "response": int(row["answer"])} for row in rows_of(asked)]
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    whole.write_text("\n".join(map(json.dumps, rows)))
    cut.write_text("\n".join(map(json.dumps, rows[:4] + rows[5:])))
    assert exchange.score(whole)[1]["right"] == exchange.score(whole)[1]["problems"] == 40
    said = exchange.score(cut)[1]
    assert (said["problems"], said["right"], said["missing"]) == (40, 39, 1)


def test_long_numbers_and_damaged_rows(asked, tmp_path):
    (long,) = exchange.problems("uniform", Addition(6000), [6000], 1, seed=0)
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps(long)[:-1] + f', "response": {long["answer"]}}}\n')
    assert exchange.score(path)[1]["right"] == 1
    for damage, message in ({"length": "five"}, "are numbers"), ({"id": ["x"]}, "has no rows"):
        path.write_text(json.dumps({**long, **damage}) + "\n")
        with pytest.raises(ValueError, match=message):
            exchange.score(path)


def test_an_existing_file_is_not_replaced(asked):
    before = asked.read_text()
    assert main(["data", "uniform", "--lengths", "3", "--out", str(asked)]) == 2
    assert asked.read_text() == before


def test_ids_name_everything_that_decides_the_problem():
    def ids(task):
        return {row["id"] for row in exchange.problems("shifted", task, [3], 5, seed=0)}

    assert not ids(Addition(5)) & ids(Addition(9))
    assert not ids(Multiplication(1, 5)) & ids(Multiplication(2, 5))


def test_answers_in_a_file_of_their_own(asked, tmp_path, capsys):
    answers = tmp_path / "answers.jsonl"
    rows = rows_of(asked)
    answers.write_text("".join(json.dumps({"id": r["id"], "response": r["answer"]}) + "\n" for r in rows[:30]))
    assert main(["score", str(answers), "--problems", str(asked)]) == 0
    assert "10 missing" in capsys.readouterr().out
    assert main(["score", str(answers)]) == 2
    assert "--problems FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "cascades", "--lengths", "3", "--out", "x.jsonl"], "did you mean cascade"),
        (["data", "cascade", "--lengths", "3", "--out", "x.csv"], ".jsonl or .parquet"),
        (["data", "cascade", "--lengths", "3", "--out", "x.jsonl", "--task", "multiplication"], "needs an addition"),
        (["data", "uniform", "--lengths", "0", "--out", "x.jsonl"], "at least 1"),
        (["data", "uniform", "--lengths", "3", "--problems", "0", "--out", "x.jsonl"], "--problems must be"),
        (["data", "uniform", "--lengths", "3", "--seed", "-1", "--out", "x.jsonl"], "negative"),
        (["score", "nowhere.jsonl"], "no file"),
    ],
)
def test_mistakes(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
