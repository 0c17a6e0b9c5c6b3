"""Paths that cannot be read and disks that are gone or failing."""

import json
import os
import subprocess
import time

import lib
from lib import Figure

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def listed(db, prefix=()):
    """The paths that `errors` lists."""
    out = lib.expect(lib.run(db, "errors", "--format", "json", prefix=prefix), 0).out
    return {error["path"] for error in json.loads(out)["errors"]}


def unreadable(context):
    """Unreadable paths as an unprivileged user, and EIO on every attempt."""
    yield denied(context)
    yield failing_reads(context)


def denied(context):
    name, requirement = "unreadable: EACCES as an unprivileged user", "every one listed, exit 1, nothing marked as deleted"
    if os.geteuid() != 0:
        return Figure.skipped(name, requirement, "needs root to become somebody else")
    if reason := lib.lacking("setpriv"):
        return Figure.skipped(name, requirement, reason)
    with context.workspace("denied") as folder:
        tree, data = folder / "tree", folder / "data"
        for number in range(60):
            lib.write(tree / str(number % 6) / str(number), f"content {number // 3}".encode())
        data.mkdir()
        subprocess.run(["chown", "-R", "65534:65534", folder], check=True)
        reach(folder)
        db = data / "c.db"
        lib.expect(lib.run(db, "scan", tree, prefix=NOBODY), 0)
        closed = {tree / "0", tree / "1"} | {tree / "2" / str(number) for number in range(2, 60, 6)}
        for path in closed:
            path.chmod(0)
        done = lib.run(db, "scan", tree, prefix=NOBODY)
        found = listed(db, NOBODY)
        gone = lib.removed(db)
        for path in closed:
            path.chmod(0o755)
        again = lib.run(db, "retry", prefix=NOBODY).code
    want = {str(path) for path in closed}
    return Figure.of(
        name,
        f"{len(found & want)} of {len(want)} listed, {len(found - want)} others, exit {done.code}, {gone} marked as deleted; "
        f"readable again: `retry` ends with {again}",
        requirement,
        found == want and done.code == 1 and gone == 0 and again == 0,
    )


def reach(folder):
    """Lets everybody pass through the folders above."""
    for above in folder.parents:
        mode = above.stat().st_mode
        if mode & 0o001 == 0 and str(above).startswith(("/tmp/", "/var/tmp/")):
            above.chmod(mode | 0o011)


