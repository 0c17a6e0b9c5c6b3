"""Files that change between the plan and the action, and at each step of it."""

import mmap
import os
import random
import threading
import time

import lib
from act import pairs, tracer
from act.stops import batches, in_processes
from lib import Figure


def stale(context):
    """Files that changed between plan and apply."""
    rounds, count = context.many((10, 1090), (1, 104))
    rng = context.random("act-stale")
    acted, wanted, changed, wrong = 0, 0, 0, []
    with context.workspace("act-stale") as folder:
        for turn in range(rounds):
            root = folder / str(turn)
            tree, db = root / "tree", root / "c.db"
            pairs.make(tree, rng, count)
            early = map_early(tree, count)
            time.sleep(3.1)
            action = pairs.ACTIONS[turn % 2]  # trash, delete
            action.prepare(db, tree)
            held = [change(tree, rng, number, early) for number in range(count)]
            before = pairs.files(tree)
            done = lib.run(db, *action.line)
            after = pairs.files(tree)
            done_to = {path for _, path, _, state, _ in pairs.journal(db) if state in ("trashed", "deleted")}
            fair = {tree / "a" / str(number) for number in range(count) if number % len(CHANGES) == 0}
            acted += len(done_to - fair)
            wanted += len(fair - done_to)
            changed += count - len(fair)
            if any(after.get(path) != content for path, content in before.items() if path not in fair):
                wrong.append(f"files are not as they were: {done.brief()}")
            if done.code != 1:
                wrong.append(done.brief())
            del held
            lib.remove(root)
    for why in wrong[:5]:
        context.note(why)
    yield Figure.of(
        "act-stale: files changed between plan and apply",
        f"{changed} changes of {len(CHANGES) - 1} kinds: {acted} acted on, {len(wrong)} runs wrong; "
        f"{wanted} of the unchanged ones between them left",
        "0 acted on",
        acted == wanted == len(wrong) == 0,
    )


