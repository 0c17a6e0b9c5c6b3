"""Rows of the matrix that are too slow, or need too much, for `cargo test`."""

import json
import os
import resource
import time

import lib
from lib import Figure


def fuse_catalog(context):
    """Row 10: a catalog on FUSE."""
    name, requirement = "fuse-catalog: a catalog on FUSE", "refused with a sentence, exit 3"
    if reason := lib.lacking(mounts=True):
        yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("fuse-catalog") as folder:
        lib.write(folder / "tree" / "a", b"x")
        with lib.fuse(folder, folder / "net", {"note": {"size": 10, "seed": 1, "mode": "ok"}}):
            done = lib.run(folder / "net" / "c.db", "scan", folder / "tree", timeout=30)
    yield Figure.of(
        name, f"exit {done.code}, FUSE {'named' if 'FUSE' in done.err else 'NOT named'}", requirement,
        done.code == 3 and "FUSE" in done.err,
    )


def hang(context):
    """Row 16: calls that hang."""
    requirement = "named within 3 s at --stall-warning 1s, the rest read, a dead letter, exit 1"
    if reason := lib.lacking(mounts=True):
        yield Figure.skipped("hang: a FUSE call that hangs", requirement, reason)
        return
    for mode in ("hang-read", "hang-open"):
        yield hang_once(context, mode, requirement)


