"""Runs a command and looks at each of its system calls before it is made
(ptrace), counted over all threads: strace counts for each thread by itself.

Whoever is called may stop the command for good there, let the call fail, or do
what another program would do at that moment. x86-64 only.
"""

import ctypes
import errno
import os
import platform
import signal
import tempfile
import time

import lib

CALLS = {
    "write": 1, "close": 3, "pwrite64": 18, "fcntl": 72, "fsync": 74, "fdatasync": 75, "ftruncate": 77, "rename": 82,
    "mkdir": 83, "rmdir": 84, "unlink": 87, "fchmod": 91, "fchown": 93, "openat": 257, "mkdirat": 258, "fchownat": 260,
    "newfstatat": 262, "unlinkat": 263, "renameat": 264, "fchmodat": 268, "pread64": 17, "fallocate": 285, "syncfs": 306,
    "renameat2": 316, "statx": 332, "openat2": 437, "utimensat": 280, "linkat": 265,
}
NAMES = {number: name for name, number in CALLS.items()}
# What changes a disk, or makes sure that it has changed.
CHANGES = ("write", "pwrite64", "ftruncate", "fallocate", "fsync", "fdatasync", "syncfs", "mkdir", "mkdirat", "rmdir",
           "unlink", "unlinkat", "rename", "renameat", "renameat2", "linkat", "fchmod", "fchmodat", "fchown", "fchownat")

TRACEME, POKEUSER, SYSCALL, SETOPTIONS, GET_INFO = 0, 6, 24, 0x4200, 0x420E
SYSGOOD, FORK, VFORK, CLONE, EXEC, EXITKILL = 1, 2, 4, 8, 16, 0x100000
WALL, NO_OTHER_THREADS = 0x40000000, 0x20000000
ORIG_RAX, RAX = 15 * 8, 10 * 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class _Info(ctypes.Structure):
    _fields_ = [("op", ctypes.c_uint8), ("arch", ctypes.c_uint32), ("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64),
                ("values", ctypes.c_uint64 * 8)]


def lacking():
    """Why nothing can be traced here, or nothing."""
    return None if platform.machine() == "x86_64" else "written for x86-64"


class Call:
    """A call that is about to be made."""

    def __init__(self, pid, number, values):
        self.pid, self.number = pid, number
        self.name = NAMES.get(values[0], str(values[0]))
        self.args = values[1:7]

    def text(self, at):
        """The argument that is a path."""
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            memory.seek(self.args[at])
            return os.fsdecode(memory.read(256).split(b"\0")[0])

    def path(self, folder, name):
        """The path that a folder's descriptor and a name make."""
        return os.path.join(self.file(folder), self.text(name))

    def file(self, at):
        """What an argument that is a descriptor stands for."""
        return os.readlink(f"/proc/{self.pid}/fd/{ctypes.c_int(self.args[at]).value}")


KILL = -1  # the answer that ends the command instead of making the call


def trace(line, on_call, wanted=None, environment=None):
    """Runs a command; `on_call` is asked before each call, or each of those that
    are wanted. It answers nothing, an error number, or KILL."""
    numbers = {CALLS[name] for name in wanted} if wanted else None
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        first = _start(line, environment or lib.environment(), out, err)
        code = _follow(first, on_call, numbers)
        out.seek(0)
        err.seek(0)
        texts = [file.read().decode(errors="replace") for file in (out, err)]
    return lib.Run(code, *texts, time.monotonic() - started)


def _start(line, environment, out, err):
    line = [os.fspath(word) for word in line]
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _libc.ptrace(TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.execvpe(line[0], line, environment)
        finally:
            os._exit(127)
    os.waitpid(pid, WALL)
    _ptrace(SETOPTIONS, pid, 0, SYSGOOD | FORK | VFORK | CLONE | EXEC | EXITKILL)
    return pid


def _ptrace(request, pid, address, data):
    if _libc.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        if number != errno.ESRCH:  # killed meanwhile
            raise OSError(number, f"ptrace: {os.strerror(number)}")
        return False
    return True


def _follow(first, on_call, numbers):
    """Until the first process has ended; its exit code, negative for a signal."""
    known, failing = {first}, {}
    info, count, code = _Info(), 0, None
    _ptrace(SYSCALL, first, 0, 0)
    while known:
        try:
            pid, status = os.waitpid(-1, WALL | NO_OTHER_THREADS)
        except ChildProcessError:
            break
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            known.discard(pid)
            if pid == first:
                code = os.waitstatus_to_exitcode(status)
            continue
        stop, deliver = os.WSTOPSIG(status), 0
        if stop == signal.SIGTRAP | 0x80:
            ctypes.memset(ctypes.byref(info), 0, ctypes.sizeof(info))
            if _libc.ptrace(GET_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info)) > 0:
                if info.op == 1 and (numbers is None or info.values[0] in numbers):
                    count += 1
                    answer = on_call(Call(pid, count, list(info.values)))
                    if answer == KILL:
                        os.kill(first, signal.SIGKILL)
                        on_call = _nothing
                        continue
                    if answer:
                        failing[pid] = answer
                        _ptrace(POKEUSER, pid, ORIG_RAX, (1 << 64) - 1)
                elif info.op == 2 and pid in failing:
                    _ptrace(POKEUSER, pid, RAX, (1 << 64) - failing.pop(pid))
        elif stop == signal.SIGTRAP:
            pass  # a clone, fork or exec
        elif pid not in known:
            known.add(pid)  # a new thread begins stopped
        else:
            deliver = stop
        known.add(pid)
        _ptrace(SYSCALL, pid, 0, deliver)
    return code


def _nothing(_call):
    return None
