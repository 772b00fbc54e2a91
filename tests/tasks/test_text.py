"""Numbers in texts: where they are found, what is refused, what tasks write, and what encodings by place add."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small import SMALL, with_training

from digitwise.coordinates import Extent, extent
from digitwise.data import SUITES, ExactLength, UniformLengths
from digitwise.encodings import (
    Absolute,
    ByOperandAndPlace,
    ByPlace,
    HeadGroups,
    Nothing,
    NumbersOnly,
    Relative,
    Shape,
    Sum,
    UniformByPlace,
)
from digitwise.encodings.symmetry import random_queries, what_is_added
from digitwise.models import conformance
from digitwise.models.encoder import Architecture, Encoder
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.runs.evaluation import answer, evaluate
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Addition, Batch, TextAddition, TextMultiplication
from digitwise.tasks.symbols import PAD, read_answers
from digitwise.tasks.text import FILLER, SYMBOLS, WORDS, answered_at_last, find_numbers, pad_numbers, read

TASKS = [
    TextAddition(6),
    TextAddition(6, sentences=True),
    TextMultiplication(1, 6),
    TextMultiplication(3, 6, most=4),
    TextMultiplication(2, 6, sentences=True),
]
SHAPE = Shape(layers=2, heads=2, head_size=4, width=8)


def as_tensors(coordinates):
    return coordinates.map(lambda array: torch.as_tensor(array.copy()))


def written(task, count: int = 40, length: int = 6, seed: int = 1):
    operands = task.draw(UniformLengths(length), generator(seed, "text"), count)
    return operands, task.encode(operands)


# ---- finding numbers

CHARACTERS = {**{str(digit): digit for digit in range(10)}, "_": 10, "x": 11, ".": 12}


def found(*texts: str, **options):
    ids = [[CHARACTERS[letter] for letter in text] for text in texts]
    return find_numbers(ids, range(10), pad=10, filler=12, **options)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9999)), max_size=5), st.integers(0, 3))
def test_numbers_are_found_as_a_regular_expression_finds_them(pieces, fill):
    text = "".join("x" * (words + 1) + "_" * pads + str(number) for words, pads, number in pieces) + "." * fill
    coordinates = found(text)
    operand, place, position = (np.full(len(text), -1) for _ in range(3))
    for number, match in enumerate(re.finditer(r"_*\d+", text)):
        operand[match.start() : match.end()] = number
        place[match.start() : match.end()] = range(match.end() - match.start() - 1, -1, -1)
    position[: len(text) - fill] = range(len(text) - fill)
    assert coordinates.operand[0].tolist() == operand.tolist()
    assert coordinates.place[0].tolist() == place.tolist()
    assert coordinates.position[0].tolist() == position.tolist()


def test_odd_texts_have_defined_coordinates():
    rows = found("xxxxxxx", "x__x_x.", "12__34x", "..12x34", ".......")
    assert (rows.operand[[0, 1, 4]] == -1).all()  # no numbers; pads alone are none either
    assert rows.operand[2].tolist() == [0, 0, 1, 1, 1, 1, -1]  # a pad after a digit begins the next number
    assert rows.position[3].tolist() == [-1, -1, 0, 1, 2, 3, 4]  # rows may be filled from the left
    assert rows.place[3].tolist() == [-1, -1, 1, 0, -1, 1, 0]
    assert (rows.position[4] == -1).all() and (rows.slot == -1).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xxxxxxxx", "row 1 has 0 numbers, and the question needs 2"),
        ("xxx___12", "row 1 has 1 number, and the question needs 2"),
        ("1x2x__34", "row 1 has 3 numbers, and the question needs 2"),
        ("1x__2345", "row 1 has a number of more than 3 digits"),
        ("__123__4", "row 1 has a number of more than 4 places"),
        ("12xxx_12", "row 1 has an answer field of fewer than 4 places"),
    ],
)
def test_questions_that_cannot_be_read_name_their_row(text, message):
    good = "12xx_123"
    assert answered_at_last(found(good, longest=3), (4, 4)).slot.tolist() == [[-1, -1, -1, -1, 3, 2, 1, 0]]
    with pytest.raises(ValueError, match=message):
        answered_at_last(found(good, text, longest=3), (4, 4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no numbers at all", "row 0 has 0 numbers"),
        ("one 7", "row 0 has 1 number,"),
        ("1 2 3", "row 0 has 3 numbers"),
        ("1 and 1234567", "1234567 has 7 digits, and there is room for 6"),
        ("-5 and 3", "'-5' is not a whole number"),
        ("3.14 and 3", "'3.14' is not a whole number"),
        ("1,000 and 3", "'1,000' is not a whole number"),
    ],
)
def test_texts_that_are_no_question_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        pad_numbers([text], (6, 7), canvas=6)
    with pytest.raises(ValueError, match="row 0"):
        TextAddition(6).tokenize([text])


def test_one_dimension_is_refused():
    with pytest.raises(ValueError, match="put one text in a list"):
        find_numbers([1, 2, 3], range(10))


def test_a_tokenizer_that_splits_digits():
    """The fast tokenizers of Hugging Face, built here from a handful of words."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "what", "is", "plus", "?", "_", *"0123456789"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.Split("_", "isolated"),
            tokenizers.pre_tokenizers.WhitespaceSplit(),
        ]
    )
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    texts = pad_numbers(["what is 123 plus 4095 ?", "what a lovely day is it today , 7 plus 12 ?"], (5, 6))
    ids = [encoded.ids for encoded in tokenizer.encode_batch(texts)]
    digits = [vocabulary[digit] for digit in "0123456789"]
    coordinates = answered_at_last(find_numbers(ids, digits, vocabulary["_"], vocabulary["[PAD]"]), (5, 6))
    for row, numbers in zip(range(2), (("__123", "__4095"), ("____7", "____12")), strict=True):
        for operand, number in enumerate(numbers):
            mine = np.flatnonzero(coordinates.operand[row] == operand)
            assert "".join(tokenizer.id_to_token(ids[row][index]) for index in mine) == number
            assert coordinates.place[row][mine].tolist() == list(range(len(number)))[::-1]
    assert (coordinates.position[0] == -1).sum() == len(ids[0]) - len("__123__4095") - 4  # what is plus ?


