"""`make proof`: Coq proves of right tables that they calculate, and not of damaged ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DIGITS = [*map(str, range(10)), "_"]

pytestmark = [
    pytest.mark.skipif(not (ROOT / "proof").exists(), reason="only in the repository"),
    pytest.mark.skipif(not (shutil.which("coqc") and shutil.which("make")), reason="coqc is missing: apt install coq"),
]


def count(symbol: str) -> int:
    return 0 if symbol == "_" else int(symbol)


def heard(code: int) -> int:
    return max(code, 0)


# Tables by hand, of cells whose codes are carries, digits and so on: smaller than those of networks, and as right.


def sum_table():
    for x in DIGITS:
        for y in DIGITS:
            for carry in (-1, 0, 1):
                total = count(x) + count(y) + heard(carry)
                symbol = "_" if x == y == "_" and not total else str(total % 10)
                yield ["+", x + y, carry, -1, symbol, total // 10, -1]


def sums_table():
    for x in DIGITS:
        for so_far in range(-1, 11):
            for carry in (-1, 0, 1):
                over = so_far in (-1, 10)
                total = count(x) + (0 if over else so_far) + heard(carry)
                empty = x == "_" and over and not total
                yield [
                    "+",
                    x,
                    carry,
                    so_far,
                    "_" if empty else str(total % 10),
                    total // 10,
                    10 if empty else total % 10,
                ]


def product_table():
    for m in range(10):
        for x in DIGITS:
            for carry in range(-1, m + 1):
                for so_far in range(-1, 10):
                    total = m * count(x) + heard(so_far) + heard(carry)
                    yield ["*", f"{m}{x}", carry, so_far, str(total % 10), total // 10, total % 10]


def division_table():
    for m in range(1, 10):
        for rest in range(-1, m):
            for x in DIGITS:
                total = 10 * heard(rest) + count(x)
                yield ["/", f"{m}{x}", rest, -1, "_" if x == "_" else str(total // m), total % m, -1]
            yield ["r", f"{m}_", rest, -1, str(heard(rest)), 0, -1]


def difference_table():
    """Codes of the first row: how the lower parts compare (0 equal, 1 less, 2 more), which it also writes where both
    numbers are over; to the second row it says 3 more at the lowest place. Codes of the second row: 1 for a < b, and 2
    more if there were zeros only."""
    for x in DIGITS:
        for y in DIGITS:
            for low in range(-1, 3):
                after = 2 if count(x) > count(y) else 1 if count(x) < count(y) else heard(low)
                symbol = "=<>"[heard(low)] if x == y == "_" else "_"
                yield ["=", x + y, low, -1, symbol, after, 3 if low == -1 else low]
            for across in range(4):
                low = across % 3
                for code in range(-1 if x == y == "_" else 0, 4):
                    less, zeros = (low == 1, True) if code == -1 else (code & 1, code & 2)
                    digit = (count(y) - count(x) - (low == 2) if less else count(x) - count(y) - (low == 1)) % 10
                    symbol = "_" if zeros and not digit and across < 3 else str(digit)
                    if code == -1:
                        symbol = "-" if less else "_"
                    yield ["-", x + y, code, across, symbol, bool(less) + 2 * bool(zeros and not digit), -1]


TABLES = {
    "sum": sum_table, "sums": sums_table, "product": product_table, "division": division_table,
    "difference": difference_table,
}  # fmt: skip


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """One folder, so that what holds for all tables is proven once."""
    return tmp_path_factory.mktemp("proof")


def prove(build: Path, claim: str, table: list) -> subprocess.CompletedProcess:
    certificate = build / f"{claim}.json"
    weights = "0" * 64
    certificate.write_text(
        json.dumps({"format": 1, "claim": claim, "weights": weights, "bits": [5, 5], "table": table})
    )
    command = [
        "make",
        "--no-print-directory",
        "proof",
        f"CERTIFICATES={certificate}",
        f"PROOF={build}",
        f"PYTHON={sys.executable}",
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("claim", ["sum", "sums", pytest.param("product", marks=pytest.mark.slow), "division"])
def test_right_tables(build, claim):
    done = prove(build, claim, list(TABLES[claim]()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"proven: {claim}: ")


@pytest.mark.slow
def test_rows_of_products_may_say_carries_in_codes_of_their_own(build):
    def coded(code, m):
        return code if code < 0 else (code + m) % 10

    table = [
        [own, seen, coded(along, int(seen[0])), across, symbol, coded(said, int(seen[0])), told]
        for own, seen, along, across, symbol, said, told in product_table()
    ]
    done = prove(build, "product", table)
    assert done.returncode == 0, done.stdout + done.stderr


def test_differences_and_comparisons(build):
    table = list(difference_table())
    unread = next(line for line in table if line[:4] == ["=", "70", 0, -1])
    unread[4] = ">"  # the top place has no digits
    done = prove(build, "difference", table)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "subtracts" in done.stdout and "compares" in done.stdout


@pytest.mark.parametrize("part", ["comparison", "sign", "second row"])
def test_differences_and_comparisons_must_both_be_right(build, part):
    table = list(difference_table())
    if part == "second row":
        table = [line for line in table if line[0] == "="]
    else:
        situation = ["=", "__", 1, -1] if part == "comparison" else ["-", "__", -1, 1]
        wrong = next(line for line in table if line[:4] == situation)
        wrong[4] = ">" if part == "comparison" else "_"
    done = prove(build, "difference", table)
    assert done.returncode != 0
    assert "NOT proven" in done.stdout and "proven: " not in done.stdout.replace("NOT proven", "")


@pytest.mark.parametrize("claim", ["sum", "sums", "division"])
@pytest.mark.parametrize("part", ["symbol", "code", "line"])
def test_damaged_tables(build, claim, part):
    table = list(TABLES[claim]())
    across = 5 if claim == "sums" else -1
    number = next(i for i, line in enumerate(table) if line[1].endswith("7") and line[2:4] == [0, across])
    if part == "symbol":
        table[number][4] = "3" if table[number][4] != "3" else "4"
    elif part == "code":
        table[number][5] = 1 - min(table[number][5], 1)
    else:
        del table[number]
    done = prove(build, claim, table)
    assert done.returncode != 0
    assert "NOT proven" in done.stdout and "proven: " not in done.stdout.replace("NOT proven", "")


REFUSED = {
    "short": ["+", "00", -1, -1, "0", 0],
    "symbol": ["?", "00", -1, -1, "0", 0, -1],
    "text": ["+", '0"', -1, -1, "0", 0, -1],
    "fraction": ["+", "00", -1, -1, "0", 0.5, -1],
    "twice": ["+", "00", -1, -1, "1", 0, -1],
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_certificates_of_other_forms_are_refused(build, line):
    done = prove(build, "sum", [*sum_table(), line])
    assert done.returncode != 0
    assert "sum.json: " in done.stderr and "proven" not in done.stdout


def test_nothing_to_prove(build):
    done = subprocess.run(
        ["make", "--no-print-directory", "proof", "CERTIFICATES=", f"PROOF={build}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "no certificates" in done.stderr
