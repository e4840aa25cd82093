"""The processes of the Ray cluster that this process has started."""

import os
import signal
from pathlib import Path


def pids(actor):
    """Return the processes of an actor's class; Ray names its processes after what runs in them."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes()
            if title.startswith(b"ray::" + actor.encode()) and _is_ours(path):
                found.add(int(path.name))
        except OSError:  # it has ended
            continue
    return found


def kill_one(actor):
    """Kill one of them; return which."""
    pid = min(pids(actor))
    os.kill(pid, signal.SIGKILL)
    return pid


def _is_ours(path):
    """Tell whether a process descends from this one; another test may have a cluster of its own at the same time."""
    parent = int(path.name)
    while parent > 1:
        if parent == os.getpid():
            return True
        parent = int((path.parent / str(parent) / "stat").read_text().rpartition(")")[2].split()[1])
    return False
