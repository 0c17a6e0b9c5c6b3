"""Folders of one filesystem between which it does not move files: they have
different project ids (project quotas)."""

import time

import lib
from act import pairs
from lib import Figure


def projects(context):
    """Copies in a project of their own, below a folder of another project."""
    requirement = "all to a trash folder further down, undone in full, nothing lost"
    if reason := lib.lacking("mkfs.xfs", "xfs_io", mounts=True):
        yield Figure.skipped("act-projects: the topmost trash folder cannot be used", requirement, reason)
        return
    wrong = []
    for action in ("trash", "delete"):
        with context.workspace("act-projects") as folder:
            if why := once(folder, context.random(f"act-projects/{action}"), action):
                wrong.append(f"{action}: {why}")
                context.note(wrong[-1])
    yield Figure.of(
        "act-projects: the topmost trash folder cannot be used",
        f"{2 - len(wrong)} of 2 actions in a trash folder further down",
        requirement,
        not wrong,
    )


def once(folder, rng, action):
    _, point = lib.image(folder, "disk", "xfs", 320)
    try:
        tree = point / "tree"
        tree.mkdir()
        project(tree, 1)
        for name, number in (("a", 2), ("b", 3)):
            (tree / name).mkdir()
            project(tree / name, number)
        contents = pairs.make(tree, rng, 5)
        time.sleep(3.1)
        db = folder / "c.db"
        lib.expect(lib.run(db, "scan", tree), 0)
        lib.expect(lib.run(db, "plan", "--keep", f"under:{tree / 'b'}", "--action", action), 0)
        applied = lib.run(db, "apply", 1, "--yes", "--no-undo")
        if applied.code != 0 or "5 files" not in applied.out:
            return f"{applied.brief()} {applied.out}"
        if not set(contents) <= set(pairs.files(tree).values()):
            return "contents lost"
        if action == "trash":
            undone = lib.run(db, "undo")
            if undone.code != 0 or len([path for path in pairs.files(tree) if path.parent.name == "a"]) != 5:
                return f"{undone.brief()} {undone.out}"
        return None
    finally:
        lib.umount(point)


def project(folder, number):
    lib.quiet(["xfs_io", "-c", f"chproj {number}", "-c", "chattr +P", str(folder)])
