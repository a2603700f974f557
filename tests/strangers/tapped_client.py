"""The client of the conformance suite behind a tap: `… tapped_client DATA_DIR URL`."""

from __future__ import annotations

import subprocess
import sys

from tests.integration.commands import PROGRAM


def main(data_dir: str, url: str) -> int:
    """Tap the server at `url`, and have our client play its scenario through that."""
    arguments = [*PROGRAM, "tap", "--to", url, "--listen", "127.0.0.1:0", "--data-dir", data_dir]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as tap:
        try:
            assert tap.stdout is not None
            client = [sys.executable, "-m", "tests.integration.conformance_client"]
            return subprocess.run([*client, tap.stdout.readline().strip()], check=False).returncode
        finally:
            tap.terminate()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
