"""How much becomes free, predicted and measured, where files share blocks or are
compressed."""

import re
import subprocess
import time

import lib
from lib import Figure

# Each filesystem: how it is made, how it is mounted, and what is done to the copies.
PLACES = [
    ("ext4", "ext4", "loop", "copies"),
    ("xfs", "xfs", "loop", "copies"),
    ("xfs with reflinks", "xfs", "loop", "reflinks"),
    ("btrfs", "btrfs", "loop", "copies"),
    ("btrfs with reflinks", "btrfs", "loop", "reflinks"),
    ("btrfs with reflinks across subvolumes", "btrfs", "loop", "subvolumes"),
    ("btrfs with zstd", "btrfs", "loop,compress-force=zstd", "text"),
    ("btrfs with a snapshot", "btrfs", "loop", "snapshot"),
]
FILES = 8
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def space(context):
    """Predicted and measured bytes of `empty-trash` and of a plan that deletes."""
    requirement = "inside the range always; within 1 % where nothing is shared or compressed"
    if reason := lib.lacking("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", mounts=True):
        yield Figure.skipped("act-space: bytes that become free", requirement, reason)
        return
    rng = context.random("act-space")
    megabytes = 2 if context.quick else 16
    inside, worst, seen = 0, 0.0, []
    runs = [(place, action) for place in PLACES for action in ("trash", "delete")]
    if context.quick:
        runs = [(PLACES[2], "trash"), (PLACES[5], "delete"), (PLACES[6], "trash")]
    for (name, kind, options, how), action in runs:
        with context.workspace("act-space") as folder:
            least, most, measured = one(folder, rng, megabytes, kind, options, how, action)
        slack = 128 << 10  # sizes are printed with one decimal; metadata
        is_inside = least - slack <= measured <= most + slack
        inside += is_inside
        if how == "copies":
            worst = max(worst, abs(measured - most) / most)
        seen.append(f"{name}, {action}: {lib.size(least)} to {lib.size(most)}, measured {lib.size(measured)}")
        if not is_inside:
            context.note(seen[-1])
    yield Figure.of(
        "act-space: bytes that become free",
        f"{inside} of {len(runs)} inside the range; {worst:.1%} off where nothing is shared or compressed",
        requirement,
        inside == len(runs) and worst <= 0.01,
    )


def one(folder, rng, megabytes, kind, options, how, action):
    image, point = folder / "disk.img", folder / "disk"
    with open(image, "wb") as handle:
        handle.truncate(max(320, 3 * FILES * megabytes) << 20)
    force = ["-F"] if kind == "ext4" else []
    subprocess.run([f"mkfs.{kind}", "-q", *force, image], check=True, stdout=subprocess.DEVNULL)
    point.mkdir()
    lib.quiet(["mount", "-o", options, str(image), str(point)])
    try:
        make(point, rng, megabytes, how)
        time.sleep(3.1)
        db = folder / "c.db"
        lib.expect(lib.run(db, "scan", point, "--exclude", "snapshot"), 0)
        lib.expect(lib.run(db, "plan", "--keep", f"under:{point / 'a'}", "--action", action), 0)
        lines = [["apply", 1, "--yes", "--no-undo"]] if action == "delete" else [["apply", 1, "--yes"], ["empty-trash", "--yes"]]
        for line in lines:
            done = lib.run(db, *line)
            lib.expect(done, 0)
        return figures(done.out)
    finally:
        lib.umount(point)


def make(point, rng, megabytes, how):
    for name in ("a", "b"):
        if how == "subvolumes":
            lib.quiet(["btrfs", "subvolume", "create", str(point / name)])
        else:
            (point / name).mkdir()
    for number in range(FILES):
        content = rng.randbytes(64) * 16384 if how == "text" else rng.randbytes(1 << 20)
        (point / "a" / f"{number}").write_bytes(content * megabytes)
        # Some copies share their blocks with what stays, some only with each other.
        shares = how in ("reflinks", "subvolumes") and number % 2 == 0
        clone(point / "a" / f"{number}", point / "b" / f"{number}", shares)
        if shares or (how == "reflinks" and number == 1):
            clone(point / "b" / f"{number}", point / "b" / f"{number} again", True)
    subprocess.run(["sync"], check=True)
    if how == "snapshot":
        lib.quiet(["btrfs", "subvolume", "snapshot", str(point), str(point / "snapshot")])


def clone(source, copy, shares):
    lib.quiet(["cp", f"--reflink={'always' if shares else 'never'}", str(source), str(copy)])


def figures(out):
    """Least and most predicted, and measured, in bytes."""
    words = re.search(r"reclaimed: (.*) predicted, (.*) more free space measured", out)
    sizes = [number(found) for found in re.findall(r"([\d.]+) ([KMGT]?i?B)", words[1])]
    least = 0 if words[1].startswith("at most") else sizes[0]
    measured = re.findall(r"([\d.]+) ([KMGT]?i?B)", words[2])[0]
    return least, sizes[-1], number(measured)


def number(found):
    return int(float(found[0]) * UNITS[found[1]])
