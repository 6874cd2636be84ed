"""A web site of the test's own, on loopback, that does to its visitors what sites do."""

import asyncio
import contextlib
import gzip
import zlib
from contextlib import asynccontextmanager

HTML = b"Content-Type: text/html\r\n"
MEGABYTE = 1 << 20


def answer(body=b"", head=HTML, status="200 OK"):
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
        status.encode(), head, len(body), body,
    )  # fmt: skip


def redirect(where, status="302 Found"):
    return answer(b"", b"Location: %s\r\n" % where.encode(), status)


def packed(megabytes):
    """One letter, packed a thousandfold."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(b"a" * MEGABYTE) for _ in range(megabytes)), packer.flush()])


def pdf(text="Hello from a PDF", *, stream=None, filters=b""):
    """A document of one page."""
    stream = stream or f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %s >>"
        % b"/Resources << /Font << /F1 5 0 R >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), filters, stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = bytearray(b"%PDF-1.4\n"), []
    for number, item in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    start = len(body)
    body += b"xref\n0 6\n0000000000 65535 f \n"
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start
    return bytes(body)


def pdf_bomb():
    inner = zlib.compress(zlib.compress(bytes(300 * MEGABYTE)))
    return pdf(stream=inner, filters=b"/Filter [/FlateDecode /FlateDecode]")


class HostileWeb:
    """Answers by path; what is not there is missing. It keeps what it was asked."""

    def __init__(self):
        self.asked = []
        """Pairs of a host and a path."""
        self.heads = []
        self.pages = {}
        """From a path to what is answered: bytes, or a coroutine that gets the two streams."""
        self.port = 0
        self._open = set()

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The visitor, or the test, has left.
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        host = next((line[6:] for line in lines if line.lower().startswith("host: ")), "")
        path = lines[0].split(" ")[1]
        self.asked.append((host.partition(":")[0], path))
        self.heads.append(head.decode("latin-1"))
        page = self.pages.get(path.partition("?")[0], answer(b"missing", status="404 Not Found"))
        if callable(page):
            await page(reader, writer)
        else:
            writer.write(page)
        with contextlib.suppress(OSError):
            await writer.drain()

    async def close(self):
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def silent(reader, writer):
    """Begins, and never goes on."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<p>")
    await writer.drain()
    await reader.read()


async def endless(reader, writer):
    """Never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"more and " * 1000)
        await writer.drain()


async def talkative(reader, writer):
    """Never ends its head."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: %s\r\n" % (b"x" * 1000))
        await writer.drain()


@asynccontextmanager
async def hostile_web(ssl=None, host="127.0.0.1"):
    """The site, open."""
    web = HostileWeb()
    server = await asyncio.start_server(web.serve, host, 0, ssl=ssl)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        await web.close()


def bombs():
    whole = packed(200)
    return {
        "/gzip": answer(whole, HTML + b"Content-Encoding: gzip\r\n"),
        "/twice": answer(gzip.compress(whole), HTML + b"Content-Encoding: gzip, gzip\r\n"),
    }