# ---- tasks


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_texts_say_what_is_solved(task):
    problems, (tokens, targets, coordinates) = written(task)
    numbers = [*([problems.multipliers] if problems.multipliers.size else []), *problems.numbers.swapaxes(0, 1)]
    calculate = (lambda a, b: a + b) if isinstance(task, TextAddition) else (lambda a, b: a * b)
    lengths = (tokens != FILLER).sum(1)
    assert lengths.max() == tokens.shape[1] <= task.extent.positions and len(set(lengths)) > 3
    for row, text in enumerate(task.render(problems)):
        a, b = (int(number) for number in re.findall(r"\d+", text))
        assert (a, b) == tuple(int(dg.render(number)[row]) for number in numbers)
        assert read_answers(targets[row : row + 1]) == [str(calculate(a, b))]
        for number, digits in enumerate(numbers):
            mine = np.flatnonzero(coordinates.operand[row] == number)
            assert len(mine) == task.widths[number]
            seen = tokens[row, mine][coordinates.place[row, mine].argsort()]
            assert seen[seen != PAD].tolist() == [int(x) for x in reversed(dg.render(digits)[row])]
    assert (coordinates.slot.max(1) == task.canvas + task.overflow - 1).all()


def test_the_amount_of_text():
    assert len(WORDS) >= 64 and len(set(WORDS)) == len(WORDS) and len(SYMBOLS) < 256
    _, (tokens, _, coordinates) = written(TextAddition(6), 3000)
    words, number = tokens > FILLER, coordinates.operand
    before = (words & (np.cumsum(number >= 0, axis=1) == 0)).sum(1)
    assert set(before) == set(range(21))
    assert set(tokens[words]) == set(range(FILLER + 1, len(SYMBOLS)))
    tokens = written(TextAddition(6, most=40, least=40), 5)[1].tokens
    assert ((tokens > FILLER).sum(1) == 120).all()


