"""Answers each line that it reads with the next piece of a script, byte for byte; no SDK, no manners.

The script is a JSON list: a string is written as it is (Latin-1), null stands for no answer, a number ends the process
with that code, "PID" writes the process id as a notification, "STAY" does so and then ignores every request to end.
"""

import json
import os
import signal
import sys
from pathlib import Path


def answer(piece: object) -> None:
    if isinstance(piece, int):
        sys.exit(piece)
    stays = piece == "STAY"
    if stays:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if piece in ("PID", "STAY"):
        piece = json.dumps({"jsonrpc": "2.0", "method": "notifications/pid", "params": {"pid": os.getpid()}}) + "\n"
    if piece is not None:
        sys.stdout.buffer.write(str(piece).encode("latin-1"))
        sys.stdout.buffer.flush()
    while stays:
        signal.pause()


script = iter(json.loads(Path(sys.argv[1]).read_text()))
for _ in sys.stdin.buffer:
    answer(next(script, None))
