"""Programs that race an action: an editor that saves by renaming, and one that
puts symbolic links in place of folders."""

import ctypes
import multiprocessing
import os
import random
import time

import lib
from act import pairs, tracer
from lib import Figure

EXCHANGE = 2
HERE = -100
_libc = ctypes.CDLL(None, use_errno=True)


def editor(context):
    """An editor that replaces the name between the check and the action."""
    requirement = "0 contents lost"
    if reason := tracer.lacking():
        yield Figure.skipped("act-editor: a name replaced before the move", requirement, reason)
        return
    runs, count = context.many((20, 500), (2, 10))
    rng = context.random("act-editor")
    replaced, taken, wrong = 0, 0, []
    with context.workspace("act-editor") as folder:
        made = [pairs.make(folder / str(run) / "tree", rng, count) for run in range(runs)]
        time.sleep(3.1)
        for run, contents in enumerate(made):
            new, again, why = edit(pairs.ACTIONS[run % 2], folder / str(run), contents, rng)
            replaced += new
            taken += again
            wrong += why
            lib.remove(folder / str(run))
    for why in wrong[:5]:
        context.note(why)
    yield Figure.of(
        "act-editor: a name replaced before the move",
        f"{replaced} names replaced, {taken} of them taken once more before they were put back: {len(wrong)} wrong",
        requirement,
        not wrong and replaced == runs * count,
    )


def edit(action, folder, contents, rng):
    """Saves a new file under each name that is about to be moved, and one more,
    now and then, before that one is put back."""
    tree, db = folder / "tree", folder / "c.db"
    action.prepare(db, tree)
    saved, replaced, taken = set(contents), 0, 0

    def save(path):
        content = rng.randbytes(4_000)
        saved.add(content)
        with open(tree / "new", "wb") as file:
            file.write(content)
        os.replace(tree / "new", path)

    def look(call):
        nonlocal replaced, taken
        source, target = call.path(0, 1), call.path(2, 3)
        if ".dupescan-trash" in target:
            save(source)
            replaced += 1
        elif ".dupescan-trash" in source and rng.randrange(3) == 0:
            save(target)
            taken += 1

    done = tracer.trace(action.command(db, tree), look, ("renameat2",))
    wrong = []
    if lost := pairs.lost(tree, saved):
        wrong.append(f"{len(lost)} contents lost: {done.brief()}")
    if done.code != 1 or (untrue := pairs.untrue(action, db)):
        wrong.append(f"{done.brief()}, journal: {untrue[:3] if done.code == 1 else ''}")
    before = pairs.picture(db, tree)
    pairs.recover(db)
    if before != pairs.picture(db, tree):
        wrong.append("there was something to recover")
    return replaced, taken, wrong


def symlinks(context):
    """Folders swapped for symbolic links by a racing process."""
    swaps = context.many(100_000, 3_000)
    rng = context.random("act-symlinks")
    with context.workspace("act-symlinks") as folder:
        tree, db, outside = folder / "tree", folder / "c.db", folder / "outside"
        pairs.make(tree, rng, 60)
        for side in "ab":
            (tree / "deep" / side).parent.mkdir(exist_ok=True)
            (tree / side).rename(tree / "deep" / side)
        # The same files, so that whoever escapes finds what it looks for.
        for number in range(60):
            for side in "ab":
                lib.write(outside / side / str(number), (tree / "deep" / side / str(number)).read_bytes())
        links = [(tree / "deep", outside, tree / "link"), (tree / "deep" / "a", outside / "a", folder / "link-a")]
        for _, target, link in links:
            link.symlink_to(target)
        time.sleep(3.1)
        lib.expect(lib.run(db, "scan", tree), 0)
        lib.expect(lib.run(db, "plan", "--keep", "glob:**/b/**"), 0)
        before = look_at(outside)
        contents = set(pairs.files(tree).values())
        counter = multiprocessing.get_context("fork").Value("Q", 0)
        stop = multiprocessing.get_context("fork").Event()
        racer = multiprocessing.get_context("fork").Process(target=swap, args=(links, counter, stop))
        racer.start()
        rounds, moved, refused, escapes, died = 0, 0, 0, 0, []
        while counter.value < swaps:
            # What is emptied cannot be moved again, so that comes last.
            is_late = counter.value > swaps * 0.8
            for line in (pairs.APPLY, ("empty-trash", "--yes") if is_late else ("undo",)):
                done = lib.run(db, *line)
                died += [done.brief()] if done.code not in (0, 1) else []
                escapes += look_at(outside) != before
            rounds += 1
            moved = lib.query(db, "SELECT count(*) FROM actions WHERE state IN ('trashed', 'restored', 'deleted')")[0][0]
            refused = lib.query(db, "SELECT count(*) FROM actions WHERE state = 'skipped'")[0][0]
        stop.set()
        racer.join()
        lost = pairs.lost(tree, contents)
    for why in died[:5]:
        context.note(why)
    yield Figure.of(
        "act-symlinks: folders swapped for symbolic links",
        f"{counter.value} swaps during {rounds} rounds of apply and undo or empty-trash ({moved} moved, {refused} refused): {escapes} escapes, "
        f"{len(lost)} contents lost, {len(died)} commands failed",
        f"{swaps} swaps: 0 escapes",
        escapes == len(lost) == len(died) == 0 and moved > 0 and refused > 0,
    )


def look_at(folder):
    """All names, contents and change times below a folder."""
    seen = {}
    for above, folders, names in os.walk(folder):
        for name in (".", *folders, *names):
            path = os.path.join(above, name)
            stat = os.lstat(path)
            seen[path] = (stat.st_ino, stat.st_size, stat.st_ctime_ns, stat.st_nlink)
    return seen


def swap(links, counter, stop):
    """Exchanges folders and links until told to stop; each ends in its place."""
    turn, chance = 0, random.Random(1)
    while not stop.is_set():
        folder, _, link = links[turn // 2 % len(links)]
        if _libc.renameat2(HERE, bytes(folder), HERE, bytes(link), EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "cannot exchange")
        turn += 1
        counter.value += 1
        time.sleep(chance.random() * 0.0004)
    while turn % (2 * len(links)):
        folder, _, link = links[turn // 2 % len(links)]
        _libc.renameat2(HERE, bytes(folder), HERE, bytes(link), EXCHANGE)
        turn += 1
