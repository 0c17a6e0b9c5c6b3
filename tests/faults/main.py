"""Runs the steps and prints one line per figure; see `run`."""

import argparse
import os
import platform
import sys
import tempfile
import time
import traceback

import changes
import disks
import lib
import matrix
import stops
import trees
from act import aliases as act_aliases
from act import changes as act_changes
from act import errors as act_errors
from act import projects as act_projects
from act import races as act_races
from act import space as act_space
from act import speed as act_speed
from act import stops as act_stops
from act import trash as act_trash
from act import users as act_users

STEPS = {
    "kill": stops.kill,
    "reread": stops.reread,
    "signals": stops.signals,
    "power": stops.power,
    "mutations": changes.mutations,
    "corrupt": changes.corrupt,
    "lock": changes.lock,
    "unreadable": disks.unreadable,
    "offline": disks.offline,
    "fuse-catalog": trees.fuse_catalog,
    "hang": trees.hang,
    "twice": trees.twice,
    "endless": trees.endless,
    "sparse": trees.sparse,
    "deep": trees.deep,
    "wide": trees.wide,
    "clock": trees.clock,
    "limits": trees.limits,
    "act-kill": act_stops.kill,
    "act-power": act_stops.power,
    "act-stale": act_changes.stale,
    "act-writers": act_changes.writers,
    "act-editor": act_races.editor,
    "act-symlinks": act_races.symlinks,
    "act-aliases": act_aliases.aliases,
    "act-errors": act_errors.errors,
    "act-users": act_users.users,
    "act-undo": act_trash.undo,
    "act-emptied": act_trash.emptied,
    "act-speed": act_speed.speed,
    "act-space": act_space.space,
    "act-projects": act_projects.projects,
    "matrix": matrix.check,
}


def arguments():
    parser = argparse.ArgumentParser(prog="tests/faults/run", description="Provokes faults and prints what was seen.")
    parser.add_argument("--quick", action="store_true", help="a small sample of each figure")
    parser.add_argument("--only", action="append", choices=STEPS, metavar="NAME", help="this step only; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of the steps")
    parser.add_argument("--markdown", metavar="FILE", help="write the table to this file as well")
    parser.add_argument("--dir", default="/var/tmp", help="work in this folder (a disk, not a tmpfs)")
    parser.add_argument("--seed", default="1", help="of all random choices")
    return parser.parse_args()


def main():
    args = arguments()
    if args.list:
        for name, step in STEPS.items():
            print(f"{name:13} {step.__doc__.splitlines()[0]}")
        return 0
    figures = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dupescan-faults-", dir=args.dir, ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        context = lib.Context(args.quick, folder, args.seed)
        for name in args.only or STEPS:
            figures += attempt(name, context)
    print(f"\n{len(figures)} figures in {time.monotonic() - started:.0f} s: "
          + ", ".join(f"{sum(f.state == state for f in figures)} {state}" for state in ("ok", "NOT REACHED", "SKIPPED")))
    if args.markdown:
        with open(args.markdown, "w") as file:
            file.write(markdown(figures))
    return 1 if any(figure.state == "NOT REACHED" for figure in figures) else 0


def attempt(name, context):
    """One step; what it meets unexpectedly is a figure not reached."""
    figures = []
    started = time.monotonic()
    try:
        for figure in STEPS[name](context):
            show(figure)
            figures.append(figure)
    except Exception as error:
        traceback.print_exc()
        figures.append(lib.Figure(f"{name}: the step itself", f"failed: {error}".splitlines()[0], "runs", "NOT REACHED"))
        show(figures[-1])
    print(f"    ({name}: {time.monotonic() - started:.1f} s)", flush=True)
    return figures


def show(figure):
    print(f"{figure.state:11} | {figure.name} | {figure.figure} | {figure.requirement}", flush=True)


def markdown(figures):
    """The figures in Markdown."""
    lines = ["| Figure | Seen | Required | |", "|---|---|---|---|"]
    lines += [f"| {f.name} | {f.figure} | {f.requirement} | {f.state} |" for f in figures]
    machine = f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"
    return "\n".join([*lines, "", f"Machine: {machine}."]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