def test_text_is_a_function_of_the_problems_and_new_in_every_batch():
    task = TextAddition(6)
    operands, batch = written(task)
    assert (task.encode(operands).tokens == batch.tokens).all()
    other = task.encode(operands[::-1]).tokens
    assert read(other[-1]) != read(batch.tokens[0])  # the same problem in another batch


def test_texts_that_people_write():
    task = TextAddition(6, sentences=True)
    (tokens,) = task.tokenize(["What is 123 plus 4095 ?"])
    assert read(tokens) == "what is 123 plus 4095 ?"
    assert (tokens == PAD).sum() == 3 + 3
    with pytest.raises(ValueError, match="'zebra' is not among"):
        task.tokenize(["what is 1 plus 2 zebra"])
    texts = {re.sub(r"\d+", "N", text) for text in task.render(written(task, 200)[0])}
    assert len(texts) == 8 and "what is N plus N ?" in texts


def test_impossible_texts_are_refused():
    with pytest.raises(ValueError, match="least and most"):
        TextAddition(6, most=2, least=3)
    with pytest.raises(ValueError, match="canvas must be"):
        TextAddition(0)


# ---- encodings


@pytest.mark.parametrize(
    "encoding",
    [
        ByPlace(),
        UniformByPlace(),
        UniformByPlace(operand=1),
        ByPlace(reach=2),
        UniformByPlace(reach=1),
        HeadGroups(((1, UniformByPlace()), (1, ByPlace()))),
        Sum((Absolute(room=9), HeadGroups())),
        HeadGroups(((4, Relative()), (4, Absolute()))),
    ],
    ids=str,
)
def test_conformance(encoding):
    conformance.check(encoding)


def test_claims_of_groups_are_what_all_of_them_claim():
    assert HeadGroups().symmetries == (ByOperandAndPlace(), NumbersOnly())
    assert HeadGroups(((1, ByPlace()), (1, Relative()))).symmetries == ()


@pytest.mark.parametrize("claim", [ByOperandAndPlace(), NumbersOnly()])
def test_the_new_claims_can_fail(claim):
    class FalseClaim(Relative):
        symmetries = (claim,)

    with pytest.raises(AssertionError, match=f"claims {type(claim).__name__}"):
        conformance.check(FalseClaim())


def built(encoding, reach):
    torch.manual_seed(0)
    vectors = encoding.build(SHAPE, reach)
    for parameter in vectors.parameters():
        torch.nn.init.normal_(parameter)
    return vectors


def test_classes_by_place_by_hand():
    task = TextAddition(4, most=5)
    coordinates = as_tensors(written(task, 4, 4)[1].coordinates)
    vectors = built(ByPlace(), extent(coordinates))
    q = random_queries(SHAPE, coordinates)
    with torch.no_grad():
        _, first, _ = what_is_added(vectors, SHAPE, q, coordinates)
        for row in range(4):
            operand, place = coordinates.operand[row].tolist(), coordinates.place[row].tolist()
            for i in range(len(operand)):
                for j in range(len(operand)):
                    p = torch.zeros(SHAPE.head_size)
                    if operand[i] >= 0 and operand[j] >= 0:
                        p = vectors.tables[0][place[i] - place[j] + 4]
                    torch.testing.assert_close(first[row, :, i, j], q[row, :, i] @ p)


