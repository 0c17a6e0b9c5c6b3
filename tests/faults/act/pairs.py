"""Trees of pairs to act on, and what must hold of them whatever happens: `b`
stays, `a` goes, and no content is ever lost."""

import os
from dataclasses import dataclass
from pathlib import Path

import lib

OPEN = ("moving", "restoring", "deleting")


@dataclass
class Action:
    """A command that acts on pairs, and what comes before it."""

    name: str
    before: tuple
    line: tuple

    @property
    def deletes(self):
        return self.name in ("delete", "empty-trash")

    def prepare(self, db, tree):
        """Scans, plans, and does what comes before."""
        lib.expect(lib.run(db, "scan", tree), 0)
        kind = "delete" if self.name == "delete" else "trash"
        lib.expect(lib.run(db, "plan", "--keep", f"under:{tree / 'b'}", "--action", kind), 0)
        for line in self.before:
            lib.expect(lib.run(db, *line), 0)

    def command(self, db, tree):
        line = [str(trash(tree)) if word == "TRASH" else word for word in self.line]
        return lib.command(db, *line)


APPLY = ("apply", "1", "--yes")
ACTIONS = [
    Action("trash", (), APPLY),
    Action("delete", (), (*APPLY, "--no-undo")),
    Action("undo", (APPLY,), ("undo",)),
    Action("undo without the catalog", (APPLY,), ("undo", "--trash", "TRASH")),
    Action("empty-trash", (APPLY,), ("empty-trash", "--yes")),
]


def make(tree, rng, pairs=2, length=5_000):
    """Pairs `a/N` and `b/N`; returns all contents."""
    contents = set()
    for number in range(pairs):
        content = rng.randbytes(length + number)
        contents.add(content)
        for side in "ab":
            lib.write(tree / side / str(number), content)
    return contents


def trash(tree, owner=None):
    """The trash folder of the first run."""
    return tree / f".dupescan-trash-{os.geteuid() if owner is None else owner}" / "1"


def files(tree):
    """All files below a folder, the trash included, with their contents."""
    return {
        Path(folder) / name: (Path(folder) / name).read_bytes()
        for folder, _, names in os.walk(tree) for name in names if name != "manifest.jsonl"
    }


def lost(tree, contents):
    """Contents that no file has any more."""
    return contents - set(files(tree).values())


def journal(db):
    """The entries of the journal: number, path, trash folder, state, kind."""
    rows = lib.query(db, "SELECT actions.id, path, trash, state, runs.action FROM actions JOIN runs ON runs.id = run ORDER BY actions.id")
    return [(number, Path(os.fsdecode(path)), Path(os.fsdecode(folder)), state, kind) for number, path, folder, state, kind in rows]


def missing(db, names):
    """Names that are neither there nor accounted for: in the trash and the
    journal, or deleted on purpose and in the journal."""
    accounted = set()
    for number, path, folder, state, kind in journal(db):
        if (folder / str(number)).exists() or state in ("deleted", "deleting") or (kind, state) == ("delete", "moving"):
            accounted.add(path)
    return [name for name in names if not name.exists() and name not in accounted]


def untrue(action, db):
    """Entries of the journal that say something else than the disk does; undoing
    without the catalog does not tell it."""
    return [] if action.name == "undo without the catalog" else [
        (number, state) for number, path, folder, state, _ in journal(db)
        if (state == "trashed") != (folder / str(number)).exists() or (state == "deleted" and path.exists())
    ]


def picture(db, tree):
    """All there is, to compare with what there is later."""
    return files(tree), [(number, state) for number, _, _, state, _ in journal(db)]


def still_open(db):
    return sum(state in OPEN for _, _, _, state, _ in journal(db))


def recover(db):
    """The next command that acts finds out what happened; this one, with nothing
    as old as that, does no more."""
    return lib.run(db, "empty-trash", "--older-than", "9000d", "--yes")


def wrong_after(action, db, tree, contents, repeats=True):
    """What is wrong after an action was stopped somewhere; the commands that
    follow settle everything, and doing so twice changes nothing. Unless files have
    changed, the action can also be repeated."""
    names = [tree / side / str(number) for side in "ab" for number in range(len(contents))]
    if gone := missing(db, names):
        return f"neither there nor in the journal: {gone}"
    if lost(tree, contents):
        return "a content is lost"
    first = recover(db)
    seen = picture(db, tree)
    second = recover(db)
    if first.panicked or seen != picture(db, tree) or first.code != second.code:
        return f"recovery run twice is not the same: {first.brief()} {second.brief()}"
    if still_open(db) or missing(db, names) or lost(tree, contents):
        return f"{still_open(db)} entries open, {missing(db, names)} missing after recovery"
    if repeats and (action.deletes or action.name == "trash"):
        again = lib.run(db, *action.line)
        # What was to be deleted and got as far as the trash is named, and left there.
        is_done = again.code == 0 or (action.deletes and again.code == 1 and "left in the trash" in again.out)
        if not is_done or lost(tree, contents):
            return f"doing the rest: {again.brief()}{again.out[-300:]}"
    if not action.deletes:
        for (run,) in lib.query(db, "SELECT id FROM runs"):
            lib.run(db, "undo", run)
        if {name for name in names if name.exists()} != set(names):
            return "undo does not bring everything back"
    if lib.run(db, "verify").code != 0:
        return "the catalog is not sound"
    return None
