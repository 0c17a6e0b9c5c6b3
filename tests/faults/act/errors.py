"""Calls that fail while files are acted on: injected, and by immutable files, full
disks and full quotas."""

import errno
import os
import random
import subprocess
import time

import lib
from act import pairs, tracer
from act.stops import batches, calls_of_each, in_processes
from lib import Figure

ERRORS = (errno.EXDEV, errno.EPERM, errno.ENOSPC, errno.EIO, errno.EROFS)
LOOKS = ("openat", "openat2", "statx", "newfstatat", "pread64", "fcntl")
NOTHING_LOST = "nothing lost, one clear line each"


def errors(context):
    """Calls that fail, immutable files, a full disk, a full quota."""
    yield from injected(context)
    yield immutable(context)
    for kind in context.many(("ext4", "xfs"), ("ext4",)):
        yield full_disk(context, kind)
    yield full_quota(context)


def injected(context):
    """Each errno at each call that changes a disk, once or from then on; one of
    them at each call that only looks."""
    if reason := tracer.lacking():
        yield Figure.skipped("act-errors: injected", NOTHING_LOST, reason)
        return
    rng = context.random("act-errors")
    for word, wanted in (("changing", tracer.CHANGES), ("reading", LOOKS)):
        calls = calls_of_each(context, wanted)
        work = []
        for action in pairs.ACTIONS:
            for at in range(1, calls[action.name] + 1):
                some = ERRORS if wanted is tracer.CHANGES else [rng.choice(ERRORS)]
                work += [(action, wanted, at, number, (at + place) % 2 == 0) for place, number in enumerate(some)]
        work = rng.sample(work, 6) if context.quick else work
        ends = []
        with context.workspace("act-errors") as folder:
            for some in batches(list(enumerate(work)), 400):
                contents = [pairs.make(folder / str(number) / "tree", rng) for number, _ in some]
                time.sleep(3.1)
                ends += in_processes(fail_once, [(folder / str(number), content, *one) for (number, one), content in zip(some, contents)])
        wrong = [why for _, why in ends if why]
        for why in wrong[:8]:
            context.note(why)
        yield Figure.of(
            f"act-errors: EXDEV, EPERM, ENOSPC, EIO, EROFS at {word} calls",
            f"{len(work)} runs of {len(pairs.ACTIONS)} actions, {sum(code == 0 for code, _ in ends)} of them ended as if nothing had been: "
            f"{len(wrong)} wrong",
            NOTHING_LOST,
            not wrong,
        )


def fail_once(folder, contents, action, wanted, at, number, lasts):
    db, tree = folder / "c.db", folder / "tree"
    action.prepare(db, tree)
    failed = []

    def fail(call):
        if call.number == at or lasts and call.number > at and call.name != "write":
            failed.append(call.name)
            return number
        return None

    done = tracer.trace(action.command(db, tree), fail, wanted)
    what = f"{action.name}, {errno.errorcode[number]} at {failed[:1]} {at}{' and after' if lasts else ''}"
    wrong = unclear(done) or pairs.wrong_after(action, db, tree, contents)
    lib.remove(folder)
    return done.code, wrong and f"{what}: {wrong}"


def unclear(done):
    """What is wrong with how a command ended."""
    lines = [line for line in done.err.splitlines() if line.startswith("dupescan: ")]
    if done.code == 127 and "loading shared libraries" in done.err:
        return None  # it had not begun
    if done.code not in (0, 1, 2, 3) or done.panicked:
        return done.brief()
    if done.code in (2, 3) and len(lines) != 1:
        return f"{len(lines)} lines: {done.brief()}"
    if done.code == 1 and not (done.out.strip() or lines):
        return f"not a word: {done.brief()}"
    return None


def immutable(context):
    """Files and folders that nobody may change."""
    name = "act-errors: immutable files and folders"
    if reason := lib.lacking("chattr", "mkfs.ext4", mounts=True):
        return Figure.skipped(name, NOTHING_LOST, reason)
    rng = context.random("immutable")
    wrong, said = [], 0
    with context.workspace("immutable") as folder:
        _, point = lib.image(folder, "disk", "ext4", 64)
        for action in pairs.ACTIONS:
            for number, what in enumerate(("a/0", "b/0", "a", "b", ".")):
                tree, db = point / f"{action.name}-{number}", folder / f"{action.name}-{number}.db"
                contents = pairs.make(tree, rng)
                target = trash_entry(tree, what) if action.before else tree / what
                # It moves the change time, so that what is to be scanned has it before.
                if not action.before:
                    lib.quiet(["chattr", "+i", str(target)])
                action.prepare(db, tree)
                if action.before:
                    lib.quiet(["chattr", "+i", str(target)])
                done = lib.finish(subprocess.Popen(action.command(db, tree), stdout=-1, stderr=-1, env=lib.environment()))
                lib.quiet(["chattr", "-i", str(target)])
                said += "not permitted" in done.out + done.err
                why = unclear(done) or pairs.wrong_after(action, db, tree, contents, repeats=False)
                wrong += [f"{action.name}, {what}: {why}"] if why else []
        lib.umount(point)
    for why in wrong[:5]:
        context.note(why)
    return Figure.of(name, f"25 runs of 5 actions, {said} name the reason: {len(wrong)} wrong", NOTHING_LOST, not wrong and said > 0)


