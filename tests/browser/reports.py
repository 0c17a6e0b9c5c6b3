"""The reports that the steps open, made by the program from trees on disk."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Names that try to become markup, script, or what a terminal obeys.
HOSTILE = [
    b"<img src=x onerror=window.hacked=1>.jpg",
    b"<script>window.hacked=2<",
    b"\"' onclick='window.hacked=3' `${window.hacked=4}`",
    b"back\\slash \\x41",
    "\x1b[2J\u202egpj.exe\u2028".encode(),
    b"two\nlines",
    b"it's latin-\xe9",
    "写真 Grüße.png".encode(),
    b"javascript:window.hacked=5",
]


@dataclass
class Group:
    """A group as the tree has it: size and the paths of its copies."""

    size: int
    paths: list

    @property
    def reclaimable(self):
        return self.size * (len(self.paths) - 1)


@dataclass
class Reports:
    photos: Path
    groups: list
    base: str
    hostile: Path
    hostile_paths: list
    limited: Path
    empty: Path
    nothing: Path
    unfinished: Path
    large: Path
    plan: Path


def make(program, folder, large):
    def scanned(name):
        database = folder / f"{name}.db"
        run(program, "--db", database, "scan", "-q", *sorted((folder / name).iterdir()))
        return database

    def report(name, database, *options):
        page = folder / f"{name}.html"
        run(program, "--db", database, "report", "--format", "html", "--output", page, *options)
        return page

    groups = photo_tree(folder / "photos")
    paths = hostile_tree(os.fsencode(folder / "hostile"))
    (folder / "lone" / "root").mkdir(parents=True)
    (folder / "lone" / "root" / "only.txt").write_text("one of its kind")
    for name in "ab":
        (folder / "lone" / "root" / f"empty-{name}").touch()
    photos, lone = scanned("photos"), scanned("lone")
    page = report("photos", photos)
    unfinished = folder / "unfinished.html"
    text = page.read_text().replace('"unfinished":0', '"unfinished":2').replace('"unchecked":0', '"unchecked":1234')
    unfinished.write_text(text)
    run(program, "--db", photos, "plan", "--keep", f"under:{folder / 'photos' / 'backup'}")
    plan = folder / "plan.html"
    run(program, "--db", photos, "plans", "1", "--format", "html", "--output", plan)
    return Reports(
        photos=page,
        groups=groups,
        base=str(folder / "photos"),
        hostile=report("hostile", scanned("hostile")),
        hostile_paths=paths,
        limited=report("limited", photos, "--limit", "5"),
        empty=report("lone", lone),
        nothing=report("nothing", lone, "--empty"),
        unfinished=unfinished,
        large=large.resolve(),
        plan=plan,
    )


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def photo_tree(base):
    """Two roots, 60 groups with 2 to 4 copies, of every third type."""
    endings = ["jpg", "mp4", "pdf", "zip", "txt", "flac"]
    groups = []
    for number in range(60):
        size = 3000 + 997 * number * (number % 7 + 1)
        content = (f"{number:04} " * (size // 5 + 1)).encode()[:size]
        paths = []
        for copy in range(2 + number % 3):
            root = ["disk", "backup"][copy % 2]
            folder = base / root / f"year {2020 + number % 4}" / f"trip-{number % 5}"
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"IMG_{number:04}-{copy}.{endings[number % 6]}"
            path.write_bytes(content)
            paths.append(str(path))
        groups.append(Group(size, sorted(paths)))
    return groups


def hostile_tree(base):
    paths = []
    os.makedirs(base + b"/root/</script><script>window.hacked=6<")
    for number, name in enumerate(HOSTILE):
        for folder in (b"/root/", b"/root/</script><script>window.hacked=6</"):
            path = base + folder + name
            with open(path, "wb") as file:
                file.write(b"content %d" % number)
            paths.append(path)
    return paths
