"""A small FUSE filesystem, straight on /dev/fuse, with files that misbehave.

Usage: fusefs.py MOUNTPOINT SPEC.json. SPEC is {"name": {"size": N, "seed": N,
"mode": MODE}}; MODE is one of

  ok         reads well
  hang-read  the read never gets an answer
  hang-open  when the file is opened, the daemon stops answering anything
  eio        opens, and every read fails

An optional key "" says how the whole filesystem behaves: {"die_after": N} lets
every call fail with EIO after N reads; {"twice": true} lists every name twice; {"endless": true} lists
names for ever.
"""

import ctypes
import errno
import json
import os
import random
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = 25, 26, 27, 28, 29
INTERRUPT, DESTROY, BATCH_FORGET = 36, 38, 42
ASYNC_READ = 1
# Closing must not wait for the daemon: a stopped one would hold up exit for ever.
OPEN_NOFLUSH = 1 << 5
NOW = int(time.time()) - 3600
# An entry with the longest name there is.
ENDLESS = struct.pack("<2Q2I", 2, 1, 255, stat.S_IFREG >> 12) + b"n" * 255 + b"\0"


def mount(point):
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"faults", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return fd


class Filesystem:
    def __init__(self, spec):
        self.whole = spec.pop("", {})
        self.names = sorted(spec)
        self.spec = spec
        self.reads = 0

    def node(self, number):
        return self.spec[self.names[number - 2]] if number > 1 else None

    def attributes(self, number):
        node = self.node(number)
        size = node["size"] if node else 4096
        mode = stat.S_IFREG | 0o644 if node else stat.S_IFDIR | 0o755
        return struct.pack(
            "<6Q10I", number, size, (size + 511) // 512, NOW, NOW, NOW, 0, 0, 0, mode, 1 if node else 2, 0, 0, 0, 4096, 0
        )

    def content(self, node, offset, size):
        size = max(0, min(size, node["size"] - offset))
        block = random.Random(node["seed"]).randbytes(4096)
        start = offset % 4096
        return (block * (size // 4096 + 2))[start : start + size]

    def answer(self, opcode, number, body):
        """The bytes to answer with, an errno, or None for no answer at all."""
        if self.whole.get("die_after") is not None and self.reads > self.whole["die_after"] and opcode != FORGET:
            return errno.EIO
        if opcode == LOOKUP:
            name = body.split(b"\0")[0].decode(errors="replace")
            if name not in self.spec:
                return errno.ENOENT
            found = self.names.index(name) + 2
            return struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + self.attributes(found)
        if opcode == GETATTR:
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(number)
        if opcode in (OPEN, OPENDIR):
            node = self.node(number)
            if node and node["mode"] == "hang-open":
                return None
            return struct.pack("<Q2I", number, OPEN_NOFLUSH if node else 0, 0)
        if opcode == READ:
            return self.read(self.node(number), *struct.unpack_from("<2QI", body)[1:])
        if opcode == READDIR:
            return self.list(*struct.unpack_from("<2QI", body)[1:])
        if opcode == STATFS:
            return struct.pack("<5Q4I6I", 1 << 20, 1 << 19, 1 << 19, 100, 50, 4096, 255, 4096, 0, *[0] * 6)
        if opcode in (FLUSH, RELEASE, RELEASEDIR):
            return b""
        return errno.ENOSYS

    def read(self, node, offset, size):
        self.reads += 1
        if node["mode"] == "hang-read":
            return None
        if node["mode"] == "eio":
            return errno.EIO
        return self.content(node, offset, size)

    def list(self, offset, size):
        out = b""
        if self.whole.get("endless"):
            return ENDLESS * (size // len(ENDLESS))
        times = 2 if self.whole.get("twice") else 1
        entries = [(number, name) for number, name in enumerate(self.names) for _ in range(times)]
        for index, (number, name) in list(enumerate(entries))[offset:]:
            raw = name.encode()
            entry = struct.pack("<2Q2I", number + 2, index + 1, len(raw), stat.S_IFREG >> 12) + raw
            entry += b"\0" * (-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out


def serve(fd, filesystem):
    while True:
        try:
            request = os.read(fd, 1 << 21)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            continue
        _, opcode, unique, number = struct.unpack_from("<2I2Q", request)
        body = request[40:]
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        if opcode == INIT:
            answer = struct.pack("<4I2H2I2HI7I", 7, 31, 1 << 17, ASYNC_READ, 16, 12, 1 << 17, 1, 32, 0, 0, *[0] * 7)
        else:
            answer = filesystem.answer(opcode, number, body)
        if answer is None:
            if opcode == OPEN:
                # A call that the daemon took cannot be given up even by a
                # killed process: fail this one, and never take another.
                os.write(fd, struct.pack("<IiQ", 16, -errno.EAGAIN, unique))
                time.sleep(3600)
            continue
        if isinstance(answer, int):
            os.write(fd, struct.pack("<IiQ", 16, -answer, unique))
        else:
            os.write(fd, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        tree = Filesystem(json.load(file))
    device = mount(sys.argv[1])
    print("mounted", flush=True)
    serve(device, tree)
