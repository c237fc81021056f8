# SPDX-License-Identifier: MIT
"""A browser without a window, driven through its own protocol over two pipes: pages that are opened as files, keys,
clicks, and questions in JavaScript. Skips where no browser is installed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

NAMES = ["chromium", "chromium-browser", "google-chrome"]
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find():
    for name in NAMES:
        if shutil.which(name):
            return shutil.which(name)
    raise unittest.SkipTest("no browser is installed (chromium)")


class Browser:
    """One page. Its profile is a folder that goes with it."""

    def __init__(self, width=1200, height=800, dark=False):
        self.folder = tempfile.mkdtemp(prefix="usertrace-browser-")
        here, theirs = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{here[1]}', "sh", find(), "--headless", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--window-size={width},{height}", f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=[theirs[0], here[1]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs[0])
        os.close(here[1])
        self.read_from, self.write_to = os.fdopen(here[0], "rb"), os.fdopen(theirs[1], "wb")
        self.number, self.buffer, self.session, self.faults = 0, b"", None, []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self.ask("Page.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if dark:
            self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
            self.process.wait(20)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.read_from.close()
        self.write_to.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read_from.fileno(), 65536)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        self.write_to.write(json.dumps(question).encode() + b"\0")
        self.write_to.flush()
        while True:
            answer = self.message()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.faults.append(answer["params"]["exceptionDetails"])
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def script(self, text):
        """The value of an expression; raises what it throws."""
        answer = self.ask("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, text, seconds=20):
        """Until the expression holds; its value."""
        until = time.monotonic() + seconds
        while True:
            value = self.script(text)
            if value or time.monotonic() > until:
                return value
            time.sleep(0.02)

    def open(self, address):
        """A file's path, with or without a fragment, or any address."""
        self.ask("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank' && document.readyState === 'complete'")
        self.ask("Page.navigate", url="file://" + address if address.startswith("/") else address)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def key(self, key, modifiers=0):
        """One key; modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        if len(key) == 1 and not modifiers & 2:
            event["text"] = key
        elif key == "Enter":
            event["text"] = "\r"
        self.ask("Input.dispatchKeyEvent", type="keyDown", **event)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in event.items() if k != "text"})

    def type(self, text):
        """Into what has the focus."""
        self.ask("Input.insertText", text=text)

    def move(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.move(x, y)
        for what in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))
