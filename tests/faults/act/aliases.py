"""Two names that lead to one file: hard links, bind mounts, overlays, and FUSE
filesystems that pass everything through."""

import os
import random
import subprocess
import time

import lib
from act import pairs
from act.stops import in_processes
from lib import Figure


def aliases(context):
    """Hard link, bind mount, overlay and bindfs in place of a copy."""
    requirement = "4 of 4 safe, nothing copied up"
    if reason := lib.lacking("bindfs", mounts=True):
        yield Figure.skipped("act-aliases: one file under two names", requirement, reason)
        return
    rng = context.random("act-aliases")
    ways = [hard_link, bind, overlay, bindfs]
    with context.workspace("act-aliases") as folder:
        work = [
            (folder / f"{make.__name__}-{when[:5]}-{action.name}", make, when, action, rng.randbytes(8))
            for make in ways for when in ("before the scan", "after the plan") for action in pairs.ACTIONS[:2]
        ]
        ends = in_processes(alias_once, work, 16)
    wrong = {(make, f"{make.__name__} {when}, {action.name}: {why}") for (_, make, when, action, _), (why, _) in zip(work, ends) if why}
    for _, why in wrong:
        context.note(why)
    copied_up = sum(more for _, more in ends)
    safe = len(set(ways) - {make for make, _ in wrong})
    yield Figure.of(
        "act-aliases: one file under two names",
        f"{safe} of 4 safe in {len(work)} runs, {copied_up} files copied up",
        requirement,
        safe == 4 and copied_up == 0,
    )


def alias_once(folder, make, when, action, seed):
    """The copies that stay are, from the start or from the plan on, another view
    of those that go."""
    tree, db = folder / "tree", folder / "c.db"
    contents = pairs.make(tree, random.Random(seed), 3)
    upper = folder / "upper"
    undo = None
    try:
        if when == "before the scan":
            undo = make(folder, tree)
        time.sleep(3.1)
        kind = "delete" if action.name == "delete" else "trash"
        lib.expect(lib.run(db, "scan", tree), 0, 1)
        planned = lib.run(db, "plan", "--keep", f"under:{tree / 'b'}", "--action", kind)
        if when == "after the plan":
            undo = make(folder, tree)
        if planned.code == 0 and lib.query(db, "SELECT count(*) FROM plans")[0][0]:
            applied = lib.run(db, *action.line)
            if applied.code < 0 or applied.panicked:
                return applied.brief(), 0
        there = pairs.files(tree)
        copied_up = sum(len(names) for _, _, names in os.walk(upper))
    finally:
        if undo:
            undo()
    below = {path for path in pairs.files(tree) if path.parent.name == "a"}
    if lost := contents - set(pairs.files(tree).values()):
        return f"{len(lost)} contents lost", copied_up
    if len(there) != 6 or len(below) != 3:
        return f"{6 - len(there)} names are gone", copied_up
    return None, copied_up


def hard_link(folder, tree):
    for path in (tree / "b").iterdir():
        path.unlink()
        os.link(tree / "a" / path.name, path)


def bind(folder, tree):
    return mounted(tree, ["mount", "--bind", tree / "a", tree / "b"])


def overlay(folder, tree):
    for name in ("upper", "work"):
        (folder / name).mkdir()
    layers = f"lowerdir={tree / 'a'},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    return mounted(tree, ["mount", "-t", "overlay", "-o", layers, "overlay", tree / "b"])


def bindfs(folder, tree):
    return mounted(tree, ["bindfs", "-o", "nonempty", tree / "a", tree / "b"])


def mounted(tree, line):
    lib.quiet([str(word) for word in line])

    def undo():
        for _ in range(50):
            if subprocess.run(["umount", tree / "b"], stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{tree / 'b'} stays mounted")

    return undo
