"""Scans that are stopped: killed, asked to leave, or cut off from power."""

import fcntl
import os
import signal
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import Figure, GIB

SLOW = ("--threads", "2", "--batch-rows", "25", "--batch-time", "2ms")


def kill(context):
    """Random SIGKILL during a scan, then resume."""
    times = context.many(300, 10)
    rng = context.random("kill")
    with context.workspace("kill") as folder:
        tree = folder / "tree"
        lib.stoppable_tree(tree, rng)
        time.sleep(3.1)  # no file is racy any more
        scan = ("scan", tree, *SLOW, "--bwlimit", "6M")
        whole = lib.expect(lib.run(folder / "whole.db", *scan), 0).seconds
        truth = lib.groups(folder / "whole.db")
        moments = [rng.random() * whole for _ in range(times)]

        def one(number):
            return kill_once(folder / f"{number}.db", tree, scan, moments[number], truth)

        # They mostly wait for bandwidth.
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(one, range(times)))
    killed = sum(result["killed"] for result in results)
    lost = sum(result["lost"] for result in results)
    differing = sum(result["differs"] for result in results)
    unsound = sum(result["unsound"] for result in results)
    for result in results:
        if result["why"]:
            context.note(result["why"])
    yield Figure.of(
        "kill: SIGKILL during a scan, then resume",
        f"{times} kills ({killed} before the end of the scan): {lost} committed hashes lost, "
        f"{differing} reports differ, {unsound} catalogs unsound",
        f"{times} kills: 0 lost, 0 differ, all sound",
        lost == differing == unsound == 0 and killed * 2 > times,
    )


def kill_once(db, tree, scan, moment, truth):
    process = lib.start(db, *scan)
    time.sleep(moment)
    # What another process can read is committed.
    before = lib.digests(db) if db.exists() else {}
    process.kill()
    killed = lib.finish(process).code == -signal.SIGKILL
    after = lib.digests(db) if db.exists() else {}
    # Killed before the first commit, it is no catalog yet.
    sound = not db.exists() or lib.run(db, "verify").code in ((0,) if after else (0, 3))
    ended = lib.resume(db, tree)
    final = lib.digests(db)
    lost = missing(before, after) + missing(after, final)
    sound = sound and lib.run(db, "verify").code == 0
    differs = ended.code != 0 or lib.groups(db) != truth
    why = f"killed after {moment:.3f} s: {ended.brief()}" if lost or differs or not sound else ""
    return {"killed": killed, "lost": lost, "differs": differs, "unsound": not sound, "why": why}


def missing(before, after):
    return sum(after.get(key) != digest for key, digest in before.items())


def reread(context):
    """Bytes read again after a kill at 60 %: in the middle one of three."""
    requirement = "at most 0.5 s worth of reading, plus files under 4 MiB in flight"
    huge = context.many(4 * GIB, 1_150_000_000)
    rng = context.random("reread")
    with context.workspace("reread") as folder:
        many = folder / "many"
        many.mkdir()
        count = context.many(200, 40)
        for number in range(count):
            if number % 2 == 0:
                lib.big_file(many / str(number), 8 << 20, rng)
            else:
                subprocess.run(["cp", "--reflink=never", many / str(number - 1), many / str(number)], check=True)
        time.sleep(3.1)
        yield reread_once(folder, f"{count} files of 8 MiB", many, (), requirement)
        stat = os.statvfs(folder)
        if stat.f_bavail * stat.f_frsize < 3 * huge + 2 * GIB:
            yield Figure.skipped("reread: huge files", requirement, "too little free space")
            return
        pair, single = folder / "pair", folder / "single"
        pair.mkdir()
        single.mkdir()
        lib.big_file(pair / "a", huge, rng)
        if not context.quick:
            subprocess.run(["cp", "--reflink=never", pair / "a", pair / "b"], check=True)
        os.link(pair / "a", single / "a")
        time.sleep(3.1)
        if not context.quick:
            yield reread_once(folder, "two equal files of 4 GiB", pair, (), requirement)
        else:
            yield Figure.skipped("reread: two equal files of 4 GiB", requirement, "full run only")
        yield reread_once(folder, f"one file of {lib.size(huge)}, --hash-all", single, ("--hash-all",), requirement)


