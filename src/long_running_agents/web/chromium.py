"""A real browser behind a proxy of ours. Each page gets a new one, which does not outlive it."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from long_running_agents.errors import NotConfigured, Unavailable
from long_running_agents.proxy import Proxy
from long_running_agents.web.browser import Rendered
from long_running_agents.web.fetching import Fetcher
from long_running_agents.web.visit import Visit

if TYPE_CHECKING:
    from patchright.async_api import BrowserContext

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_USER = 61183
"""Whom the superuser's browser runs as: nobody in particular."""
_MOST = 64 << 20
"""Bytes that all requests of one page may bring."""
_ENDING = 5.0
_LAUNCHING = 30.0
_FLAGS = (
    # No way around the proxy: neither other protocols nor names looked up by the browser itself.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Nothing that speaks to anybody by itself.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-client-side-phishing-detection",
    "--safebrowsing-disable-auto-update",
    "--metrics-recording-only",
    "--gaia-url=http://127.0.0.1:9",
    "--google-base-url=http://127.0.0.1:9",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-crash-reporter",
    "--disable-breakpad",
    "--no-pings",
    "--mute-audio",
    "--js-flags=--max-old-space-size=512",
)
_WISHES = {
    "net": {"network_prediction_options": 2},
    "search": {"suggest_enabled": False},
    "signin": {"allowed": False},
    "safebrowsing": {"enabled": False},
    "webrtc": {"ip_handling_policy": "disable_non_proxied_udp"},
}
"""Settings of its profile, to the same end."""
_MISSING = "Install it with: pip install 'long-running-agents[browser]'"
_NO_PROGRAM = "Install it (sudo apt install chromium), or set web.browser to its path."


class Chromium:
    """Chromium, or whatever is like it, driven by patchright."""

    def __init__(self, fetcher: Fetcher, *, program: str = "") -> None:
        """Prepare it.

        Args:
            fetcher: Whose guard, limits and manners hold for the browser, too.
            program: The browser; otherwise one is looked for.
        """
        self._fetcher = fetcher
        self._program = program
        # A browser takes hundreds of megabytes.
        self._turn = asyncio.Semaphore(1)

    async def render(self, url: str, *, stealth: bool) -> Rendered:
        """Show a page."""
        program = find(self._program)
        async with self._turn:
            with _folder() as folder:
                proxy = Proxy(
                    self._fetcher.admit,
                    resolve=self._fetcher.network.resolve,
                    public=self._fetcher.network.public,
                    most=_MOST,
                )
                await proxy.listen()
                try:
                    return await self._shown(url, folder, proxy, program, stealth=stealth)
                finally:
                    await proxy.close()

    async def _shown(
        self, url: str, folder: Path, proxy: Proxy, program: str, *, stealth: bool
    ) -> Rendered:
        limits = self._fetcher.limits
        async with self._launched(folder, proxy, program, stealth=stealth) as context:
            visit = Visit(context, self._fetcher, proxy, url)
            try:
                async with asyncio.timeout(limits.total):
                    return await visit.made(patient=stealth)
            except TimeoutError as error:
                raise Unavailable(
                    f"{url} did not come to rest within {limits.total:g} seconds.",
                    hint="Its scripts may never end; try web_fetch.",
                ) from error

    @asynccontextmanager
    async def _launched(
        self, folder: Path, proxy: Proxy, program: str, *, stealth: bool
    ) -> AsyncGenerator["BrowserContext"]:
        from patchright.async_api import (  # noqa: PLC0415 - an extra
            Error,
            ProxySettings,
            ViewportSize,
            async_playwright,
        )

        agent = self._fetcher.manners.user_agent or (
            await _usual_agent(program) if stealth else None
        )
        manager = async_playwright()
        driver = await manager.start()
        try:
            try:
                yield await driver.chromium.launch_persistent_context(
                    folder / "profile",
                    executable_path=_launcher(folder, program, self._fetcher.limits.total),
                    headless=True,
                    chromium_sandbox=True,
                    timeout=_LAUNCHING * 1000,
                    proxy=ProxySettings(server=f"http://127.0.0.1:{proxy.port}"),
                    args=list(_FLAGS),
                    user_agent=agent,
                    locale="en-US",
                    viewport=ViewportSize(width=1920, height=1080),
                    accept_downloads=False,
                    service_workers="block",
                )
            except Error as error:
                if "launch" not in str(error) and "closed" not in str(error):
                    raise
                raise Unavailable(
                    f"The browser {program} cannot be started here.",
                    hint="See whether it starts as a plain user, with its sandbox.",
                ) from error
        finally:
            _end(folder)
            # What drove it is of no use without it, and may wait for it in vain.
            with contextlib.suppress(TimeoutError, Error):
                async with asyncio.timeout(_ENDING):
                    await driver.stop()


def find(program: str = "", *, driver: str = "patchright") -> str:
    """The browser to use.

    Args:
        program: Its path; otherwise one is looked for.
        driver: The module that drives it.

    Raises:
        NotConfigured: There is none, or nothing to drive it with.
    """
    if find_spec(driver) is None:
        raise NotConfigured("The extra that drives browsers is missing.", hint=_MISSING)
    if program:
        if not os.access(program, os.X_OK):
            raise NotConfigured(f"There is no browser at {program}.", hint=_NO_PROGRAM)
        return program
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NotConfigured("There is no Chromium on this machine.", hint=_NO_PROGRAM)
    return found


@contextlib.contextmanager
def _folder():  # noqa: ANN202 - a generator's type says less than its name
    with tempfile.TemporaryDirectory(prefix="lra-browser-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        profile = folder / "profile"
        profile.mkdir(mode=0o700)
        wishes = profile / "Default"
        wishes.mkdir(mode=0o700)
        (wishes / "Preferences").write_text(json.dumps(_WISHES), encoding="utf-8")
        if os.geteuid() == 0:
            for path in (profile, wishes, wishes / "Preferences"):
                os.chown(path, _USER, _USER)
        yield folder


def _launcher(folder: Path, program: str, seconds: float) -> Path:
    """A program for the driver to start, since it can start nothing with arguments of ours."""
    path = folder / "launch"
    user = _USER if os.geteuid() == 0 else -1
    words = [sys.executable, "-I", "-m", "long_running_agents.web.inside.launch"]
    words += [str(folder), str(user), str(int(seconds * 2) + 30), program]
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(quote, words))} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def _end(folder: Path) -> None:
    """End the browser and all of its processes, whatever they are busy with."""
    with contextlib.suppress(OSError, ValueError):
        os.killpg(int((folder / "pid").read_text(encoding="ascii")), signal.SIGKILL)


async def _usual_agent(program: str) -> str | None:
    """What this very browser says who it is when somebody sits before it."""
    process = await asyncio.create_subprocess_exec(
        program,
        "--version",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    said, _ = await process.communicate()
    version = next((word for word in said.decode().split() if word[:1].isdigit()), None)
    if version is None:
        return None
    system = (
        "Macintosh; Intel Mac OS X 10_15_7" if sys.platform == "darwin" else "X11; Linux x86_64"
    )
    return (
        f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko)"
        f" Chrome/{version.partition('.')[0]}.0.0.0 Safari/537.36"
    )