def hang_once(context, mode, requirement):
    with context.workspace("hang") as folder:
        tree, db, log = folder / "tree", folder / "c.db", folder / "log"
        for number in range(40):
            lib.write(tree / str(number), bytes([number // 2]) * 50_000)
        spec = {"stuck": {"size": 50_000, "seed": 7, "mode": mode}}
        with lib.fuse(folder, tree / "net", spec), open(log, "wb") as errors:
            started = time.monotonic()
            process = lib.start(db, "scan", tree, "--stall-warning", "1s", "--item-timeout", "3s", "--retries", "1",
                                "--backoff", "100ms", stderr=errors)
            named = None
            if lib.wait_until(lambda: b"stuck" in log.read_bytes() or lib.ended(process.pid), 20):
                named = time.monotonic() - started if b"stuck" in log.read_bytes() else None
            done = lib.finish(process, started, timeout=40)
            text = log.read_text(errors="replace")
        paths = {error["path"] for error in json.loads(lib.run(db, "errors", "--format", "json").out)["errors"]}
        read = lib.query(db, "SELECT count(*) FROM files WHERE digest IS NOT NULL")[0][0]
        sound = lib.run(db, "verify").code == 0
    dead = paths == {str(tree / "net" / "stuck")}
    if not dead or done.code != 1:
        context.note(f"{mode}: errors lists {sorted(paths)}; exit {done.code}; {text.strip()[-300:]}")
    return Figure.of(
        f"hang: a FUSE {mode.split('-')[1]} that hangs",
        f"named after {named:.1f} s" if named else "not named",
        requirement,
        False,
    ) if not named else Figure.of(
        f"hang: a FUSE {mode.split('-')[1]} that hangs",
        f"named after {named:.1f} s, {read} of 40 other files read, {'a dead letter' if dead else 'NO dead letter'}, exit {done.code} "
        f"after {done.seconds:.1f} s, catalog {'sound' if sound else 'UNSOUND'}",
        requirement,
        named <= 3 and read == 40 and dead and done.code == 1 and sound,
    )


def twice(context):
    """A filesystem that lists every name twice."""
    name, requirement = "twice: every name listed twice", "each file counted once, `verify` finds nothing"
    if reason := lib.lacking(mounts=True):
        yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("twice") as folder:
        db = folder / "c.db"
        files = {f"{number:03}": {"size": 5_000, "seed": number // 2, "mode": "ok"} for number in range(100)}
        with lib.fuse(folder, folder / "net", {**files, "": {"twice": True}}):
            codes = [lib.run(db, "scan", folder / "net").code for _ in range(2)]
            verified = lib.run(db, "verify")
        rows, counted = lib.query(db, "SELECT (SELECT count(*) FROM files), (SELECT files FROM roots)")[0]
    yield Figure.of(
        name,
        f"{rows} rows, {counted} counted, exits {codes}, verify exit {verified.code}",
        requirement,
        rows == counted == 100 and codes == [0, 0] and verified.code == 0,
    )


def endless(context):
    """A folder whose names never end."""
    name, requirement = "endless: a folder whose names never end", "an error that says so, at most 2,000 MiB of memory, the rest scanned"
    if reason := lib.lacking(mounts=True):
        yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("endless") as folder:
        db = folder / "c.db"
        for number in range(20):
            lib.write(folder / "tree" / str(number), bytes([number // 2]) * 5_000)
        with lib.fuse(folder, folder / "net", {"": {"endless": True}}):
            peak, done = measured(db, "scan", folder / "tree", folder / "net")
            errors = lib.query(db, "SELECT message FROM faults")
            compared = lib.run(db, "diff", folder / "net", folder / "tree")
        groups = len(lib.groups(db))
        verified = lib.run(db, "verify")
    yield Figure.of(
        name,
        f"exit {done.code} after {done.seconds:.1f} s, peak {peak} MiB, {groups} of 10 groups, `diff` exit {compared.code}, verify exit {verified.code}",
        requirement,
        len(errors) == 1 and "may never end" in errors[0][0] and (done.code, compared.code, verified.code) == (1, 1, 0) and peak <= 2_000 and groups == 10,
    )


def sparse(context):
    """Row 20: sparse files of 1 PB on XFS, beside duplicates that take space."""
    name = "sparse: two pairs of 1 PB beside 50 pairs of 100 kB"
    requirement = "all 52 groups within 5 s, next to nothing read of the petabytes"
    if reason := lib.lacking("mkfs.xfs", mounts=True):
        yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("sparse") as folder:
        _, disk = lib.image(folder, "disk", "xfs", 320)
        db = folder / "c.db"
        for file in ("a1", "a2", "b1", "b2"):
            with open(disk / file, "wb") as handle:
                handle.truncate(10**15)
                if file.startswith("b"):
                    os.pwrite(handle.fileno(), b"data", 10**15 // 3)
        for pair in range(50):
            content = os.urandom(100_000)
            for copy in ("x", "y"):
                lib.write(disk / f"{copy}{pair}", content)
        scan = lib.expect(lib.run(db, "scan", disk), 0)
        found = len(lib.groups(db))
        read = lib.query(db, "SELECT sum(bytes_read) FROM scans")[0][0]
        sound = lib.run(db, "verify").code == 0
        lib.umount(disk)
    yield Figure.of(
        name,
        f"{found} groups in {scan.seconds:.2f} s, {lib.size(read)} read, catalog {'sound' if sound else 'UNSOUND'}",
        requirement, sound and found == 52 and scan.seconds <= 5 and read < 32 << 20,
    )


def deep(context):
    """Row 28: 10,000 folders in each other."""
    depth = context.many(10_000, 1_500)
    name, requirement = f"deep: {depth:,} folders in each other", "the bottom file is found"
    with context.workspace("deep") as folder:
        tree, db = folder / "tree", folder / "c.db"
        tree.mkdir()
        lib.write(tree / "top", b"the same at the top and at the bottom")
        handle = os.open(tree, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("deeper", dir_fd=handle)
            below = os.open("deeper", os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
        file = os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=handle)
        os.write(file, b"the same at the top and at the bottom")
        os.close(file)
        os.close(handle)
        scan = lib.run(db, "scan", tree, timeout=300)
        found = [len(path) for group in lib.groups(db) for path in (file["path"] for file in group["files"])]
        again = lib.run(db, "scan", tree, timeout=300)
        sound = lib.run(db, "verify").code == 0
    yield Figure.of(
        name, f"exit {scan.code} in {scan.seconds:.1f} s, longest path {max(found, default=0):,} bytes, rescan exit {again.code} in "
        f"{again.seconds:.1f} s, catalog {'sound' if sound else 'UNSOUND'}",
        requirement, scan.code == again.code == 0 and len(found) == 2 and max(found) > depth * 7 and sound,
    )


def wide(context):
    """Row 29: a million files in one folder."""
    count = context.many(1_000_000, 30_000)
    limit = 400
    name, requirement = f"wide: {count:,} files in one folder", f"complete, at most {limit} MiB of memory"
    with context.workspace("wide") as folder:
        tree, db = folder / "tree", folder / "c.db"
        tree.mkdir()
        handle = os.open(tree, os.O_RDONLY)
        for number in range(count):
            os.close(os.open(f"file-{number:07}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=handle))
        # Some with content, so that all stages have work.
        for number in range(0, count, 100):
            lib.write(tree / f"file-{number:07}", str(number // 200).encode())
        os.close(handle)
        peak, scan = measured(db, "scan", tree)
        peak_again, again = measured(db, "scan", tree)
        rows = lib.query(db, "SELECT count(*) FROM files WHERE removed_in IS NULL")[0][0]
    yield Figure.of(
        name, f"exit {scan.code} in {scan.seconds:.1f} s, {rows:,} rows, peak {peak} MiB; rescan exit {again.code} in "
        f"{again.seconds:.1f} s, peak {peak_again} MiB",
        requirement, scan.code == again.code == 0 and rows == count and max(peak, peak_again) <= limit,
    )


def measured(db, *args):
    """Peak memory in MiB, and the end of a command."""
    process = lib.start(db, *args)
    started = time.monotonic()
    peak = 0
    while not lib.ended(process.pid):
        for line in open(f"/proc/{process.pid}/status"):
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]) // 1024)
        time.sleep(0.02)
    return peak, lib.finish(process, started)


def clock(context):
    """Row 33: the clock goes backwards between scans."""
    name, requirement = "clock: scans with the clock going backwards", "order by scan number: no change missed, report right"
    if reason := lib.lacking("faketime"):
        yield Figure.skipped(name, requirement, reason)
        return
    with context.workspace("clock") as folder:
        tree, db = folder / "tree", folder / "c.db"
        for number in range(20):
            lib.write(tree / str(number), f"content {number // 2}".encode())
        codes = []
        for when in ("2030-01-01 12:00:00", "2020-01-01 12:00:00", "2025-06-01 12:00:00"):
            lib.write(tree / "0", when.encode())
            lib.write(tree / "1", when.encode())
            (tree / f"gone {when}").write_text("x")
            codes.append(lib.run(db, "scan", tree, prefix=("faketime", when)).code)
            (tree / f"gone {when}").unlink()
        codes.append(lib.run(db, "scan", tree).code)
        found = {tuple(sorted(file["path"] for file in group["files"])) for group in lib.groups(db)}
        want = {(str(tree / str(n)), str(tree / str(n + 1))) for n in range(0, 20, 2)}
        want = {tuple(sorted(pair)) for pair in want}
        newest = json.loads(lib.run(db, "report", "--format", "json").out)["as_of"]["scan"]
        status, sound = lib.run(db, "status").code, lib.run(db, "verify").code == 0
    yield Figure.of(
        name, f"{len(codes)} scans, exits {codes}, {'all' if found == want else 'WRONG'} groups, report as of scan {newest}, "
        f"status exit {status}, catalog {'sound' if sound else 'UNSOUND'}",
        requirement, codes == [0] * 4 and found == want and newest == 4 and status == 0 and sound,
    )


def limits(context):
    """Row 35: few file descriptors, little memory."""
    requirement = "completes, or a clear error with a valid catalog"
    with context.workspace("limits") as folder:
        tree = folder / "tree"
        for number in range(400):
            lib.write(tree / str(number % 40) / str(number), bytes([number // 200]) * 40_000)
        lib.expect(lib.run(folder / "whole.db", "scan", tree), 0)
        truth = lib.groups(folder / "whole.db")
        for label, kind, value, more in (
            ("64 file descriptors, 8 workers", resource.RLIMIT_NOFILE, 64, ("--threads", "8")),
            ("16 file descriptors", resource.RLIMIT_NOFILE, 16, ()),
            ("256 MiB of address space", resource.RLIMIT_AS, 256 << 20, ()),
            ("48 MiB of address space", resource.RLIMIT_AS, 48 << 20, ()),
            ("24 MiB of address space", resource.RLIMIT_AS, 24 << 20, ()),
        )[: context.many(5, 4)]:
            db = folder / f"{label}.db"
            done = lib.run(db, "scan", tree, *more, preexec_fn=lambda kind=kind, value=value: resource.setrlimit(kind, (value, value)))
            sound = not db.exists() or db.stat().st_size == 0 or lib.run(db, "verify").code == 0
            complete = done.code == 0 and lib.groups(db) == truth
            clear = done.code in (1, 3) and not done.panicked and done.err.strip() != ""
            if not complete:
                context.note(f"{label}: {done.brief()}")
            yield Figure.of(
                f"limits: {label}",
                "complete" if complete else f"exit {done.code}{', panicked' if done.panicked else ''}" + (", catalog sound" if sound else ", catalog UNSOUND"),
                requirement, sound and (complete or clear),
            )