def trash_entry(tree, what):
    """What an action that begins with files in the trash meets instead."""
    trash = pairs.trash(tree)
    return {"a/0": trash / "1", "a": trash}.get(what, tree / what)


def full_disk(context, kind):
    """A disk without a free byte; the catalog is on another one."""
    name = f"act-errors: a full disk, {kind}"
    if reason := lib.lacking(f"mkfs.{kind}", mounts=True):
        return Figure.skipped(name, NOTHING_LOST, reason)
    rng = context.random(name)
    wrong, codes = [], []
    with context.workspace("full") as folder:
        _, point = lib.image(folder, "disk", kind, 64 if kind == "ext4" else 300)
        for number, action in enumerate(pairs.ACTIONS):
            for place in ("same", "another"):
                tree = point / f"tree-{number}-{place}"
                db = (point if place == "same" else folder) / f"{number}-{place}.db"
                contents = pairs.make(tree, rng)
                action.prepare(db, tree)
                fill_up(point)
                done = lib.finish(subprocess.Popen(action.command(db, tree), stdout=-1, stderr=-1, env=lib.environment()))
                codes.append(done.code)
                why = unclear(done)
                why = why or (pairs.lost(tree, contents) and "contents lost")
                (point / "filler").unlink()
                why = why or pairs.wrong_after(action, db, tree, contents)
                wrong += [f"{kind}, {action.name}, catalog on the {place} disk: {why}"] if why else []
        lib.umount(point)
    for why in wrong[:5]:
        context.note(why)
    return Figure.of(name, f"10 runs of 5 actions, exits {codes}: {len(wrong)} wrong", NOTHING_LOST, not wrong)


def fill_up(point):
    with open(point / "filler", "wb", buffering=0) as file:
        for length in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * length)
            except OSError:
                continue
    # Small files may still find room that one large file does not.
    subprocess.run(["sync", "-f", point])


def full_quota(context):
    """A subvolume that may not take one block more: of the quotas, this is the one
    that most kernels have."""
    name = "act-errors: a full quota, btrfs"
    if reason := lib.lacking("mkfs.btrfs", "btrfs", mounts=True):
        return Figure.skipped(name, NOTHING_LOST, reason)
    rng = context.random(name)
    wrong, codes = [], []
    with context.workspace("quota") as folder:
        file, point = folder / "disk.img", folder / "disk"
        with open(file, "wb") as handle:
            handle.truncate(300 << 20)
        lib.quiet(["mkfs.btrfs", "-q", str(file)])
        point.mkdir()
        lib.mount(file, point)
        lib.quiet(["btrfs", "quota", "enable", str(point)])
        for action in context.many(pairs.ACTIONS, pairs.ACTIONS[::2]):
            tree, db = point / action.name.replace(" ", "-"), folder / f"{action.name}.db"
            lib.quiet(["btrfs", "subvolume", "create", str(tree)])
            contents = pairs.make(tree, rng)
            action.prepare(db, tree)
            subprocess.run(["sync", "-f", point])
            lib.quiet(["btrfs", "quota", "rescan", "-w", str(point)])
            subvolume = "0/" + subprocess.check_output(["btrfs", "inspect-internal", "rootid", tree], text=True).strip()
            lib.quiet(["btrfs", "qgroup", "limit", "1K", subvolume, str(point)])
            refuses = refuses_more(tree)
            done = lib.finish(subprocess.Popen(action.command(db, tree), stdout=-1, stderr=-1, env=lib.environment()))
            codes.append(done.code)
            why = None if refuses else "the quota has room"
            why = why or unclear(done) or (pairs.lost(tree, contents) and "contents lost")
            lib.quiet(["btrfs", "qgroup", "limit", "none", subvolume, str(point)])
            why = why or pairs.wrong_after(action, db, tree, contents)
            wrong += [f"{action.name}: {why}"] if why else []
        lib.umount(point)
    for why in wrong[:5]:
        context.note(why)
    return Figure.of(name, f"{len(codes)} actions, exits {codes}: {len(wrong)} wrong", NOTHING_LOST, not wrong)


def refuses_more(tree):
    try:
        (tree / "more").write_bytes(b"more" * 4096)
    except OSError as error:
        return error.errno == errno.EDQUOT
    return False
