"""What the steps share: running the binary, reading its catalog, trees, images,
and the figures they hand back."""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BINARY = os.environ.get("DUPESCAN", "")
CAN_MOUNT = os.environ.get("FAULTS_MOUNTS") == "1"
GIB = 1 << 30


@dataclass
class Figure:
    """One line of the result."""

    name: str
    figure: str
    requirement: str
    state: str  # ok, NOT REACHED or SKIPPED

    @staticmethod
    def of(name, figure, requirement, reached):
        return Figure(name, figure, requirement, "ok" if reached else "NOT REACHED")

    @staticmethod
    def skipped(name, requirement, reason):
        return Figure(name, f"skipped: {reason}", requirement, "SKIPPED")


@dataclass
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def panicked(self):
        return self.code in (101, 134, -6, -11) or "panicked at" in self.err

    def brief(self):
        return f"exit {self.code}: {self.err.strip()[-300:]}"


class Context:
    """The settings of one run of this script."""

    def __init__(self, quick, folder, seed):
        self.quick = quick
        self.folder = Path(folder)
        self.seed = seed
        self.notes = []

    def random(self, name):
        return random.Random(f"{self.seed}/{name}")

    def many(self, full, quick):
        return quick if self.quick else full

    @contextlib.contextmanager
    def workspace(self, name):
        """A folder that is gone afterwards."""
        path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        path.chmod(0o755)
        try:
            yield path
        finally:
            remove(path)

    def note(self, text):
        """Something worth seeing that is no figure."""
        self.notes.append(text)
        print(f"    {text}", flush=True)


def remove(path):
    """Removes a tree of any depth."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(path)], stderr=subprocess.DEVNULL)


def environment():
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DUPESCAN", "XDG_"))}
    kept["HOME"] = "/nonexistent"
    return kept | {"LC_ALL": "C.UTF-8", "TZ": "UTC"}


def command(db, *args, prefix=()):
    return [*map(str, prefix), BINARY, "--db", str(db), *map(str, args)]


def start(db, *args, prefix=(), stderr=subprocess.PIPE, **more):
    return subprocess.Popen(
        command(db, *args, prefix=prefix), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
        env=environment(), **more,
    )


def finish(process, started=None, timeout=120):
    """Waits for the end; a command that does not end has the code -1000."""
    started = started or time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        # A thread stuck in the kernel may keep even a killed process.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        out, err, code = b"", b"it did not end", -1000
    return Run(code, out.decode(errors="replace"), (err or b"").decode(errors="replace"), time.monotonic() - started)


def run(db, *args, prefix=(), timeout=120, **more):
    started = time.monotonic()
    return finish(start(db, *args, prefix=prefix, **more), started, timeout)


def expect(result, *codes):
    """A command that the step itself needs to end so."""
    if result.code not in codes:
        raise RuntimeError(f"expected exit {codes}, got {result.brief()} {result.out[-300:]}")
    return result


def groups(db):
    """The groups of a report, without what may depend on how often a scan was
    stopped: whether copies were compared or hashed."""
    report = json.loads(expect(run(db, "report", "--format", "json"), 0).out)
    for group in report["groups"]:
        group.pop("comparison")
    return report["groups"]


def query(db, sql):
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute(sql).fetchall()


def digests(db):
    """The committed digests by folder and name; empty where there is no
    catalog yet."""
    try:
        rows = query(db, "SELECT folder, name, digest FROM files WHERE digest IS NOT NULL AND removed_in IS NULL")
    except sqlite3.OperationalError:
        return {}
    return {(folder, name): digest for folder, name, digest in rows}


def removed(db):
    """How many rows are marked as deleted."""
    return (
        query(db, "SELECT count(*) FROM files WHERE removed_in IS NOT NULL")[0][0]
        + query(db, "SELECT count(*) FROM folders WHERE removed_in IS NOT NULL")[0][0]
    )


def unfinished(db):
    try:
        return query(db, "SELECT count(*) FROM scans WHERE state IN ('running', 'interrupted')")[0][0]
    except sqlite3.OperationalError:
        return 0


def resume(db, tree, *args):
    """Finishes a stopped scan, or makes one where nothing was committed."""
    if unfinished(db):
        return run(db, "resume")
    return run(db, "scan", tree, *args)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def stoppable_tree(path, rng, folders=60, large=24):
    """Folders to list, small files to probe, larger ones with equal heads and
    tails to read whole."""
    for folder in range(folders):
        for number in range(10):
            write(path / str(folder) / "sub" / str(number), f"small content {(folder * 10 + number) // 3}".encode())
    bases = [rng.randbytes(150_000) for _ in range(max(1, large // 8))]
    for number in range(large):
        content = bytearray(bases[number // 8 % len(bases)])
        content[60_000 + number % 4] ^= 0xFF
        write(path / "large" / str(number), bytes(content))


def big_file(path, size, rng):
    """A file without holes, of random bytes that repeat."""
    block = rng.randbytes(8 << 20)
    with open(path, "wb", buffering=0) as file:
        left = size
        number = 0
        while left:
            piece = number.to_bytes(8, "little") + block[8:]
            left -= file.write(piece[: min(left, len(piece))])
            number += 1


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.003)
    return False


def rchar(pid):
    """Bytes read so far by a process, also by one that has ended and was not
    waited for."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    return 0


def ended(pid):
    """Whether a child has ended; it is left to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def image(folder, name, kind, megabytes):
    """A mounted filesystem image."""
    file, point = folder / f"{name}.img", folder / name
    with open(file, "wb") as handle:
        handle.truncate(megabytes << 20)
    force = ["-F"] if kind == "ext4" else []
    quiet([f"mkfs.{kind}", "-q", *force, str(file)])
    point.mkdir()
    mount(file, point)
    return file, point


def mount(file, point):
    quiet(["mount", "-o", "loop", str(file), str(point)])


def umount(point, lazy=False):
    quiet(["umount", *(["-l"] if lazy else []), str(point)])


def quiet(line):
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(line)}: {done.stderr.strip()}")


def lacking(*tools, mounts=False):
    """Why a step cannot run here, or nothing."""
    for tool in tools:
        if not shutil.which(tool):
            return f"no {tool}"
    if mounts and not CAN_MOUNT:
        return "mounting is not permitted"
    return None


@contextlib.contextmanager
def fuse(folder, point, spec):
    """A FUSE filesystem with files that misbehave; see fusefs.py."""
    file = folder / f"{point.name}.json"
    file.write_text(json.dumps(spec))
    point.mkdir(exist_ok=True)
    daemon = subprocess.Popen([sys.executable, HERE / "fusefs.py", point, file], stdout=subprocess.PIPE)
    try:
        if daemon.stdout.readline().strip() != b"mounted":
            raise RuntimeError("FUSE cannot be mounted")
        yield daemon
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def size(number):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(number) < 1024 or unit == "TiB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