def reread_once(folder, name, tree, options, requirement):
    for file in tree.iterdir():
        with open(file, "rb", buffering=0) as handle:  # a warm cache, for even rates
            while handle.read(1 << 22):
                pass
    scan = ("scan", tree, *options)
    db = folder / f"{tree.name}-whole.db"
    whole, seconds = counted(lib.start(db, *scan))
    truth = lib.groups(db), lib.digests(db)
    again, equal = [], True
    # One of them may fall into a moment when another program has the processor.
    for turn in range(3):
        db = folder / f"{tree.name}-{turn}.db"
        process = lib.start(db, *scan)
        lib.wait_until(lambda: lib.rchar(process.pid) >= whole * 0.6 or lib.ended(process.pid))
        process.kill()
        first, _ = counted(process)
        second, _ = counted(lib.start(db, "resume"))
        equal = equal and first < whole and (lib.groups(db), lib.digests(db)) == truth
        again.append(max(first + second - whole, 0))
    allowed = whole / seconds * 0.5
    seen = ", ".join(lib.size(bytes) for bytes in again)
    return Figure.of(
        f"reread: killed at 60 %, {name}",
        f"{seen} of {lib.size(whole)} read again, {lib.size(whole / seconds)}/s, "
        f"allowed {lib.size(allowed)}; results {'equal' if equal else 'DIFFER'}",
        requirement,
        equal and sorted(again)[1] <= allowed,
    )


def counted(process):
    """Bytes read by a process until its end, and how long it took from now."""
    started = time.monotonic()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - started
    read = lib.rchar(process.pid)
    lib.finish(process)
    return read, seconds


