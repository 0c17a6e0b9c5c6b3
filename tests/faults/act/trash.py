"""The trash: everything comes back as it was, and nothing is deleted from it
without an equal copy."""

import os
import struct
import threading
import time
from pathlib import Path

import lib
from act import pairs, tracer
from lib import Figure

ACL = "system.posix_acl_access"


def undo(context):
    """Undo of many files with owners, modes, times, attributes and ACLs."""
    count = context.many(10_000, 200)
    for name, line in (("with the catalog", ("undo",)), ("with the catalog deleted", ("undo", "--trash", "TRASH"))):
        with context.workspace("act-undo") as folder:
            tree, db = folder / "tree", folder / "c.db"
            rng = context.random(f"act-undo {name}")
            mixed_tree(tree, rng, count)
            time.sleep(3.1)
            lib.expect(lib.run(db, "scan", tree), 0)
            lib.expect(lib.run(db, "plan", "--keep", f"under:{tree / 'b'}"), 0)
            before = everything(tree)
            applied = lib.expect(lib.run(db, *pairs.APPLY), 0)
            # Half of the folders that are empty now are gone as well.
            empty = sorted((tree / "a").iterdir())[::2]
            for path in empty:
                path.rmdir()
            if "deleted" in name:
                for file in folder.glob("c.db*"):
                    file.unlink()
            moved = len(before) - len(everything(tree)) - len(empty)
            done = lib.run(db, *(str(pairs.trash(tree)) if word == "TRASH" else word for word in line))
            after = everything(tree)
        differing = [path for path, seen in before.items() if after.get(path) != seen]
        for path in differing[:3]:
            context.note(f"{path}: {before[path]} → {after.get(path)}")
        yield Figure.of(
            f"act-undo: {name}",
            f"{moved} files moved in {applied.seconds:.1f} s, {len(empty)} of their folders deleted; undone in {done.seconds:.1f} s, "
            f"exit {done.code}: {len(differing)} differ in bytes, inode, owner, mode, mtime, attributes or ACL, {len(after) - len(before)} more",
            f"{count} files: all equal",
            moved == count and empty and done.code == 0 and not differing and len(after) == len(before),
        )


def mixed_tree(tree, rng, count):
    for number in range(count):
        content = rng.randbytes(1_000 + number)
        lib.write(tree / "b" / str(number % 50) / str(number), content)
        path = tree / "a" / str(number % 50) / str(number)
        lib.write(path, content)
        os.setxattr(path, "user.comment", rng.randbytes(20))
        if number % 3 == 0:
            os.setxattr(path, "trusted.origin", b"elsewhere")
        if number % 2 == 0:
            entries = [(1, 6, -1), (2, rng.randrange(8), rng.randrange(1000, 2000)), (4, 4, -1), (16, 7, -1), (32, 0, -1)]
            os.setxattr(path, ACL, struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries))
        else:
            path.chmod(rng.randrange(0o10000))
        if number % 5 == 0:
            os.chown(path, rng.randrange(1000, 2000), rng.randrange(1000, 2000))
            os.chown(tree / "b" / str(number % 50) / str(number), 0, 0)
        os.utime(path, ns=(0, rng.randrange(-(10**18), 2 * 10**18)))
    for folder in (tree / "a").iterdir():
        folder.chmod(rng.choice((0o700, 0o755, 0o2775, 0o1777)))
        os.chown(folder, rng.randrange(1000, 2000), rng.randrange(1000, 2000))


def everything(tree):
    """All files and folders outside the trash with all that belongs to them."""
    seen = {}
    for above, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".dupescan-trash")]
        for name in (*folders, *names):
            path = os.path.join(above, name)
            stat = os.lstat(path)
            known = (stat.st_mode, stat.st_uid, stat.st_gid)
            if name in names:
                attributes = {key: os.getxattr(path, key) for key in os.listxattr(path)}
                known += (stat.st_ino, stat.st_mtime_ns, stat.st_nlink, lib.sha256(path), attributes)
            seen[os.path.relpath(path, tree)] = known
    return seen


def emptied(context):
    """empty-trash where the copy that stays vanished or changed."""
    requirement = "0 emptied"
    if reason := tracer.lacking():
        yield Figure.skipped("act-emptied: the copy that stays vanished or changed", requirement, reason)
        return
    count = context.many(550, 33)
    rng = context.random("act-emptied")
    deleted, spoilt, kept, lost = 0, 0, 0, 0
    for when in ("before", "during"):
        with context.workspace("act-emptied") as folder:
            tree, db = folder / "tree", folder / "c.db"
            contents = pairs.make(tree, rng, count)
            time.sleep(3.1)
            pairs.ACTIONS[-1].prepare(db, tree)
            bad = {tree / "b" / str(number): SPOIL[number % len(SPOIL)] for number in range(count) if number % 11}
            left = {(tree / "b" / str(number)).read_bytes() for number in range(count) if number % 11}

            def spoil(call):
                path = Path(call.file(0))
                if way := bad.pop(path, None):
                    way(path, tree)

            if when == "before":
                for path, way in bad.items():
                    way(path, tree)
                done = lib.run(db, "empty-trash", "--yes")
            else:
                # The copy that stays is synced when all bytes have been compared.
                done = tracer.trace(lib.command(db, "empty-trash", "--yes"), spoil, ("fdatasync",))
            lib.expect(done, 1)
            for _, path, _, state, _ in pairs.journal(db):
                if state == "deleted" and (number := int(path.name)) % 11:
                    context.note(f"emptied: {path.name}, {SPOIL[number % len(SPOIL)].__name__} {when}")
            states = [(int(path.name), state) for _, path, _, state, _ in pairs.journal(db)]
            deleted += sum(state == "deleted" for number, state in states if number % 11)
            kept += sum(state != "deleted" for number, state in states if not number % 11)
            spoilt += sum(bool(number % 11) for number, _ in states)
            lost += len(left - set(pairs.files(tree).values()))
    yield Figure.of(
        "act-emptied: the copy that stays vanished or changed",
        f"{spoilt} copies spoilt in {len(SPOIL)} ways, half of them after the comparison: {deleted} emptied, {lost} contents lost; "
        f"{kept} of the others stayed",
        requirement,
        deleted == kept == lost == 0,
    )


def delete(path, tree):
    os.unlink(path)


def move_away(path, tree):
    os.rename(path, f"{path} moved")


def put_another_in_its_place(path, tree):
    with open(tree / "new", "wb") as file:
        file.write(b"another")
    os.replace(tree / "new", path)


def put_a_link_in_its_place(path, tree):
    os.rename(path, f"{path} moved")
    os.symlink(f"{path} moved", path)


def write_to(path, tree):
    """In a thread of its own: whoever opens a file that another program holds
    waits until that one lets go."""

    def work():
        was = os.stat(path)
        with open(path, "r+b", buffering=0) as file:
            byte = os.pread(file.fileno(), 1, 100)
            os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), 100)
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    writer = threading.Thread(target=work)
    writer.start()
    writer.join(0.01)


SPOIL = [delete, move_away, put_another_in_its_place, put_a_link_in_its_place, write_to]
