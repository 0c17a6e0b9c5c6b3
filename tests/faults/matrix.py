"""Whether the tests exist that docs/RELIABILITY.md names.

A name in the last column of its tables is a test of `cargo test`, as
`module::test` of tests/integration or as a path in src; `step NAME` is a step of
this script.
"""

import re

import lib
from lib import Figure

PROJECT = lib.HERE.parent.parent
TABLES = ("The fault matrix, row by row", "Wrong answers, attack by attack")


def check(context):
    """Every row of the tables of tests has a test, and each of them exists."""
    from main import STEPS

    text = (PROJECT / "docs/RELIABILITY.md").read_text()
    for heading in TABLES:
        rows = list(table(text, heading))
        names = [name for row in rows for name in row]
        lost = [name for name in names if not exists(name, STEPS)]
        for name in lost:
            context.note(f"{heading}: {name}: there is no such test")
        yield Figure.of(
            f"matrix: {heading.lower()}",
            f"{len(rows)} rows with {len(names)} tests or steps, of which {len(lost)} do not exist",
            "each with the name of its test",
            len(rows) > 0 and all(rows) and not lost,
        )


def table(text, heading):
    """The names of tests in each row of the table below a heading."""
    section = re.split(r"^## ", text.split(f"\n## {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    for line in lines[1:]:
        yield re.findall(r"`([^`]+)`", line.rstrip(" |").rsplit(" | ", 1)[1])


def exists(name, steps):
    if name.startswith("step "):
        return name[5:] in steps
    *modules, test = name.split("::")
    pattern = re.compile(rf"#\[test\][^}}]*?fn {test}\(", re.S)
    inside = "/".join(part for part in modules if part != "tests")
    src = PROJECT / "src"
    places = [PROJECT / "tests/integration" / f"{inside}.rs", src / f"{inside}.rs", src / inside / "mod.rs", src / inside / "tests.rs"]
    return any(pattern.search(place.read_text()) for place in places if place.exists())
