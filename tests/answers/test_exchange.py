"""Problems out, answers in, judged by the same counts."""

import json
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digitwise.answers import exchange
from digitwise.cli import main
from digitwise.counts import Count
from digitwise.runs import results
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


@contextmanager
def full_disk(after: int) -> Iterator[None]:
    """No file may grow beyond so many bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_full_disk_leaves_no_half_file(ending, tmp_path, capsys):
    path = tmp_path / f"problems.{ending}"
    with full_disk(5000):
        assert main(["data", "uniform", "--lengths", "50", "--problems", "300", "--out", str(path)]) == 2
    error = capsys.readouterr().err
    assert str(path) in error and "cannot be written" in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def rows_in(tmp_path, suite="uniform", lengths=(3, 5), count=4, task=None, **changes):
    rows = exchange.problems(suite, task or Addition(6), lengths, count, 0)
    return tmp_path / "rows.jsonl", [{**row, "response": row["answer"], **changes} for row in rows]


def save(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("own_ids", [False, True])
def test_gaps_are_charged_to_their_own_stratum_whatever_the_ids_are(own_ids, tmp_path):
    path, rows = rows_in(tmp_path)
    if own_ids:
        rows = [{**row, "id": f"question-{900 + 7 * number}"} for number, row in enumerate(rows)]
    counts, said = exchange.score(save(path, rows[:2] + rows[4:]))
    assert {count.length: (count.tried, count.correct) for count in counts} == {3: (4, 2), 5: (4, 4)}
    assert said["missing"] == 2
    without = [{name: value for name, value in row.items() if name != "of"} for row in rows]
    assert exchange.score(save(path, without))[1]["problems"] == 8  # the numbers of other people's ids say nothing


def test_sentences_are_read_and_the_shares_are_said(tmp_path, capsys):
    path, rows = rows_in(tmp_path, lengths=[6], count=6, of=7)
    answers = [int(row["answer"]) for row in rows]
    said = [
        f"{answers[0]:,}",
        f"It is {answers[1]}.",
        "I cannot tell",
        str(answers[3]),
        f"-{answers[4]}",
        f"{answers[5]}.5",
    ]
    save(path, [{**row, "response": text} for row, text in zip(rows, said, strict=True)])
    assert main(["score", str(path), "--extract", "last-number", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["answers"]
    assert (found["right"], found["malformed"], found["not_found"]) == (3, 3, 1)
    assert found["missing"] == 1  # of the answers that were given:
    assert document["shares"] == {"extracted": round(2 / 6, 4), "not_found": round(1 / 6, 4)}
    assert main(["score", str(path), "--extract", "last-number"]) == 0
    assert "0.333; in which no number was found: 0.167" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("of", float("inf"), "are numbers"), ("length", 5.5, "are numbers"), ("seed", [1], "are numbers"),
        ("version", True, "are numbers"), ("length", -1, "are numbers"), ("of", 10**30, "are numbers"),
        ("problem", {"a": 1}, "not a problem"), ("problem", None, "not a problem"),
        ("task", "multiplication", "per task"),
    ],
)  # fmt: skip
def test_odd_types_are_refused(field, value, message, tmp_path):
    path, rows = rows_in(tmp_path)
    rows[3][field] = value
    with pytest.raises(ValueError, match=message):
        exchange.score(save(path, rows))


@pytest.mark.parametrize("value", ["Infinity", "-1e999", "NaN", "[1]", "{}", "true", "1.0", '"\\ud800"', '"١٢"'])
def test_odd_answers_are_malformed(value, tmp_path):
    path, rows = rows_in(tmp_path, lengths=[3], count=1)
    path.write_text(json.dumps(rows[0] | {"response": "HERE"}).replace('"HERE"', value))
    for extract in (None, "last-number", "after-equals", r"\d+"):
        assert exchange.score(path, None, extract)[1]["malformed"] == 1


def test_a_nested_line_is_a_broken_line(tmp_path):
    path, rows = rows_in(tmp_path)
    save(path, rows).write_text(path.read_text() + "\n" + "[" * 200_000 + "\n")
    assert exchange.score(path)[1]["broken_lines"] == 1
    assert main(["score", str(tmp_path / "rows.jsonl"), "--problems", str(path)]) == 2  # problems must be whole


def test_a_figure_never_adds_strata_up(tmp_path):
    counts = [
        Count("cascade", 1, length, f"cascade {n}", "", 0, 0, 10, 10 - n)
        for length in (3, 5)
        for n in range(length + 1)
    ]
    curves, over = results.never_added("mine", counts)
    assert [curve.label for curve in curves] == ["3 digits, cascade", "5 digits, cascade"] and "stratum" in over
    assert {x: found.values for x, found in curves[1].points.items()} == {n: [1 - n / 10] for n in range(6)}
    other = [Count("uniform", 1, length, "", "", 0, 0, 10, 10) for length in (3, 5)]
    curves, over = results.never_added("mine", [*counts, *other])
    assert over == "digits" and {found.by_seed[0].tried for curve in curves for found in curve.points.values()} == {10}


#: What may happen to a row on its way to somebody's model and back.
FATES = ("right", "right", "right", "wrong", "lost", "twice", "no response", "sentence", "zero", "garbage", "unicode")


def second_count(kept: list[tuple[str, dict]], strata: dict[tuple[int, str], int]) -> dict:
    """Tried and correct by length and stratum, from what was done to the rows: nothing is read back."""
    right = Counter((row["length"], row["stratum"]) for fate, row in kept if fate in ("right", "unicode"))
    alive = {(row["length"], row["stratum"]) for fate, row in kept if fate not in ("lost", "garbage")}
    return {cell: (of, right[cell]) for cell, of in strata.items() if cell in alive}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), suite=st.sampled_from(["uniform", "cascade"]), count=st.integers(1, 5), bom=st.booleans())
def test_the_score_agrees_with_a_second_count(data, suite, count, bom):
    rows = list(exchange.problems(suite, Addition(6), [2, 4], count, 0))
    strata = Counter((row["length"], row["stratum"]) for row in rows)
    fates = data.draw(st.lists(st.sampled_from(FATES), min_size=len(rows), max_size=len(rows)))
    kept = list(zip(fates, rows, strict=True))
    lines = []
    for fate, row in kept:
        truth = str(sum(map(int, row["problem"].split(" + "))))
        said = {
            "right": truth, "twice": truth, "wrong": str(int(truth) + 1), "sentence": f"it is {truth}",
            "zero": "0" + truth, "unicode": f"{truth}\u2028",
        }  # fmt: skip
        line = json.dumps(row | ({"response": said[fate]} if fate in said else {}), ensure_ascii=False)
        lines += {"lost": [], "twice": [line, line], "garbage": [line[:-9]]}.get(fate, [line])
    lines = data.draw(st.permutations(lines))
    wanted = second_count(kept, strata)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8-sig" if bom else "utf-8")
        if lines and set(fates) - {"lost", "garbage"}:  # with the file of problems whole strata may be lost
            counts, found = exchange.score(path, save(Path(folder) / "problems.jsonl", rows))
            right = Counter((row["length"], row["stratum"]) for fate, row in kept if fate in ("right", "unicode"))
            assert {(c.length, c.stratum): (c.tried, c.correct) for c in counts} == {
                cell: (of, right[cell]) for cell, of in strata.items()
            }
            assert found["missing"] == sum(fate in ("lost", "garbage", "no response") for fate in fates)
        if not wanted:
            with pytest.raises(ValueError, match="has no"):
                exchange.score(path)
            return
        counts, found = exchange.score(path)
    assert {(c.length, c.stratum): (c.tried, c.correct) for c in counts} == wanted
    missing = sum(tried for tried, _ in wanted.values()) - sum(
        fate not in ("lost", "garbage", "no response") for fate, row in kept
    )
    assert found["missing"] == missing and found["broken_lines"] == fates.count("garbage")
    assert found["duplicated"] == fates.count("twice") and found["wrong"] == fates.count("wrong")
    assert found["malformed"] == fates.count("sentence") + fates.count("zero")
    assert found["right"] + found["wrong"] + missing + found["malformed"] + found["duplicated"] == found["problems"]
