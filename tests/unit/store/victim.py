"""Programs that use a store and come to grief, for tests that kill them: `ROLE FOLDER` a line.

One process imports everything and forks for each line it reads, which makes hundreds of deaths
cheap. What the programs say goes to stdout, a line each; `pid N` first, `ended` when it is over.
"""

import os
import random
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.chains import SavedProgress
from mcp_progress_monitor.store.resumes import ResumeStore
from tests.unit.store.samples import SHARED_UNTIL, begun, opened

_PAYLOADS = (0, 10, 3_000, 20_000)


def say(text: str) -> None:
    """Write a line at once: nothing said is lost in a buffer."""
    os.write(1, f"{text}\n".encode())


async def save(folder: Path) -> None:
    """Bring the only chain forward for ever; each token begins with its number."""
    store = ResumeStore(folder)
    await store.open()
    if store.error is not None:
        say(f"error {store.error.as_text()!r}")
    chains = await store.chains()
    chain = chains[0].id if chains else await begun(store, "1 ")
    number = int(chains[0].token.split()[0]) if chains else 1
    while True:
        say(f"saved {number}")
        await store.start_attempt(chain, when=float(number))
        number += 1
        payload = "x" * random.choice(_PAYLOADS)  # noqa: S311  # no secret
        await store.advance(chain, f"{number} {payload}", SavedProgress(number), when=float(number))


async def hold(folder: Path) -> None:
    """Begin an attempt and never hear of it again."""
    async with opened(folder) as store:
        (chain,) = await store.chains()
        await store.start_attempt(chain.id, when=300.0)
        say("holding")
        await anyio.sleep_forever()


async def share(folder: Path) -> None:
    """Bring a chain forward in turns with others; a file shows that nobody else has it."""
    async with opened(folder) as store:
        (chain,) = await store.chains()
        while await _shared_turn(store, chain.id, folder / "in-flight"):
            await _pause()


async def _shared_turn(store: ResumeStore, chain: int, mark: Path) -> bool:
    try:
        started = await store.start_attempt(chain, when=1.0)
    except UserError as error:
        if "Another running program" not in error.details.what:
            say(f"error {error.details.as_text()!r}")
        return True
    number = int(started.token)
    if number >= SHARED_UNTIL:
        return False
    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    await _pause()
    os.unlink(mark)  # noqa: PTH108  # no thread for so little
    await store.advance(chain, str(number + 1), SavedProgress(), when=1.0)
    say(f"saved {number + 1}")
    return True


async def _pause() -> None:
    await anyio.sleep(random.random() / 200)  # noqa: S311  # no secret


async def outgrow(folder: Path) -> None:
    """Save until no file may grow any more, then once more when they may again."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with opened(folder) as store:
        await begun(store, "first")
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, most))
        try:
            while True:
                await begun(store, "x" * 5_000)
        except UserError as error:
            say(f"error {error.details.what}")
        count = len(await store.chains())
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        await begun(store, "last")
        say(f"saved {len(await store.chains()) - count}")


ROLES: dict[str, Callable[[Path], Awaitable[None]]] = {
    role.__name__: role for role in (save, hold, share, outgrow)
}


def main() -> None:
    """Play the roles that stdin names, several at once for a name with a count: `share*3`."""
    for line in sys.stdin:
        role, folder = line.rstrip("\n").split(" ", 1)
        name, _, count = role.partition("*")
        children = [_fork(name, Path(folder)) for _ in range(int(count or 1))]
        for child in children:
            os.waitpid(child, 0)
        say("ended")


def _fork(role: str, folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        say(f"pid {os.getpid()}")
        anyio.run(ROLES[role], folder)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
