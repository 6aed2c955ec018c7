"""The system's Firefox, without a window, driven by WebDriver BiDi: Playwright only drives its own build."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 120
_PROMPT = "browsingContext.userPromptOpened"
_NAMES = ("firefox", "firefox-esr")
_PREFERENCES = {"app.normandy.enabled": False, "app.update.disabledForTesting": True}
_PREFERENCES |= {"browser.safebrowsing.downloads.enabled": False, "browser.safebrowsing.malware.enabled": False}
_PREFERENCES |= {"browser.safebrowsing.phishing.enabled": False, "browser.shell.checkDefaultBrowser": False}
_PREFERENCES |= {"datareporting.policy.dataSubmissionEnabled": False}
_PREFERENCES |= {"network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False}
_PREFERENCES |= {"toolkit.telemetry.enabled": False}


def path() -> str | None:
    """Where Firefox is; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Firefox:
    """One tab: `requested` has the addresses that it asked for, `wrong` the errors on its console, and the dialogs."""

    def __init__(self, address: str) -> None:
        import websocket

        self._socket = websocket.create_connection(f"{address}/session", timeout=PATIENCE_S, suppress_origin=True)
        self._number = 0
        self.requested: list[str] = []
        self.wrong: list[str] = []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded", _PROMPT])
        self._tab = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **params: Any) -> Any:
        """Do a command and give back its result; events that come meanwhile are kept.

        Raises:
            RuntimeError: Firefox refused it.
        """
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                if message["type"] == "error":
                    raise RuntimeError(message["message"])
                return message["result"]
            if message.get("method") == "network.beforeRequestSent":
                self.requested.append(message["params"]["request"]["url"])
            elif message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.wrong.append(message["params"]["text"])
            elif message.get("method") == _PROMPT:
                self.wrong.append(f"a dialog: {message['params']['message']}")

    def open(self, address: str) -> None:
        """Go to a page and wait until it is loaded."""
        self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression that gives text, a number, a truth value or null."""
        where = {"context": self._tab}
        found = self.send("script.evaluate", expression=expression, target=where, awaitPromise=True)
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"{expression} did not come true in {PATIENCE_S} s"
            time.sleep(0.1)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def started(profile: Path) -> Iterator[Firefox]:
    """Firefox with an empty profile, kept in the folder `profile`."""
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [str(path()), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with (profile / "said").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + PATIENCE_S
            while (found := re.search(r"BiDi listening on (ws://\S+)", (profile / "said").read_text())) is None:
                assert process.poll() is None, "Firefox ended at once"
                assert time.monotonic() < end, "Firefox did not say where it listens"
                time.sleep(0.1)
            opened = Firefox(found[1])
            yield opened
            opened.close()
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