def test_unpadded_numbers_get_what_their_digits_get():
    """Cells without a token must not leak into any other token."""
    vectors = built(ByPlace(), Extent(9, (4, 4)))
    short, padded = as_tensors(found("xx12x34")), as_tensors(found("xx12x_34"))
    q = random_queries(SHAPE, padded)
    keep = [0, 1, 2, 3, 4, 6, 7]
    with torch.no_grad():
        _, *here = what_is_added(vectors, SHAPE, q[:, :, keep], short)
        _, *there = what_is_added(vectors, SHAPE, q, padded)
    for a, b in zip(here, there, strict=True):
        torch.testing.assert_close(a, b[:, :, keep][..., keep])


def test_texts_without_numbers_and_with_one():
    vectors = built(ByPlace(), Extent(9, (4, 4)))
    for text, some in (("xxxxxxx", False), ("xx12xxx", True)):
        coordinates = as_tensors(found(text))
        with torch.no_grad():
            _, *scores = what_is_added(vectors, SHAPE, random_queries(SHAPE, coordinates), coordinates)
        assert all((score != 0).any() == some for score in scores)


@pytest.mark.parametrize(("text", "message"), [("1x2x3", "more than the 2 numbers"), ("12345x1", "more places")])
def test_what_the_vectors_were_not_built_for_names_its_row(text, message):
    coordinates = as_tensors(found("1x2xxxx"[: len(text)], text))
    with pytest.raises(ValueError, match=f"row 1 has .*{message}"):
        built(ByPlace(), Extent(9, (4, 4))).prepare(coordinates)


@pytest.mark.parametrize("encoding", [ByPlace(), UniformByPlace(), Sum((Absolute(200), HeadGroups()))], ids=str)
def test_no_class_matrix_over_the_whole_text(encoding):
    """What is prepared grows with the tokens, not with their square; pairs of classes are of number tokens alone."""
    for words in (10, 60):
        task = TextAddition(6, most=words, least=words)
        _, (tokens, _, coordinates) = written(task, 8)
        coordinates = as_tensors(coordinates)
        vectors = encoding.build(SHAPE, extent(coordinates))
        parts, sizes = [vectors.prepare(coordinates), *vectors.buffers()], []
        while parts:
            part = parts.pop()
            if isinstance(part, torch.Tensor):
                sizes.append(part.numel())
            elif part is not None:
                parts += list(part)
        cells = 6 + 7
        assert max(sizes) == max(tokens.size if isinstance(encoding, Sum) else 8 * cells, cells**2)
        assert tokens.shape[1] == 3 * words + cells + 1


def test_groups_must_divide_the_heads():
    for groups in (((4, ByPlace()), (4, Nothing())), [(1, ByPlace()), (1, Nothing())]):
        assert HeadGroups(groups).build(SHAPE, Extent(9, (4, 4))).heads == [1, 1]
    with pytest.raises(ValueError, match="groups of 2, 1 heads do not divide the 2 heads"):
        HeadGroups(((2, ByPlace()), (1, Nothing()))).build(SHAPE, Extent(9, (4, 4)))
    with pytest.raises(ValueError, match="at least one head"):
        HeadGroups(((0, ByPlace()),))


def test_offsets_of_absolute_positions_in_training_only():
    vectors = built(Absolute(room=5), Extent(4, ()))
    assert vectors.table.shape == (9, SHAPE.width)
    position = torch.arange(4).expand(200, -1)
    prepared = vectors.prepare(conformance.Coordinates(position, position, position, position))
    torch.manual_seed(0)
    with torch.no_grad():
        shown = vectors.train().embed(prepared)
        starts = {int((vectors.table == row[0]).all(-1).nonzero()) for row in shown}
        assert starts == set(range(6))
        assert all(torch.equal(row, vectors.table[s : s + 4]) for row in shown
                   for s in [int((vectors.table == row[0]).all(-1).nonzero())])  # fmt: skip
        assert torch.equal(vectors.eval().embed(prepared)[0], vectors.table[:4])


# ---- the whole