def failing_reads(context):
    name, requirement = "unreadable: EIO on every attempt", "every one listed, exit 1, nothing marked as deleted"
    if reason := lib.lacking("strace"):
        return Figure.skipped(name, requirement, reason)
    rng = context.random("eio")
    with context.workspace("eio") as folder:
        tree, db = folder / "tree", folder / "c.db"
        for number in range(40):
            lib.write(tree / str(number % 4) / str(number), bytes([number // 4]) * 50_000)
        lib.expect(lib.run(db, "scan", tree), 0)
        bad = [tree / str(number % 4) / str(number) for number in rng.sample(range(40), 12)]
        # No twenty in a row: that would be a failing disk.
        paths = [word for path in bad for word in ("-P", path)]
        inject = ("strace", "-f", "-qq", "-o", "/dev/null", *paths, "-e", "trace=read,pread64,readv,preadv,preadv2",
                  "-e", "inject=read,pread64,readv,preadv,preadv2:error=EIO")
        done = lib.run(db, "scan", tree, "--rehash", "--retries", "2", "--backoff", "10ms", "--threads", "1", prefix=inject)
        found, gone = listed(db), lib.removed(db)
        again = lib.run(db, "retry").code
    want = {str(path) for path in bad}
    return Figure.of(
        name,
        f"{len(found & want)} of {len(want)} listed, {len(found - want)} others, exit {done.code}, {gone} marked as deleted; "
        f"readable again: `retry` ends with {again}",
        requirement,
        found == want and done.code == 1 and gone == 0 and again == 0,
    )


def offline(context):
    """Roots and disks that are gone, and one that fails all I/O."""
    requirement = "0 marked as deleted, exit 3, one sentence"
    names = ["offline: a root unmounted", "offline: a disk unmounted below a root", "offline: a device that fails all I/O"]
    if reason := lib.lacking("mkfs.ext4", "mkfs.xfs", mounts=True):
        for name in names:
            yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("gone") as folder:
        file, disk = lib.image(folder, "disk", "ext4", 64)
        fill(disk)
        db = folder / "root.db"
        lib.expect(lib.run(db, "scan", disk), 0)
        lib.umount(disk)
        yield offline_figure(names[0], db, lib.run(db, "scan", disk))

        tree, db = folder / "tree", folder / "below.db"
        (tree / "disk").mkdir(parents=True)
        lib.write(tree / "own", b"content 1")
        lib.mount(file, tree / "disk")
        lib.expect(lib.run(db, "scan", tree), 0)
        lib.umount(tree / "disk")
        yield offline_figure(names[1], db, lib.run(db, "scan", tree))
    yield dying_disk(context, names[2] + " (before a rescan)", 0)
    yield dying_disk(context, names[2] + " (in the middle of a scan)", 1)


def fill(disk, files=600, length=2000):
    for number in range(files):
        lib.write(disk / str(number % 20) / str(number), f"content {number // 3}".encode() * (length // 10))


def offline_figure(name, db, done):
    deleted = lib.removed(db)
    sentences = [line for line in (done.err + done.out).splitlines() if " is offline" in line or " gone" in line]
    return Figure.of(
        name,
        f"{deleted} marked as deleted, exit {done.code}, {len(sentences)} sentence{'s' if len(sentences) != 1 else ''}",
        "0 marked as deleted, exit 3, one sentence",
        deleted == 0 and done.code == 3 and len(sentences) == 1,
    )


def dying_disk(context, name, seconds):
    """A disk of which every call fails from some moment on, beside a root
    that is well."""
    import fcntl
    import struct

    with context.workspace("dying") as folder:
        file, disk = lib.image(folder, "disk", "xfs", 320)
        fill(disk, length=60_000)
        well = folder / "well"
        fill(well, files=60)
        db = folder / "c.db"
        lib.expect(lib.run(db, "scan", disk, "--hash-all"), 0)
        before = lib.query(db, "SELECT count(*) FROM files WHERE removed_in IS NULL")[0][0]
        started = time.monotonic()
        process = None
        if seconds:
            process = lib.start(db, "scan", disk, well, "--rehash", "--bwlimit", "8M", "--backoff", "20ms")
            time.sleep(seconds)
        handle = os.open(disk, os.O_RDONLY)
        fcntl.ioctl(handle, 0x8004587D, struct.pack("I", 1))
        os.close(handle)
        process = process or lib.start(db, "scan", disk, well, "--rehash", "--backoff", "20ms")
        done = lib.finish(process, started)
        deleted = lib.removed(db)
        live = lib.query(db, "SELECT count(*) FROM files f JOIN folders o ON f.folder = o.id JOIN roots r ON o.root = r.id "
                             "WHERE f.removed_in IS NULL AND r.path = (SELECT min(path) FROM roots)")[0][0]
        rows = lib.query(db, "SELECT count(*) FROM faults")[0][0]
        other = lib.query(db, "SELECT count(*) FROM files f JOIN folders o ON f.folder = o.id JOIN roots r ON o.root = r.id "
                              "WHERE CAST(r.path AS TEXT) LIKE '%/well'")[0][0]
        # The log may say more; this is what the scan tells in the end.
        sentences = [line for line in (done.err + done.out).splitlines()
                     if str(disk) in line and not line.lstrip().startswith(("WARN", "ERROR")) and ("fail" in line or "offline" in line or " error" in line)]
        for line in sentences[:2] or [done.brief()]:
            context.note(line.replace(str(folder), ""))
        lib.umount(disk)
        lib.mount(file, disk)
        resumed = lib.run(db, "scan", disk)
        sound = lib.run(db, "verify").code == 0
        lib.umount(disk)
    return Figure.of(
        name,
        f"{deleted} marked as deleted, {live} of {before} files kept, {other} of 60 of the other root listed, exit {done.code} "
        f"after {done.seconds:.1f} s, {len(sentences)} sentence{'s' if len(sentences) != 1 else ''}, {rows} error rows; back again: "
        f"scan ends with {resumed.code}, catalog {'sound' if sound else 'UNSOUND'}",
        "0 marked as deleted, exit 3, one sentence, at most 40 error rows, the other root scanned",
        deleted == 0 and live == before and done.code == 3 and len(sentences) == 1 and rows <= 40 and other == 60
        and resumed.code == 0 and sound,
    )
