"""Problems that random ones miss, as lists of number pairs: zeros, ones, equal operands, nines, powers of ten."""

Cases = dict[str, list[tuple[str, str]]]


def sums(length: int) -> Cases:
    nines, power = "9" * length, "1" + "0" * (length - 1)
    return {
        "zero": [("0", "0"), ("0", nines), (nines, "0"), (power, "0"), ("0", power)],
        "nines + 1": [(nines, "1")],
        "1 + nines": [("1", nines)],
        "all nines": [(nines, nines)],
        "equal": [(str(digit) * length,) * 2 for digit in range(1, 10)] + [(power, power)],
    }


def differences(length: int) -> Cases:
    nines, power = "9" * length, "1" + "0" * (length - 1)
    return {
        "minus 0": [(nines, "0"), (power, "0"), ("0", "0")],
        "power - 1": [(power, "1"), (power + "0", nines)],
        "equal": [(str(digit) * length,) * 2 for digit in range(1, 10)] + [(power, power)],
    }


def products(length: int, multiplier: int) -> Cases:
    """Multipliers have exactly k digits, so 0 and 1 exist for k = 1 only, and the smallest is 10^(k-1)."""
    others = [str(digit) * length for digit in range(1, 10)] + ["1" + "0" * (length - 1)]
    largest, smallest = "9" * multiplier, "1" + "0" * (multiplier - 1)
    return {
        "smallest multiplier": [(smallest, other) for other in others],
        "largest multiplier": [(largest, other) for other in others],
        "multiplicand 0": [(largest, "0"), (smallest, "0")],
        "multiplicand 1": [(largest, "1"), (smallest, "1")],
        **({"multiplier 0": [("0", other) for other in [*others, "0"]]} if multiplier == 1 else {}),
    }
