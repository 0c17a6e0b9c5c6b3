"""Actions that are stopped at each of their system calls: killed, or cut off
from power."""

import fcntl
import multiprocessing
import os
import random
import struct
import time

import lib
from act import pairs, tracer
from lib import Figure

PROCESSES = max(2, os.cpu_count() or 2)
# The same number for xfs and ext4. The log may have been written just before, with
# all names but not with the contents of new files, or not.
SHUTDOWN, LOG_WRITTEN, LOG_LOST = 0x8004587D, 1, 2


def in_processes(work, items, processes=PROCESSES):
    """Many cases at once, each in a process of its own: a tracer needs that."""
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return pool.starmap(work, items, chunksize=1)


def calls_of_each(context, wanted=None):
    """How many calls each action makes if nobody stops it."""
    with context.workspace("act-count") as folder:
        for number, _ in enumerate(pairs.ACTIONS):
            pairs.make(folder / str(number) / "tree", context.random("count"))
        time.sleep(3.1)
        work = [(action, folder / str(number) / "c.db", folder / str(number) / "tree", wanted) for number, action in enumerate(pairs.ACTIONS)]
        return dict(zip((action.name for action in pairs.ACTIONS), in_processes(count_calls, work)))


def count_calls(action, db, tree, wanted):
    action.prepare(db, tree)
    seen = []
    lib.expect(tracer.trace(action.command(db, tree), lambda call: seen.append(call.name), wanted), 0)
    return len(seen)


def kill(context):
    """SIGKILL at every system call of every action."""
    requirement = "0 names neither present nor in the trash and the journal; recovering twice is the same"
    if reason := tracer.lacking():
        yield Figure.skipped("act-kill: SIGKILL", requirement, reason)
        return
    calls = calls_of_each(context)
    rng = context.random("act-kill")
    # A few more, since threads do not always wait for each other in the same way.
    work = [(action, at) for action in pairs.ACTIONS for at in moments(context, rng, calls[action.name], 3)]
    ends = []
    with context.workspace("act-kill") as folder:
        for some in batches(work, 400):
            made = [(action, at, folder / f"{number}", rng.randbytes(8)) for number, (action, at) in enumerate(some)]
            contents = [pairs.make(path / "tree", random.Random(seed)) for _, _, path, seed in made]
            time.sleep(3.1)  # no file is racy any more
            items = [(action, path, content, at) for (action, at, path, _), content in zip(made, contents)]
            ends += in_processes(kill_once, items)
    yield from stopped(context, "act-kill", "killed", zip(work, ends), calls, requirement)
    yield kill_batches(context, rng, requirement)


def kill_batches(context, rng, requirement):
    """More files than one batch: the next one is written down while workers act
    on the one before."""
    count = 700
    ends = []
    for action in pairs.ACTIONS[:2]:
        with context.workspace("act-kill") as folder:
            runs = context.many(20, 1)
            contents = [pairs.make(folder / str(number) / "tree", rng, count, 100) for number in range(runs)]
            time.sleep(3.1)
            # Each file takes at least 50 calls, most of them by the workers.
            moments = [rng.randrange(3_000, 50 * count) for _ in range(runs)]
            ends += in_processes(kill_once, [(action, folder / str(number), contents[number], at) for number, at in enumerate(moments)])
    wrong = [why for _, why in ends if why]
    for why in wrong[:5]:
        context.note(why)
    return Figure.of(
        f"act-kill: {count} files in three batches",
        f"{len(ends)} runs of trash and delete, {sum(was_killed for was_killed, _ in ends)} killed: {len(wrong)} wrong",
        requirement,
        not wrong and any(was_killed for was_killed, _ in ends),
    )