def map_early(tree, count):
    """Files whose writer has mapped them since before the scan: what it stores
    later moves no time."""
    maps = {}
    for number in range(count):
        if CHANGES[number % len(CHANGES)] is change_through_an_early_map:
            maps[number] = mapping(tree / "ab"[number // len(CHANGES) % 2] / str(number))
            maps[number][1] ^= 1
            maps[number][1] ^= 1
    return maps


def mapping(path):
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def change(tree, rng, number, early):
    """Changes the copy that goes or the one that stays; returns what is to stay
    open until the end."""
    side = "ab"[number // len(CHANGES) % 2]
    return CHANGES[number % len(CHANGES)](tree, side, number, rng, early)


def nothing(tree, side, number, rng, early):
    pass


def change_with_times_put_back(tree, side, number, rng, early):
    path = tree / side / str(number)
    was = path.stat()
    flip(path, rng)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def flip(path, rng):
    with open(path, "r+b") as file:
        at = rng.randrange(os.fstat(file.fileno()).st_size)
        byte = os.pread(file.fileno(), 1, at)
        os.pwrite(file.fileno(), bytes([byte[0] ^ 1 + rng.randrange(255)]), at)


def truncate(tree, side, number, rng, early):
    path = tree / side / str(number)
    os.truncate(path, rng.randrange(path.stat().st_size))


def replace(tree, side, number, rng, early):
    """Another file of the same size and times, now and then with the same bytes."""
    path = tree / side / str(number)
    was, content = path.stat(), bytearray(path.read_bytes())
    content[0] ^= rng.randrange(2)
    new = path.with_name("new")
    new.write_bytes(content)
    os.utime(new, ns=(was.st_atime_ns, was.st_mtime_ns))
    new.replace(path)


def rename(tree, side, number, rng, early):
    """The name is gone, or leads to what was another file."""
    path = tree / side / str(number)
    path.rename(path.with_name(f"{number} renamed"))
    if rng.randrange(2):
        lib.write(path.with_name("new"), rng.randbytes(5_000 + number))
        path.with_name("new").rename(path)


def change_through_an_early_map(tree, side, number, rng, early):
    early[number][rng.randrange(5_000)] ^= 1 + rng.randrange(255)
    if rng.randrange(2):
        early.pop(number).close()


def map_for_writing(tree, side, number, rng, early):
    held = mapping(tree / side / str(number))
    if rng.randrange(2):
        held[rng.randrange(5_000)] ^= 1
    return held


def open_for_writing(tree, side, number, rng, early):
    return open(tree / side / str(number), "r+b")


def become_a_hard_link(tree, side, number, rng, early):
    """Both names lead to one file: the one that would stay, or the one that goes."""
    other = "b" if side == "a" else "a"
    path = tree / side / str(number)
    path.unlink()
    os.link(tree / other / str(number), path)


def swap_hard_links(tree, side, number, rng, early):
    """Another name for the file that goes, and another file under its name."""
    path, elsewhere = tree / "a" / str(number), tree / f"kept-{number}"
    os.link(path, elsewhere)
    if rng.randrange(2):
        path.unlink()
        os.link(tree / "b" / str(number), path)


def become_a_symbolic_link(tree, side, number, rng, early):
    path = tree / side / str(number)
    moved = path.rename(tree / f"moved-{number}")
    path.symlink_to(moved)


CHANGES = [nothing, change_with_times_put_back, truncate, replace, rename, change_through_an_early_map, map_for_writing,
           open_for_writing, become_a_hard_link, swap_hard_links, become_a_symbolic_link, change_with_times_put_back, replace]


def writers(context):
    """A program that opens a file for writing at each step of an action."""
    requirement = "no death by signal, 0 acted on, the writer waits less than 1 s"
    if reason := tracer.lacking():
        yield Figure.skipped("act-writers: a writer at each step", requirement, reason)
        return
    times = context.many(1000, 12)
    rng = context.random("act-writers")
    ends = []
    with context.workspace("act-writers") as folder:
        for some in batches(range(times), 400):
            for number in some:
                pairs.make(folder / str(number) / "tree", rng, 1)
            time.sleep(3.1)
            work = [(pairs.ACTIONS[number % 2], folder / str(number), "ab"[number // 2 % 2], number) for number in some]
            ends += in_processes(write_once, work)
    wrong = [why for _, _, why in ends if why]
    for why in wrong[:5]:
        context.note(why)
    waits = [wait for wait, _, _ in ends]
    yield Figure.of(
        "act-writers: a writer at each step",
        f"{len(ends)} writers, {sum(early for _, early, _ in ends)} before the move: {len(wrong)} wrong; "
        f"the longest waited {max(waits):.3f} s",
        requirement,
        not wrong and max(waits) < 1,
    )


def write_once(action, folder, side, number):
    """One writer at one of the calls that a worker makes, from opening the copy
    that stays to closing the one that goes."""
    tree, db = folder / "tree", folder / "c.db"
    action.prepare(db, tree)
    path = tree / side / "0"
    content = path.read_bytes()
    first, worker, steps, moved, early = None, None, 0, False, None
    wait, thread = [], None
    at = random.Random(number).randrange(1, 46)

    def write():
        started = time.monotonic()
        try:
            file = os.open(path, os.O_WRONLY)
        except FileNotFoundError:
            wait.append(0)
            return
        wait.append(time.monotonic() - started)
        os.pwrite(file, b"written", 10)
        os.close(file)

    def look(call):
        nonlocal first, worker, steps, moved, thread, early
        first = first or call.pid
        if worker is None and call.name == "openat2" and call.pid != first:
            worker = call.pid
        if call.pid != worker:
            return
        steps += 1
        if steps == at and thread is None:
            early = not moved
            thread = threading.Thread(target=write)
            thread.start()
            thread.join(0.01)
        # Moved by the call that is made now.
        moved = moved or call.name == "renameat2"

    done = tracer.trace(action.command(db, tree), look)
    if thread is None:
        early = False
        write()
    else:
        thread.join(50)
    wrong = None
    acted = [state for _, _, _, state, _ in pairs.journal(db) if state in ("trashed", "deleted")]
    there = pairs.files(tree)
    if done.code < 0 or done.panicked:
        wrong = done.brief()
    elif not wait:
        wrong = "the writer never came back"
    elif early and acted:
        wrong = f"acted on beside a writer of {side} at step {at}: {acted}"
    elif content not in there.values() and not (action.deletes and side == "b"):
        wrong = f"what the writer did not touch is lost, step {at} of {side}"
    lib.remove(folder)
    return max(wait, default=99), bool(early), wrong
