"""Every case: machines that are right pass, and each kind of damage is found, with a problem that shows it."""

import numpy as np
import pytest
from machines import exact

from digitwise.machines import CLAIMS
from digitwise.machines.certificate import check, read, write
from digitwise.machines.rows import WALKS, expose
from digitwise.machines.table import NOTHING, Situation, Told
from digitwise.tasks.symbols import EQUAL, MINUS, PAD, PLUS, TIMES


def damaged(claim, situation, told):
    """The exact machine, except in one situation."""
    machine = exact.table(claim)

    def tell(asked):
        return [told if one == situation else found for one, found in zip(asked, machine.tell(asked), strict=True)]

    return CLAIMS[claim](tell)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_right_machine_is_right_in_every_case(claim):
    walk = CLAIMS[claim](exact.table(claim).tell)
    assert walk.used and not walk.wrong and not walk.problems
    assert all(
        len(meanings) == 1 for name, codes in walk.meanings.items() if name != "down" for meanings in codes.values()
    )


def test_walks_meet_what_can_occur_and_nothing_else():
    sums = CLAIMS["sum"](exact.table("sum").tell).used
    assert Situation(PLUS, (PAD, PAD), 1) in sums  # the carry out of the highest digits
    assert Situation(PLUS, (PAD, 3)) not in sums  # no number begins with a pad
    # A sum of two can make a carry of 1 at most; a row of the digit 1 never carries 9 in a product.
    products = CLAIMS["product"](exact.table("product").tell).used
    assert Situation(TIMES, (9, 9), 8, 9) in products and Situation(TIMES, (1, 9), 8, 9) not in products
    assert {s.along for s in products if s.digits[0] == 1} == {-1, 0, 1}
    assert {s.across for s in products if s.along == -1} == {-1}  # the lowest place hears no other row


@pytest.mark.parametrize(
    ("claim", "situation", "told", "problem"),
    [
        ("sum", Situation(PLUS, (4, 5), 1), Told(9, 0), None),
        ("sum", Situation(PLUS, (9, 9)), Told(8, 0), "9 + 9"),
        ("difference", Situation(EQUAL, (PAD, PAD), 2), Told(EQUAL, 2, 2), None),
        ("difference", Situation(MINUS, (PAD, PAD), -1, 2), Told(PAD, 3), None),
        ("division", Situation(14, (7, 3), 6), Told(8, 0), None),
    ],
)
def test_one_wrong_case_is_found_with_a_shortest_problem(claim, situation, told, problem):
    walk = damaged(claim, situation, told)
    shortest = min(walk.problems, key=len)
    assert len(shortest) <= 11 and problem in (None, shortest)


@pytest.mark.parametrize(
    ("claim", "situation", "told"),
    [
        ("product", Situation(TIMES, (9, 9), 8, 9), Told(7, 9, 8)),
        ("product", Situation(TIMES, (3, 7), 1, 4), Told(6, 1, 6)),
        ("sums", Situation(PLUS, (5,), 1, 4), Told(9, 1, 9)),
    ],
)
def test_a_wrong_case_of_rows_is_exposed_by_a_problem(claim, situation, told):
    walk = damaged(claim, situation, told)
    assert list(walk.wrong) == [situation]
    table = exact.table(claim)
    found = expose(table, claim, [situation], np.random.default_rng(0))
    assert found, "no problem in which the case occurs"
    assert all(len(number) <= 5 for text in found for number in text.split())


def own_codes(machine, m_of=lambda situation: situation.digits[0]):
    """The exact machine of products, except that each row says its carries in codes of its own."""

    def tell(asked):
        codes = [m_of(situation) for situation in asked]
        heard = [
            one if one.along == NOTHING else one._replace(along=(one.along - code) % 10)
            for one, code in zip(asked, codes, strict=True)
        ]
        told = machine.tell(heard)
        return [one._replace(along=(one.along + code) % 10) for one, code in zip(told, codes, strict=True)]

    return tell


def test_carries_of_different_rows_may_have_different_codes():
    walk = CLAIMS["product"](own_codes(exact.table("product")))
    assert walk.used and not walk.wrong
    assert walk.meanings["carry in rows of 5"][5] == {"0"} and walk.meanings["carry in rows of 4"][5] == {"1"}
    mixed = CLAIMS["product"](own_codes(exact.table("product"), lambda situation: situation.digits[1] % 10))
    assert mixed.wrong  # within a row they may not


