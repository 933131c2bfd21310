"""`python -m bench.viewers PORT COOKIE COUNT`: so many open dashboards, each as a page's script.

Each holds its events open and asks for its page again when it is told that something has changed,
at most once a second. It says `ready` when all are open, and ends with its standard input.
"""

import asyncio
import sys
import time

PAGE = "/"
GAP_SECONDS = 1.0
READ_BYTES = 65_536


class Viewer:
    """One browser: a stream of events, and a connection for pages beside it."""

    def __init__(self, port: int, cookie: str) -> None:
        self._port = port
        self._cookie = cookie
        self._last = 0.0
        self.pages = 0
        self.errors = 0

    async def watch(self, opened: asyncio.Semaphore) -> None:
        reader, writer = await self._send("/live", "Accept: text/event-stream\r\n")
        status = await reader.readline()
        opened.release()
        if b" 200 " not in status:
            self.errors += 1
            return
        try:
            while line := await reader.readline():
                if line.startswith(b"event: changed"):
                    await self._refresh()
        finally:
            writer.close()

    async def _refresh(self) -> None:
        wait = GAP_SECONDS - (time.monotonic() - self._last)
        if wait > 0:
            await asyncio.sleep(wait)
        self._last = time.monotonic()
        reader, writer = await self._send(PAGE, "X-Live: 1\r\nConnection: close\r\n")
        answer = await reader.read(READ_BYTES)
        self.pages += 1
        self.errors += b" 200 " not in answer[:20]
        while answer:
            answer = await reader.read(READ_BYTES)
        writer.close()

    async def _send(
        self, path: str, headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {self._cookie}\r\n{headers}\r\n"
        writer.write(head.encode())
        await writer.drain()
        return reader, writer


async def main() -> None:
    port, cookie, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    viewers = [Viewer(port, cookie) for _ in range(count)]
    opened = asyncio.Semaphore(0)
    watching = [asyncio.create_task(one.watch(opened)) for one in viewers]
    for _ in viewers:
        await opened.acquire()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for one in watching:
        one.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    pages, errors = sum(one.pages for one in viewers), sum(one.errors for one in viewers)
    print(f"= {pages} {errors}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
