"""Certificates -> Coq files: the table of each, and the theorem about it. Plain Python, nothing to install.

    python3 proof/tables.py FOLDER CERTIFICATE...

writes FOLDER/Model_<name>.v for each certificate, and FOLDER/models, a line for each: the module, and in words what its
theorem says. Nothing here is trusted with the proof: the theorems stand in the written files, and Coq checks them.
"""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

FORMAT = 1
SYMBOLS = set("0123456789_+*-/r<=>")
SEEN = {"sum": 2, "sums": 1, "product": 2, "division": 2, "difference": 2}
"""How many symbols a cell sees."""


class Theorem(NamedTuple):
    name: str
    lemma: str  # of the library, which gives it
    words: str
    statement: str


MODULES = {"sum": "Sum", "sums": "Sums", "product": "Product", "division": "Division", "difference": "Difference"}
THEOREMS = {
    "sum": [Theorem(
        "adds", "sum_right", "a + b for all numbers a and b",
        """forall (a b : N) (P : nat),
  run_sum model (word P a) (word P b) = Some (word P (a + b))""",
    )],
    "sums": [Theorem(
        "adds_many", "sums_right", "the sum of any two or more numbers",
        """forall (xs : list N) (P : nat), (2 <= length xs)%nat ->
  run_sums model P (map (word P) xs) = Some (word P (total xs))""",
    )],
    "product": [Theorem(
        "multiplies", "product_right", "m * x for all numbers m and x",
        """forall (m x : N) (k P : nat), (0 < k)%nat -> m < 10 ^ N.of_nat k ->
  run_product model (rev (zeros k m)) (word P x) = Some (zeros P (m * x))""",
    )],
    "division": [Theorem(
        "divides", "division_right", "n / m and its remainder for all numbers n and m = 1 to 9",
        """forall (m n : N) (p : nat), 1 <= m <= 9 -> (0 < p)%nat -> n < 10 ^ N.of_nat p ->
  run_division model (digit m) (word (S p) n)
    = Some (digit (n mod m) :: over (word (S p) n) (zeros (S p) (n / m)))""",
    )],
    "difference": [Theorem(
        "subtracts", "difference_right", "a - b for all numbers a and b",
        """forall (a b : N) (p : nat), (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
  run_difference model (word (S p) a) (word (S p) b)
    = Some (word p (distance a b) ++ [if a <? b then "-"%char else pad])""",
    ), Theorem(
        "compares", "comparison_right", "a ? b for all numbers a and b",
        """forall (a b : N) (p : nat), (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
  run_comparison model (word (S p) a) (word (S p) b)
    = Some (match a ?= b with Lt => "<"%char | Eq => "="%char | Gt => ">"%char end)""",
    )],
}  # fmt: skip
"""For each claim what is proven of its tables."""


class BadCertificate(ValueError):
    pass


def need(fine: bool, what: str) -> None:
    if not fine:
        raise BadCertificate(what)


def is_code(value: object) -> bool:
    return type(value) is int and value >= -1


def is_symbol(value: object) -> bool:
    return isinstance(value, str) and value in SYMBOLS


def checked(certificate: object) -> dict:
    """The certificate, if each part of it is of the right form: so nothing but a table gets into the Coq file."""
    need(isinstance(certificate, dict), "not an object")
    need(certificate.get("format") == FORMAT, f"its format is not {FORMAT}")
    claim = certificate.get("claim")
    need(isinstance(claim, str) and claim in THEOREMS, f"no theorem for the claim {claim!r}")
    weights = certificate.get("weights")
    need(isinstance(weights, str) and re.fullmatch("[0-9a-f]{64}", weights) is not None, "weights is not a SHA-256")
    lines = certificate.get("table")
    need(isinstance(lines, list) and bool(lines), "no table")
    met = set()
    for line in lines:
        need(isinstance(line, list) and len(line) == 7, f"a line of the table has not 7 parts: {line}")
        own, seen, along, across, symbol, along_said, across_said = line
        need(is_symbol(own) and is_symbol(symbol), f"no symbol in {line}")
        need(isinstance(seen, str) and len(seen) == SEEN[claim] and set(seen) <= SYMBOLS, f"not what is seen: {line}")
        need(all(map(is_code, (along, across, along_said, across_said))), f"not a code in {line}")
        need((own, seen, along, across) not in met, f"a situation stands twice in the table: {line}")
        met.add((own, seen, along, across))
    return certificate


def coq(name: str, certificate: dict) -> str:
    def codes(*values: int) -> str:
        return " ".join(f"({value})" if value < 0 else str(value) for value in values)

    table = ";\n  ".join(
        f'line "{own}" "{seen}" {codes(along, across)} "{symbol}" {codes(along_said, across_said)}'
        for own, seen, along, across, symbol, along_said, across_said in certificate["table"]
    )
    module = MODULES[certificate["claim"]]
    proofs = "\n".join(
        f"""
Theorem {theorem.name} : {theorem.statement}.
Proof. exact ({theorem.lemma} model nothing_wrong). Qed.
Print Assumptions {theorem.name}.
"""
        for theorem in THEOREMS[certificate["claim"]]
    )
    return f"""(** Written by proof/tables.py from the certificate of {name}, of the weights with this SHA-256:
    {certificate["weights"]} *)

From Digitwise Require Import {module}.

(** Own symbol, what is seen, the codes heard along the row and from the row before (-1: none); the symbol written, the
    codes said along the row and to the next row. *)
Definition model : table := [
  {table}
].

Lemma nothing_wrong : {module}.wrong model = [].
Proof. vm_compute. reflexivity. Qed.
{proofs}"""


def main(arguments: list[str]) -> int:
    folder, *paths = arguments
    if not paths:
        print("no certificates: nothing to prove", file=sys.stderr)
        return 1
    models = []
    for path in map(Path, paths):
        name = re.sub("[^A-Za-z0-9]", "_", path.parent.name if path.stem == "certificate" else path.stem)
        module = f"Model_{name}"
        try:
            certificate = checked(json.loads(path.read_text()))
            need(all(module != other for other, _ in models), f"there are two models of the name {name}")
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        Path(folder, f"{module}.v").write_text(coq(name, certificate))
        says = "; ".join(f"{theorem.name}: {theorem.words}" for theorem in THEOREMS[certificate["claim"]])
        models.append((module, f"{name}: {says} ({len(certificate['table'])} situations)"))
    Path(folder, "models").write_text("".join(f"{module} {line}\n" for module, line in models))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
