"""Whose files may be acted on: one's own, also on a machine with one partition;
not those of others; and root keeps no copy of somebody less trusted."""

import os

import lib
from act import pairs
from disks import reach
from lib import Figure

NOBODY, SOMEBODY = 65534, 1234
AS_NOBODY = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")


def users(context):
    """An ordinary user, another one's home, and root among both."""
    if reason := lib.lacking("setpriv", "mkfs.ext4", mounts=True) or (os.geteuid() and "needs root to become somebody else"):
        for name in ("an ordinary user on a machine with one partition", "a home folder of another user", "root"):
            yield Figure.skipped(f"act-users: {name}", "works, or refused with the reason", reason)
        return
    with context.workspace("act-users") as folder:
        reach(folder)
        _, disk = lib.image(folder, "disk", "ext4", 64)
        yield one_partition(context, folder, disk)
        yield another_home(context, folder, disk)
        lib.umount(disk)
    yield root(context)


def homes(disk, rng):
    """A disk of root with homes: nobody's own, and somebody's."""
    contents = {}
    for name, owner in (("nobody", NOBODY), ("somebody", SOMEBODY)):
        home = disk / "home" / name
        contents[name] = pairs.make(home, rng)
        give(home, owner)
    return contents


def give(top, owner):
    for above, _, names in os.walk(top):
        for path in (above, *(os.path.join(above, name) for name in names)):
            os.chown(path, owner, owner)


def one_partition(context, folder, disk):
    """What is scanned is the whole disk, whose top folder is root's."""
    name, requirement = "act-users: an ordinary user on a machine with one partition", "works, and comes back"
    contents = homes(disk, context.random(name))["nobody"]
    home, data = disk / "home" / "nobody", folder / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    exits, moved = [], []
    for number, action in enumerate(pairs.ACTIONS):
        db = data / f"{number}.db"
        kind = "delete" if action.name == "delete" else "trash"
        for path in (home / "b").iterdir():
            (home / "a" / path.name).write_bytes(path.read_bytes())
            os.chown(home / "a" / path.name, NOBODY, NOBODY)
        lib.expect(lib.run(db, "scan", disk, prefix=AS_NOBODY), 0, 1)  # lost+found is closed
        lib.expect(lib.run(db, "plan", home, "--keep", f"under:{home / 'b'}", "--action", kind, prefix=AS_NOBODY), 0)
        for line in (*action.before, action.line):
            trash = str(pairs.trash(home, owner=NOBODY))
            done = lib.run(db, *(trash if word == "TRASH" else word for word in line), prefix=AS_NOBODY)
            exits.append(done.code)
            if done.code != 0:
                context.note(f"{action.name}: {done.brief()} {done.out}")
        moved.append(len(list((home / "a").iterdir())))
        if lost := pairs.lost(home, contents):
            return Figure.of(name, f"{action.name}: {len(lost)} contents lost", requirement, False)
        lib.remove(pairs.trash(home, owner=NOBODY).parent)
    return Figure.of(
        name,
        f"{len(exits)} commands of 5 actions, exits {sorted(set(exits))}, names left of two: {moved}; 0 contents lost",
        requirement,
        set(exits) == {0} and moved == [0, 0, 2, 2, 0],
    )


def another_home(context, folder, disk):
    name, requirement = "act-users: a home folder of another user", "nothing touched, refused with the reason"
    home = disk / "home" / "somebody"
    before = pairs.files(home)
    results = []
    for kind in ("trash", "delete"):
        db = folder / "data" / f"another-{kind}.db"
        lib.expect(lib.run(db, "scan", home, prefix=AS_NOBODY), 0)
        lib.expect(lib.run(db, "plan", "--keep", f"under:{home / 'b'}", "--action", kind, prefix=AS_NOBODY), 0)
        # Even where everybody may write.
        for mode in (0o755, 0o777, 0o1777):
            for path in (home, home / "a"):
                path.chmod(mode)
            results.append(lib.run(db, "apply", "1", "--yes", *(["--no-undo"] if kind == "delete" else []), prefix=AS_NOBODY))
    said = sum("belongs to another user" in done.out for done in results)
    return Figure.of(
        name,
        f"{len(results)} runs, exits {sorted({done.code for done in results})}, {said} say that it belongs to another user; "
        f"{sum(pairs.files(home).get(path) != content for path, content in before.items())} files touched",
        requirement,
        said == len(results) and all(done.code == 1 for done in results) and pairs.files(home) == before,
    )


def root(context):
    """All pairs of owners: the copy that stays, and the one that goes."""
    name = "act-users: root never keeps a copy of a less trusted user"
    owners = (0, SOMEBODY, NOBODY)
    acted, wrong = 0, []
    with context.workspace("act-root") as folder:
        for kind in ("trash", "delete", "empty-trash"):
            for keeper in owners:
                for goes in owners:
                    case = folder / f"{kind}-{keeper}-{goes}"
                    tree, db = case / "tree", case / "c.db"
                    pairs.make(tree, context.random(case.name), 1)
                    own = [(tree / "b" / "0", keeper), (tree / "a" / "0", goes)]
                    for path, owner in own:
                        os.chown(path, owner if kind != "empty-trash" else 0, -1)
                    lib.expect(lib.run(db, "scan", tree), 0)
                    action = "delete" if kind == "delete" else "trash"
                    lib.expect(lib.run(db, "plan", "--keep", f"under:{tree / 'b'}", "--action", action), 0)
                    done = lib.run(db, *pairs.APPLY, *(["--no-undo"] if kind == "delete" else []))
                    if kind == "empty-trash":
                        os.chown(own[0][0], keeper, -1)
                        os.chown(pairs.trash(tree) / "1", goes, -1)
                        lib.expect(lib.run(db, "scan", tree), 0)
                        done = lib.run(db, "empty-trash", "--yes")
                    states = [state for _, _, _, state, _ in pairs.journal(db)]
                    is_done = states == ["trashed" if kind == "trash" else "deleted"]
                    acted += is_done
                    if is_done != (keeper in (0, goes)):
                        wrong.append(f"{kind}, {keeper} stays, {goes} goes: {states} {done.out}")
    for why in wrong[:5]:
        context.note(why)
    return Figure.of(
        name, f"27 pairs of owners, {acted} acted on: {len(wrong)} wrong", "kept only if it is root's or has the same owner", not wrong and acted == 15,
    )
