"""A headless Chromium, driven through its DevTools protocol over two pipes: JSON, each message ended by a zero byte.

with Browser() as browser:
    tab = browser.open(path, width=390, dark=True)
    tab.run("document.title")
    tab.click("#kernels tr")
    assert tab.problems == []
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 60.0  # seconds, on a machine that does much else


def executable() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Browser:
    def __init__(self) -> None:
        program = executable()
        if program is None:
            raise FileNotFoundError("there is no Chromium; `make test-python` installs it")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_end, self._commands = os.pipe()
        self._answers, answer_end = os.pipe()
        # The browser finds commands in its descriptor 3 and puts answers into 4.
        shell = f'exec "$@" 3<&{command_end} 4>&{answer_end}'
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--no-first-run",
            "--force-color-profile=srgb",
            f"--user-data-dir={self._folder.name}",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "browser", program, *flags],
            pass_fds=(command_end, answer_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_end)
        os.close(answer_end)
        self._number = 0
        self._buffer = b""
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._send("Browser.close", {}, None)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def open(self, path: str | Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Tab:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = self._tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        tab.call("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", {"features": [scheme]})
        tab.call("Page.navigate", {"url": Path(path).resolve().as_uri()})
        tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return tab

    def call(self, method: str, parameters: dict[str, Any] | None = None, session: str | None = None) -> Any:
        number = self._send(method, parameters or {}, session)
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if message.get("sessionId") in self._tabs:
                self._tabs[message["sessionId"]].hear(message)

    def _send(self, method: str, parameters: dict[str, Any], session: str | None) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], _PATIENCE)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._answers, 1 << 16)
            if not more:
                raise RuntimeError("the browser has gone away")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))


class Tab:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.problems: list[str] = []  # what the console says in red or yellow, and errors of scripts
        self.requests: list[str] = []  # what was loaded, the page itself included

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        return self._browser.call(method, parameters, self._session)

    def hear(self, message: dict[str, Any]) -> None:
        event, about = message["method"], message["params"]
        if event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.problems.append(str([argument.get("value") for argument in about["args"]]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(about["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or of the promise it gives."""
        result = self.call(
            "Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True}
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "it threw"))
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """A click of the mouse in the middle of the first element of that kind."""
        middle = self.run(
            f"""(() => {{
              const found = document.querySelector({json.dumps(selector)});
              found.scrollIntoView({{block: "center", behavior: "instant"}});
              const box = found.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                {"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1},
            )

    def type(self, text: str) -> None:
        self.call("Input.insertText", {"text": text})

    def screenshot(self, path: str | Path, *, whole: bool = False) -> None:
        picture = self.call("Page.captureScreenshot", {"captureBeyondViewport": whole, "format": "png"})
        Path(path).write_bytes(base64.b64decode(picture["data"]))
