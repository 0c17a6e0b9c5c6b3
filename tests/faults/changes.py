"""What happens to files and catalogs between two scans: changes, damage, a
second process."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import Figure


def mutations(context):
    """Content changes by write(2) that a rescan misses."""
    wanted = context.many(2000, 200)
    batch = context.many(200, 50)
    rng = context.random("mutations")
    made = put_back = missed = during = 0
    with context.workspace("mutations") as folder:
        tree, db = folder / "tree", folder / "c.db"
        paths = [tree / str(number % 20) / str(number) for number in range(2 * batch)]
        for path in paths:
            lib.write(path, rng.randbytes(rng.choice([1, 100, 4096, 16_384, 16_385, 40_000, 200_000])))
        lib.expect(lib.run(db, "scan", tree, "--hash-all"), 0)
        turn = 0
        while made < wanted:
            turn += 1
            chosen = rng.sample(paths, min(batch, wanted - made))
            # Every second time while a scan of the same files runs.
            beside = lib.start(db, "scan", tree, "--hash-all", "--rehash", "--bwlimit", "40M") if turn % 2 == 0 else None
            # Every third time after the files stopped being racy.
            if turn % 3 == 0:
                time.sleep(3.1)
            for path in chosen:
                put_back += mutate(path, rng)
            if beside:
                lib.expect(lib.finish(beside), 0, 1)
                during += len(chosen)
            made += len(chosen)
            lib.expect(lib.run(db, "scan", tree, "--hash-all"), 0)
            known = known_digests(db)
            wrong = [path for path in paths if known.get(os.fsencode(path)) != lib.sha256(path).hex()]
            for path in wrong[:3]:
                context.note(f"round {turn}: {path.name} of {path.stat().st_size} bytes has an old digest")
            missed += len(wrong)
    yield Figure.of(
        "mutations: changes by write(2) missed on rescan",
        f"{made} mutations in {turn} rescans, {put_back} with the mtime put back, {during} during a scan: {missed} missed",
        f"{wanted} mutations: 0 missed",
        missed == 0,
    )


def known_digests(db):
    rows = lib.query(db, "SELECT CAST(path AS BLOB), lower(digest) FROM live_files")
    return {bytes(path): digest for path, digest in rows}


def mutate(path, rng):
    """Changes the content; says whether the mtime was put back."""
    before = path.stat()
    kind = rng.choice(["byte", "byte", "whole", "grow", "shrink", "replace"])
    if kind == "byte":
        with open(path, "r+b", buffering=0) as file:
            where = rng.randrange(max(before.st_size, 1))
            file.seek(where)
            old = file.read(1) or b"\0"
            file.seek(where)
            file.write(bytes([old[0] ^ (1 + rng.randrange(255))]))
    elif kind == "replace":
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(rng.randbytes(before.st_size or 1))
        os.rename(fresh, path)
    else:
        length = {"whole": before.st_size or 1, "grow": before.st_size + 1 + rng.randrange(100), "shrink": 1 + before.st_size // 2}[kind]
        path.write_bytes(rng.randbytes(length))
    if rng.random() < 0.6:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return 1
    return 0


DAMAGED = ("damaged", "malformed", "not a database", "corrupt", "not a dupescan catalog")


def corrupt(context):
    """Damaged catalogs, and every command on them."""
    times = context.many(2000, 100)
    rng = context.random("corrupt")
    with context.workspace("corrupt") as folder:
        tree = folder / "tree"
        lib.stoppable_tree(tree, rng, folders=20, large=8)
        db = folder / "sound.db"
        lib.expect(lib.run(db, "scan", tree), 0)
        # A second catalog with much still in its -wal.
        logged = folder / "logged.db"
        process = lib.start(logged, "scan", tree, "--bwlimit", "1M")
        lib.wait_until(lambda: len(lib.digests(logged)) > 50)
        process.kill()
        lib.finish(process)
        tasks = [(number, rng.randrange(1 << 60), db if number % 3 else logged) for number in range(times)]

        def one(task):
            number, seed, source = task
            place = folder / str(number)
            place.mkdir()
            try:
                return corrupt_once(place, tree, source, context.random(seed))
            finally:
                shutil.rmtree(place)

        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(one, tasks))
    commands = sum(result["commands"] for result in results)
    panics = [line for result in results for line in result["panics"]]
    codes = [line for result in results for line in result["codes"]]
    touched = [line for result in results for line in result["touched"]]
    called = sum(result["called"] for result in results)
    for line in (panics + codes + touched)[:6]:
        context.note(line)
    yield Figure.of(
        "corrupt: damaged catalogs",
        f"{times} mutations, {commands} commands: {len(panics)} panics, {len(codes)} exits other than 0, 1, 3; "
        f"called damaged {called} times, {len(touched)} of those files were changed",
        f"{times} mutations: 0 panics, exit 0, 1 or 3 only, a file called corrupt stays untouched",
        not panics and not codes and not touched,
    )


def corrupt_once(place, tree, source, rng):
    db = place / "c.db"
    for suffix in ("", "-wal"):
        if os.path.exists(f"{source}{suffix}"):
            shutil.copyfile(f"{source}{suffix}", f"{db}{suffix}")
    what = damage(db, rng)
    result = {"commands": 0, "panics": [], "codes": [], "touched": [], "called": 0}
    lines = [("report",), ("status",), ("verify",), ("errors",), ("scan", tree)]
    if rng.random() < 0.2:
        lines += [("verify", "--repair"), ("scan", tree, "--rehash"), ("purge",)]
    for line in lines:
        before = db.read_bytes() if db.exists() else None
        done = lib.run(db, *line, timeout=30)
        result["commands"] += 1
        story = f"{what}: dupescan {line[0]}: {done.brief()}"
        if done.panicked:
            result["panics"].append(story)
        elif done.code not in (0, 1, 3):
            result["codes"].append(story)
        said = (done.err + done.out).lower()
        if done.code in (1, 3) and any(word in said for word in DAMAGED):
            result["called"] += 1
            if (db.read_bytes() if db.exists() else None) != before:
                result["touched"].append(story)
    return result


def damage(db, rng):
    """Damages a catalog in one way, and says in which."""
    wal = db.with_name(db.name + "-wal")
    target = wal if wal.exists() and wal.stat().st_size and rng.random() < 0.6 else db
    content = bytearray(target.read_bytes())
    page = 8192
    pages = max(1, len(content) // page)
    kind = rng.choice(["flip", "flips", "header", "truncate", "zero", "noise", "swap", "page start"])
    if kind == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "flips":
        for _ in range(rng.randrange(2, 200)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == "header":
        content[rng.randrange(100)] = rng.randrange(256)
    elif kind == "truncate":
        del content[rng.randrange(len(content)) :]
    elif kind in ("zero", "noise"):
        start = rng.randrange(pages) * page
        content[start : start + page] = bytes(page) if kind == "zero" else rng.randbytes(page)
    elif kind == "swap":
        one, two = rng.randrange(pages) * page, rng.randrange(pages) * page
        content[one : one + page], content[two : two + page] = content[two : two + page], content[one : one + page]
    else:
        # The header of a page: kind, cell count and offsets.
        content[rng.randrange(pages) * page + rng.randrange(32)] = rng.randrange(256)
    target.write_bytes(content)
    if rng.random() < 0.1:
        db.with_name(db.name + "-shm").write_bytes(rng.randbytes(32_768))
        kind += " and a foreign -shm"
    return f"{kind} in {'-wal' if target == wal else 'the catalog'}"


def lock(context):
    """Two scans on one catalog."""
    times = context.many(50, 5)
    rng = context.random("lock")
    good, slowest, stale = 0, 0.0, 0
    with context.workspace("lock") as folder:
        tree, db = folder / "tree", folder / "c.db"
        lib.write(tree / "a", rng.randbytes(400_000))
        shutil.copyfile(tree / "a", tree / "b")
        # The first kill may come before its scan has made the tables, and then
        # there is nothing to purge.
        lib.expect(lib.run(db, "scan", tree), 0)
        for _ in range(times):
            first = lib.start(db, "scan", tree, "--rehash", "--bwlimit", "50k")
            held = folder / "c.db.lock"
            lib.wait_until(lambda: held.exists() and str(first.pid) in held.read_text())
            second = lib.run(db, "scan", tree)
            slowest = max(slowest, second.seconds)
            if second.code == 3 and str(first.pid) in second.err and second.seconds <= 1 and first.poll() is None:
                good += 1
            else:
                context.note(second.brief())
            first.send_signal(signal.SIGKILL)
            lib.finish(first)
            # The lock dies with its holder.
            after = lib.run(db, "purge")
            if after.code != 0:
                stale += 1
                context.note(after.brief())
    yield Figure.of(
        "lock: two scans on one catalog",
        f"{good} of {times}: the second left with exit 3 naming the holder, slowest {slowest:.3f} s; {stale} stale locks after SIGKILL",
        f"{times} of {times} within 1 s",
        good == times and stale == 0,
    )
