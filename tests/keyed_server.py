"""A server that needs a secret: it writes into a file what it was given, as a digest.

`python -m tests.keyed_server MARK` reads the variable API_KEY.
"""

import hashlib
import os
import sys
from pathlib import Path

from tests.integration.echoing_server import serve

SECRET = "pl4nted-s3cret-that-must-be-found-nowhere"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


def entry(mark: Path) -> dict[str, object]:
    """The server in a client's file, with its secret as text."""
    arguments = ["-m", "tests.keyed_server", str(mark)]
    return {"command": sys.executable, "args": arguments, "env": {"API_KEY": SECRET}}


def files_with_secret(*folders: Path) -> list[Path]:
    """All files in these folders that contain the secret."""
    files = (each for folder in folders for each in folder.rglob("*") if each.is_file())
    return [each for each in files if SECRET.encode() in each.read_bytes()]


if __name__ == "__main__":
    given = os.environ.get("API_KEY", "")
    Path(sys.argv[1]).write_text(hashlib.sha256(given.encode()).hexdigest(), encoding="ascii")
    sys.stderr.write(f"The key is {given}\n")
    serve()