def test_what_is_said_above_the_multiplicand_is_heard_above_it_only():
    """A second code for the digit 0, which whoever sees a digit of the multiplicand takes for a 1."""
    machine = exact.table("product")

    def says(where):
        def tell(asked):
            told = machine.tell(
                [one._replace(across=int(one.digits[1] != PAD)) if one.across == 15 else one for one in asked]
            )
            is_second = [t.across == 0 and where(one) for one, t in zip(asked, told, strict=True)]
            return [t._replace(across=15) if second else t for t, second in zip(told, is_second, strict=True)]

        return CLAIMS["product"](tell)

    above = says(lambda situation: situation.digits[1] == PAD)
    assert not above.wrong
    heard = [situation for situation in above.used if situation.across == 15]
    assert {situation.digits[1] for situation in heard} == {PAD}
    assert {situation.along for situation in heard} == {0, 1}  # no product is added there, so larger carries are over
    assert says(lambda situation: situation.digits == (9, 0)).wrong


def test_strays_are_wrong_where_they_are_said_unless_they_are_followed():
    """One cell says 15 for the digit 5, and whoever hears 15 takes it for a 5."""
    machine, case = exact.table("product"), Situation(TIMES, (3, 7), 1, 3)

    def tell(asked):
        heard = [one._replace(across=5) if one.across == 15 else one for one in asked]
        told = machine.tell(heard)
        return [t._replace(across=15) if one == case else t for one, t in zip(asked, told, strict=True)]

    followed = CLAIMS["product"](tell)
    assert not followed.wrong and len(followed.used) > len(CLAIMS["product"](machine.tell).used)
    often = range(10)
    assert list(WALKS["product"](tell, often).wrong) == [case]
    assert not WALKS["product"](machine.tell, often).wrong


def test_many_wrong_cases_are_exposed_together():
    """Each with a few problems, however many there are: products in which a row of nines is wrong everywhere."""
    table, rng = exact.table("product"), np.random.default_rng(0)
    wrong = [s for s in CLAIMS["product"](table.tell).used if s.digits[0] == 9]
    found = expose(table, "product", wrong, rng)
    assert len(wrong) > 500 and len(found) > 200
    assert all("9" in text.split()[0] for text in found)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_certificate_is_checked_from_its_file_alone(claim, tmp_path):
    made = exact.certificate(claim)
    write(made, tmp_path / "certificate.json")
    found = read(tmp_path / "certificate.json")
    assert found == made and len(check(found).used) == len(made.table)


@pytest.mark.parametrize("claim", CLAIMS)
def test_damaged_and_incomplete_certificates_are_refused(claim):
    made, rng = exact.certificate(claim), np.random.default_rng(1)
    situations = list(made.table)
    for index in rng.permutation(len(situations))[:12]:
        situation = situations[index]
        without = {s: t for s, t in made.table.items() if s != situation}
        with pytest.raises(ValueError, match="incomplete"):
            check(made._replace(table=without))
        told = made.table[situation]
        flags = CLAIMS[claim](exact.table(claim).tell).used[situation]
        if flags & 1:  # a symbol that is read
            with pytest.raises(ValueError, match="wrong in"):
                check(made._replace(table=made.table | {situation: told._replace(symbol=(told.symbol + 1) % 11)}))
    extra = made.table | {situations[0]._replace(along=2 ** made.bits[0] - 1, across=-1): Told(0)}
    if len(extra) > len(made.table):
        with pytest.raises(ValueError, match="cannot occur"):
            check(made._replace(table=extra))


def test_a_message_with_the_wrong_meaning_is_refused():
    made = exact.certificate("sum")
    for situation, told in list(made.table.items())[::37]:
        turned = made.table | {situation: told._replace(along=1 - told.along)}
        with pytest.raises(ValueError, match=r"wrong in|incomplete"):
            check(made._replace(table=turned))


def test_files_that_are_no_certificates_are_refused(tmp_path):
    path = tmp_path / "certificate.json"
    write(exact.certificate("sum"), path)
    text = path.read_text()
    for old, new, reason in (
        ('"format": 1', '"format": 9', "format"),
        ('"claim": "sum"', '"claim": "sun"', "claims"),
        ('["+","00",-1,-1,"0",0,-1]', '["+","00",-1,-1,"0",7,-1]', "bits cannot say"),
        ('["+","00",-1,-1,"0",0,-1]', '["+","0<",-1,-1,"0",0,-1]', "neither a digit"),
        ('["+","01"', '["+","00"', "two entries"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=reason):
            read(path)
