"""Fields of experiments as options of a command: all that the command itself does not have."""

from collections.abc import Sequence

COMMON = {"--profile": True, "--arm": True, "--out": True, "--import": True, "--track": True}
COMMON |= {"--json": False, "--csv": False, "--help": False}
#: Options of a command itself, with whether each takes a value; all others are fields of the experiment.
OWN = {
    "train": COMMON | {"--resume": True, "--until-proven": False, "--show": False},
    "sweep": COMMON | {"--seeds": True, "--on": True, "--cpus": True, "--gpus": True, "--dry-run": False},
}


def split_changes(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command line without the fields that a command is to change, and these: `--field value` or `--field=value`,
    before or after the recipe."""
    words = list(arguments)
    own = OWN.get(words[0] if words else "")
    if own is None:
        return words, {}
    kept: list[str] = []
    changes: dict[str, str] = {}
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        takes = own.get(name, True)
        if not name.startswith("--") or (name in own and (equals or not takes)):
            kept.append(word)
            continue
        if not equals:
            if not words or words[0].startswith("--"):
                raise ValueError(f"{name} needs a value")
            value = words.pop(0)
        if name in own:
            kept += [name, value]
        else:
            changes[name[2:]] = value
    return kept, changes
