"""Makes the reports, runs the steps in one browser, and prints a line for each;
see `run`."""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import driver
import reports
import steps

SHOTS = Path("target/browser")


def arguments():
    parser = argparse.ArgumentParser(prog="tests/browser/run", description="Uses HTML reports in headless Chromium.")
    parser.add_argument("--only", action="append", choices=list(steps.STEPS), metavar="NAME", help="this step only; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of the steps")
    return parser.parse_args()


def main():
    args = arguments()
    if args.list:
        for name, step in steps.STEPS.items():
            print(f"{name:10} {step.__doc__.splitlines()[0]}")
        return 0
    started = time.monotonic()
    failed = []
    with tempfile.TemporaryDirectory(prefix="dupescan-browser-") as folder:
        made = reports.make(os.environ["DUPESCAN"], Path(folder), SHOTS / "large.html")
        with driver.Browser() as browser:
            for name in args.only or steps.STEPS:
                if not attempt(name, browser, made):
                    failed.append(name)
    print(f"{len(args.only or steps.STEPS) - len(failed)} ok, {len(failed)} failed in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def attempt(name, browser, made):
    """One step. Whatever it did, the page must not have complained, nor asked
    for anything but itself."""
    started = time.monotonic()
    try:
        figure = steps.STEPS[name](browser, made, SHOTS) or ""
        complaints = [entry["message"] for entry in browser.logs("browser")]
        assert not complaints, complaints
        foreign = [url for url in browser.requests() if not url.startswith("file:")]
        assert not foreign, foreign
    except Exception:
        traceback.print_exc()
        browser.screenshot(SHOTS / f"failed-{name}.png")
        print(f"FAILED  {name}", flush=True)
        return False
    print(f"ok      {name:10} {time.monotonic() - started:5.1f} s  {figure}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