def signals(context):
    """SIGINT and SIGTERM to exit at random moments."""
    times = context.many(100, 10)
    rng = context.random("signals")
    waits, codes, odd = [], [], []
    with context.workspace("signals") as folder:
        mixed, huge, rows = folder / "mixed", folder / "huge", folder / "rows"
        lib.stoppable_tree(mixed, rng)
        huge.mkdir()
        size = context.many(2 * GIB, GIB // 64)
        lib.big_file(huge / "a", size, rng)
        subprocess.run(["cp", "--reflink=never", huge / "a", huge / "b"], check=True)
        many_rows(rows, context.many(300_000, 10_000))
        listed = folder / "rows.db"
        lib.expect(lib.run(listed, "scan", rows, "--mode", "folders"), 0)
        kinds = {
            "mixed": lambda db: (db, "scan", mixed, *SLOW, "--bwlimit", "6M"),
            "one huge file": lambda db: (db, "scan", huge, *(("--bwlimit", "32M") if context.quick else ())),
            # Almost all of this is SQL over the rows; nothing is left to read.
            "SQL": lambda db: (db, "scan", rows, "--mode", "files", "--min-size", "1k"),
        }
        shares = {}
        for kind, line in kinds.items():
            db = folder / f"whole-{kind}.db"
            if kind == "SQL":
                subprocess.run(["cp", listed, db], check=True)
            whole = lib.expect(lib.run(*line(db)), 0).seconds
            mine = []
            for number in range(times // 3 + (kind == "one huge file")):
                db = folder / f"{kind}-{number}.db"
                if kind == "SQL":
                    subprocess.run(["cp", listed, db], check=True)
                process = lib.start(*line(db))
                time.sleep(0.02 + rng.random() * max(whole - 0.05, 0.01))
                asked = time.monotonic()
                process.send_signal(rng.choice([signal.SIGINT, signal.SIGTERM]))
                ended = lib.finish(process, asked)
                mine.append(ended.seconds)
                codes.append(ended.code)
                # Before the handler is there, or after it is gone, the signal itself ends it.
                if ended.code not in (0, 130):
                    odd.append(f"{kind}: {ended.brief()}")
                if db.exists() and number % 10 == 0:
                    lib.expect(lib.run(db, "verify"), 0)
                for leftover in folder.glob(f"{kind}-{number}.db*"):
                    leftover.unlink()
            waits += mine
            shares[kind] = max(mine)
    for line in odd[:5]:
        context.note(line)
    detail = ", ".join(f"{kind} {longest:.2f} s" for kind, longest in shares.items())
    yield Figure.of(
        "signals: SIGINT or SIGTERM to exit",
        f"{len(waits)} moments: p99 {lib.percentile(waits, 0.99):.2f} s, longest {max(waits):.2f} s ({detail}); "
        f"{codes.count(130)} interrupted, {codes.count(0)} had ended, {len(odd)} other",
        "p99 ≤ 1 s, longest ≤ 2 s",
        lib.percentile(waits, 0.99) <= 1 and max(waits) <= 2 and not odd and codes.count(130) * 2 > len(codes),
    )
    yield hung_signal(context)


def hung_signal(context):
    name, requirement = "signals: Ctrl-C with a hung FUSE read", "≤ 5 s"
    if reason := lib.lacking(mounts=True):
        return Figure.skipped(name, requirement, reason)
    with context.workspace("hung") as folder:
        tree = folder / "tree"
        lib.write(tree / "near", b"n" * 50_000)
        spec = {"far": {"size": 50_000, "seed": 1, "mode": "hang-read"}}
        with lib.fuse(folder, tree / "net", spec):
            process = lib.start(folder / "c.db", "scan", tree)
            time.sleep(1)
            hung = process.poll() is None
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            ended = lib.finish(process, asked, timeout=20)
        sound = lib.run(folder / "c.db", "verify").code == 0
    return Figure.of(
        name,
        f"{ended.seconds:.2f} s, exit {ended.code}, catalog {'sound' if sound else 'UNSOUND'}",
        f"{requirement}, exit 130",
        hung and ended.seconds <= 5 and ended.code == 130 and sound,
    )


def many_rows(path, count):
    """Many small files, a thousand in a folder."""
    for number in range(count):
        if number % 1000 == 0:
            folder = path / str(number // 1000)
            folder.mkdir(parents=True)
            handle = os.open(folder, os.O_RDONLY)
        file = os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=handle)
        os.ftruncate(file, 1 + number % 700)
        os.close(file)
        if number % 1000 == 999:
            os.close(handle)


# The same number for xfs and ext4; 2 drops what is only in the log's memory.
SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


def power(context):
    """Power loss under the catalog: the filesystem is shut down."""
    requirement = "0 corrupt, at most the last 10 s lost, resume equal"
    times = context.many(40, 2)
    kinds = ["xfs", "ext4"]
    for kind in kinds:
        if reason := lib.lacking(f"mkfs.{kind}", mounts=True):
            yield Figure.skipped("power: power loss", requirement, reason)
            return
    rng = context.random("power")
    with context.workspace("power") as folder:
        tree = folder / "tree"
        lib.stoppable_tree(tree, rng, large=context.many(120, 40))
        time.sleep(3.1)
        lib.expect(lib.run(folder / "whole.db", "scan", tree), 0)
        truth = lib.groups(folder / "whole.db")
        # Long enough that a loss of more than 10 s would show.
        total = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file())
        length = context.many(16, 4)
        scan = ("scan", tree, "--bwlimit", str(int(total / length)))
        lanes = kinds * context.many(4, 1)
        cuts = [[2 + rng.random() * (length - 2) for _ in range(times // len(lanes))] for _ in lanes]

        def lane(number):
            names = [f"{number}-{turn}" for turn in range(len(cuts[number]))]
            return [power_once(folder, name, lanes[number], tree, scan, cut, truth) for name, cut in zip(names, cuts[number])]

        with ThreadPoolExecutor(len(lanes)) as pool:
            results = [result for some in pool.map(lane, range(len(lanes))) for result in some]
    for result in results:
        if result["why"]:
            context.note(result["why"])
    corrupt = sum(result["corrupt"] for result in results)
    differing = sum(result["differs"] for result in results)
    oldest = max(result["oldest"] for result in results)
    running = sum(result["running"] for result in results)
    odd = sum(result["odd"] for result in results)
    yield Figure.of(
        "power: power loss, catalog on xfs and ext4",
        f"{len(results)} cuts ({running} while the scan ran): {corrupt} corrupt, at most the last {oldest:.1f} s of "
        f"digests lost, {differing} resumed reports differ, {odd} scans did not end with exit 3 in 10 s",
        requirement,
        corrupt == differing == odd == 0 and oldest <= 10 and running * 2 > len(results),
    )


def power_once(folder, name, kind, tree, scan, cut, truth):
    file, point = lib.image(folder, name, kind, 320)
    db = point / "catalog.db"
    seen = {}  # digest → when it was first seen committed
    process = lib.start(db, *scan)
    started = time.monotonic()
    while time.monotonic() - started < cut:
        time.sleep(0.2)
        now = time.monotonic()
        for key in lib.digests(db) if db.exists() else {}:
            seen.setdefault(key, now)
    running = process.poll() is None
    handle = os.open(point, os.O_RDONLY)
    fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    at = time.monotonic()
    os.close(handle)
    ended = lib.finish(process, at, timeout=30)
    odd = running and (ended.code not in (0, 3) or ended.seconds > 10 or ended.panicked)
    lib.umount(point)
    lib.mount(file, point)
    there = lib.digests(db) if db.exists() else {}
    lost = [at - when for key, when in seen.items() if key not in there]
    verify = lib.run(db, "verify")
    corrupt = verify.code != 0 and db.exists() and db.stat().st_size > 0
    resumed = lib.resume(db, tree)
    differs = resumed.code != 0 or lib.groups(db) != truth
    corrupt = corrupt or lib.run(db, "verify").code != 0
    lib.umount(point)
    file.unlink()
    why = ""
    if corrupt or differs or odd:
        why = f"{kind}, cut after {cut:.1f} s: scan {ended.brief()} in {ended.seconds:.1f} s; verify {verify.brief()} {verify.out}; resume {resumed.brief()}"
    return {"running": running, "corrupt": corrupt, "differs": differs, "oldest": max(lost, default=0), "odd": odd, "why": why}