def moments(context, rng, calls, quick):
    """The numbers of the calls at which an action is stopped."""
    return sorted(rng.sample(range(calls // 3, calls), quick)) if context.quick else range(1, calls + 2)


def batches(items, length):
    return [items[at : at + length] for at in range(0, len(items), length)]


def stopped(context, step, word, ends, calls, requirement):
    """One figure for each action."""
    ends = list(ends)
    for name, total in calls.items():
        own = [(at, was_stopped, why) for ((action, at, *_), (was_stopped, why)) in ends if action.name == name]
        wrong = [f"{name}, {word} at call {at}: {why}" for at, _, why in own if why]
        for why in wrong[:5]:
            context.note(why)
        count = sum(was_stopped for _, was_stopped, _ in own)
        yield Figure.of(
            f"{step}: {name}",
            f"{len(own)} runs of {total} calls, {count} {word}: {len(wrong)} wrong",
            requirement,
            not wrong and count * 10 >= len(own) * 8,
        )


def kill_once(action, folder, contents, at):
    db, tree = folder / "c.db", folder / "tree"
    action.prepare(db, tree)
    done = tracer.trace(action.command(db, tree), lambda call: tracer.KILL if call.number == at else None)
    wrong = pairs.wrong_after(action, db, tree, contents)
    lib.remove(folder)
    return done.code == -9, wrong


def power(context):
    """Power cuts after each call of every action that changes a disk."""
    requirement = "0 contents lost; each run recovers, and doing so twice is the same"
    if reason := tracer.lacking() or lib.lacking("mkfs.ext4", "mkfs.xfs", mounts=True):
        yield Figure.skipped("act-power: power cuts", requirement, reason)
        return
    calls = calls_of_each(context, tracer.CHANGES)
    rng = context.random("act-power")
    for kind in ("ext4", "xfs"):
        work = []
        for action in pairs.ACTIONS:
            # One more than there are: cut off after the last call.
            for at in moments(context, rng, calls[action.name], 1):
                ways = [("same", (LOG_WRITTEN, LOG_LOST)[at % 2]), ("another", (LOG_WRITTEN, LOG_LOST)[1 - at % 2])]
                work += [(action, at, way) for way in (ways if not context.quick else [rng.choice(ways)])]
        with context.workspace("act-power") as folder:
            items = [(action, at, way, kind, folder / str(number), rng.randbytes(8)) for number, (action, at, way) in enumerate(work)]
            # They mostly wait for four seconds.
            ends = in_processes(power_once, items, 12)
        yield from stopped(context, f"act-power, {kind}", "cut off", zip(work, ends), calls, requirement)


def power_once(action, at, way, kind, folder, seed):
    """The copies that stay are four seconds old and only in memory; the others
    have been on the disk for long."""
    folder.mkdir()
    file, point = lib.image(folder, "disk", kind, 64 if kind == "ext4" else 300)
    tree = point / "tree"
    place, log = way
    db = (point if place == "same" else folder) / "c.db"
    contents = pairs.make(tree, random.Random(seed))
    kept = {path: path.read_bytes() for path in (tree / "b").iterdir()}
    for path in kept:
        path.unlink()
    lib.quiet(["sync", "-f", str(point)])
    for path, content in kept.items():
        path.write_bytes(content)
    time.sleep(4)
    action.prepare(db, tree)
    handle = os.open(point, os.O_RDONLY)
    was_cut = False

    def cut(call):
        nonlocal was_cut
        if call.number != at:
            return None
        fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", log))
        was_cut = True
        return tracer.KILL

    tracer.trace(action.command(db, tree), cut, tracer.CHANGES)
    if not was_cut:
        fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", log))  # after its end
    os.close(handle)
    lib.umount(point)
    lib.mount(file, point)
    wrong = after_power(action, db, tree, contents)
    lib.umount(point)
    lib.remove(folder)
    return True, wrong


def after_power(action, db, tree, contents):
    """Like a kill, but a copy that stays may be gone or empty, where nothing was
    deleted yet."""
    if lost := pairs.lost(tree, contents):
        return f"{len(lost)} contents lost"
    pairs.recover(db)
    if untrue := pairs.untrue(action, db):
        return f"the journal is not true: {untrue}"
    seen = pairs.picture(db, tree)
    pairs.recover(db)
    if seen != pairs.picture(db, tree):
        return "recovery run twice is not the same"
    for line in (action.line, pairs.APPLY, ("undo",), ("empty-trash", "--yes"), ("undo",)):
        if line[0] == "undo" and len(line) > 1:
            continue
        done = lib.run(db, *line)
        if done.panicked:
            return done.brief()
        if lost := pairs.lost(tree, contents):
            return f"{len(lost)} contents lost by {line[0]} afterwards"
    if pairs.still_open(db):
        return f"{pairs.still_open(db)} entries are still open"
    if lib.run(db, "verify").code != 0:
        return "the catalog is not sound"
    return None
