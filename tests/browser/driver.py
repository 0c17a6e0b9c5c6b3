"""Chromium, driven through chromedriver by the plain WebDriver protocol: just
what the steps need, from the standard library."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
]
KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "End": "\ue010",
    "Home": "\ue011",
}


class Browser:
    """One browser with one window, and a profile that vanishes with it."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="dupescan-browser-")
        self.server = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.base = f"http://127.0.0.1:{self._port()}"
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, f"--user-data-dir={self.profile.name}"],
        }
        capabilities = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.base += f"/session/{session['sessionId']}"
        self.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", "")
        finally:
            self.server.terminate()
            self.server.wait(10)
            self.profile.cleanup()

    def _port(self):
        for line in self.server.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return found[1]
        raise RuntimeError("chromedriver did not start")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:500]}") from None

    def cdp(self, command, **params):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def js(self, script, *args):
        """What a script returns; it may return a promise."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def window(self, width, height, dark=False):
        """A window of this size, in a light or dark surrounding."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, file):
        """Opens a report from disk, waits until it is drawn, and says how many
        milliseconds that took by the page's own clock."""
        self.logs("browser"), self.logs("performance")
        self._call("POST", "/url", {"url": Path(file).resolve().as_uri()})
        return int(self.wait("return document.documentElement.dataset.ready"))

    def wait(self, script, *args, seconds=20):
        """Waits until a script returns something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.js(script, *args)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never came true: {script}")

    def press(self, *keys):
        """Presses keys one after the other, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector):
        """Clicks the middle of an element, as a mouse would."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{next(iter(found.values()))}/click", {})

    def logs(self, kind):
        return self._call("POST", "/se/log", {"type": kind})

    def requests(self):
        """Addresses that the page asked for since it was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        sent = [event for event in events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self, file):
        Path(file).write_bytes(base64.b64decode(self.cdp("Page.captureScreenshot", format="png")["data"]))