def test_an_answer_does_not_depend_on_the_other_rows():
    task = TextAddition(6, most=8)
    torch.manual_seed(0)
    model = replace(SMALL, task=task, encoding=Sum((Absolute(3), HeadGroups()))).build()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    _, batch = written(task, 30)
    together = answer(model, batch).symbols_BS
    alone = []
    for row in batch.tokens:
        tokens = row[row != FILLER][None]
        alone.append(answer(model, Batch(tokens, tokens[:, :0], task.coordinates(tokens))).symbols_BS[0])
    assert together.shape == batch.targets.shape and torch.equal(together, torch.stack(alone))


def test_canvas_coordinates_are_worked_out_once():
    model, calls = replace(SMALL, task=Addition(6)).build(), []
    original = model.vectors.prepare
    model.vectors.prepare = lambda coordinates: (calls.append(1), original(coordinates))[1]
    for seed in range(4):
        answer(model, written(Addition(6), 3, seed=seed)[1])
    assert len(calls) == 1
    batches = [written(TextAddition(6), 4, seed=seed)[1] for seed in (1, 2)]
    assert [batch.coordinates.position.shape for batch in batches] == [batch.tokens.shape for batch in batches]


def test_rows_with_different_numbers_of_slots_are_refused():
    coordinates = as_tensors(found("1x23", "12x3"))
    coordinates = coordinates._replace(slot=torch.where(coordinates.operand == 1, coordinates.place, -1))
    model = Encoder(Architecture(layers=1, width=8, heads=2), Nothing(), Extent(9, (4, 4)), 14, 11)
    with pytest.raises(ValueError, match="equally many answer slots"):
        model(torch.zeros(2, 4), coordinates)


def test_the_suite_of_texts():
    task = TextMultiplication(2, 6)
    strata = SUITES["text"].strata(task, [4])
    assert [stratum.name for stratum in strata] == ["words 0", "words 20", "words 40", "sentences"]
    for stratum, words in zip(strata, (0, 60, 120, None), strict=True):
        operands = SUITES["text"].draw(stratum, 20, seed=0)
        tokens = stratum.task.encode(operands).tokens
        assert (dg.lengths(operands.numbers) == 4).all()
        assert words is None or ((tokens > FILLER).sum(1) == words).all()
    assert replace(strata[0].task, most=20) == task
    drawn = strata[0].draw(generator(0), 3)
    assert drawn.numbers.tolist() == task.draw(ExactLength(4), generator(0), 3).numbers.tolist()


def test_a_model_trains_on_texts_and_is_tested(tmp_path):
    """In two accumulated parts as in one: a batch with text is a function of its step too."""
    experiment = replace(SMALL, task=TextAddition(6, most=4), encoding=Sum((Absolute(), HeadGroups())))
    losses = []
    for number, accumulate in enumerate((1, 2)):
        run = Run.create(tmp_path / str(number), with_training(experiment, dropout=0.0, accumulate=accumulate))
        train(run)
        losses.append([row["loss"] for row in run.metrics() if "loss" in row])
    assert np.allclose(*losses, atol=1e-4) and losses[0][-1] < losses[0][0]
    assert Run.open(run.folder).experiment == run.experiment
    assert [count.tried for count in evaluate(run, problems=30)] == [30, 30, 30]
    with pytest.raises(ValueError, match=r"a position is beyond.*more room"):
        evaluate(run, "text", [3], problems=30)  # 40 words, and no position was ever meant for the last of them


def test_room_for_longer_texts(tmp_path):
    experiment = replace(SMALL, task=TextAddition(6, most=4), encoding=Sum((Absolute(108), HeadGroups())))
    run = Run.create(tmp_path / "run", experiment)
    train(run)
    counts = evaluate(run, "text", [3], problems=30)
    assert [count.stratum for count in counts] == ["words 0", "words 20", "words 40", "sentences"]
    assert all(count.tried == 30 for count in counts)
