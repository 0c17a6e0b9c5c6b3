"""How long it takes to move many small duplicates to the trash."""

import os
import shutil
import subprocess
import time

import lib
from act import pairs
from lib import Figure


def speed(context):
    """Many small duplicates to the trash, beside `fclones move`."""
    count = context.many(40_000, 1_000)
    requirement = "at most 60 s, and no slower than fclones move; the scan afterwards reads 0 bytes"
    ours, theirs, reads = [], [], []
    fclones = shutil.which("fclones", path=f"{os.environ.get('PATH', '')}:{os.path.expanduser('~/.cargo/bin')}")
    for turn in range(context.many(3, 1)):
        with context.workspace("act-speed") as folder:
            tree, db = folder / "tree", folder / "c.db"
            small_files(tree, context.random(f"act-speed {turn}"), count)
            time.sleep(3.1)
            lib.expect(lib.run(db, "scan", tree), 0)
            lib.expect(lib.run(db, "plan", "--keep", f"under:{tree / 'b'}"), 0)
            settle(folder)
            ours.append(lib.expect(lib.run(db, *pairs.APPLY, timeout=600), 0).seconds)
            left = sum(len(names) for _, _, names in os.walk(tree / "a"))
            again = lib.expect(lib.run(db, "scan", tree), 0).out
            reads.append(left == 0 and " 0 B read" in again)
            if fclones:
                lib.expect(lib.run(db, "undo", timeout=600), 0)
                theirs.append(peer(fclones, folder, tree))
    middle = sorted(ours)[len(ours) // 2]
    figure = f"{count} files in {seconds(ours)}"
    if theirs:
        figure += f"; fclones move: {seconds(theirs)}"
    is_fast = middle <= 60 and (not theirs or context.quick or middle <= sorted(theirs)[len(theirs) // 2])
    yield Figure.of(
        "act-speed: small duplicates to the trash",
        f"{figure}; {sum(reads)} of {len(reads)} scans afterwards read 0 bytes",
        requirement,
        is_fast and all(reads),
    )


def seconds(times):
    return ", ".join(f"{time:.1f} s" for time in times)


def small_files(tree, rng, count):
    """Files of 4 KB, two hundred in a folder."""
    for number in range(count):
        content = rng.randbytes(4_000)
        for side in "ab":
            lib.write(tree / side / str(number // 200) / str(number), content)


def settle(folder):
    """Neither of the two is to pay for what was written before."""
    subprocess.run(["sync", "-f", folder], check=True)


def peer(fclones, folder, tree):
    """The same with fclones, which groups first and then only moves."""
    groups = folder / "groups"
    environment = os.environ | {"HOME": str(folder)}
    with open(groups, "wb") as file:
        subprocess.run([fclones, "group", tree], stdout=file, stderr=subprocess.DEVNULL, check=True, env=environment)
    settle(folder)
    started = time.monotonic()
    with open(groups, "rb") as file:
        line = [fclones, "move", "--keep-path", f"{tree}/b/**", folder / "moved"]
        subprocess.run(line, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment)
    return time.monotonic() - started
