"""Two browsers behind one set of steps, and a server that answers as a collector does."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import shutil
import socket
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from builders import seconds

IS_REQUIRED = os.environ.get("LDPOPT_BROWSER") == "required"


def _program(variable: str, module: str, *names: str) -> str | None:
    """The path of a browser, if it and what drives it are installed."""
    paths = [os.environ.get(variable), *map(shutil.which, names)]
    path = next(filter(None, paths), None)
    return path if importlib.util.find_spec(module) is not None else None


CHROMIUM = _program("LDPOPT_CHROMIUM", "playwright", "chromium", "google-chrome")
FIREFOX = _program("LDPOPT_FIREFOX", "marionette_driver", "firefox-esr", "firefox")


class Server:
    """Serves one page, keeps every request, and answers reports as a collector does, or not at
    all.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.page = ""
        self.status, self.headers = 201, {}  # of the answers to reports
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer("")

            def do_POST(self) -> None:
                self.answer(self.rfile.read(int(self.headers["content-length"])).decode())

            def answer(self, body: str) -> None:
                server.requests.append((self.command, self.path, body))
                self.send_response(server.status if self.command == "POST" else 200)
                self.send_header("access-control-allow-origin", "*")
                for key, value in server.headers.items():
                    self.send_header(key, value)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(server.page.encode() if self.path == "/" else b"")

            def do_OPTIONS(self) -> None:
                self.answer("")

            def log_message(self, *parts: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/"
        Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def messages(self) -> list[str]:
        return [
            body for command, path, body in self.requests if (command, path) == ("POST", "/reports")
        ]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


class Driver(ABC):
    """What a person does on the page: elements are named by CSS."""

    @abstractmethod
    def open(self, url: str) -> None:
        """Go to an address."""

    @abstractmethod
    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""

    @abstractmethod
    def click(self, css: str) -> None:
        """Click on an element that can be seen."""

    @abstractmethod
    def fill(self, css: str, text: str) -> None:
        """Type a text in place of another."""

    @abstractmethod
    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true, also while another page comes."""
        end = time.monotonic() + seconds(10)
        while True:
            with suppress(Exception):  # there is no page to ask for a moment
                if value := self.run(expression):
                    return value
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def text(self, css: str) -> str:
        """What can be read in an element."""
        return str(self.run(f"document.querySelector({json.dumps(css)}).innerText"))

    def is_visible(self, css: str) -> bool:
        """Whether there is an element that takes room."""
        return bool(self.run(f"document.querySelector({json.dumps(css)})?.getClientRects().length"))

    def count(self, css: str) -> int:
        """How many elements there are."""
        return int(self.run(f"document.querySelectorAll({json.dumps(css)}).length"))

    def seen(self, css: str) -> list[str]:
        """The texts of all elements that take room."""
        shown = "filter((one) => one.getClientRects().length).map((one) => one.innerText)"
        return list(self.run(f"[...document.querySelectorAll({json.dumps(css)})].{shown}"))

    def faults(self) -> list[str]:
        """What axe-core finds against accessibility, with the first place of each."""
        script = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
        first = "one.id + ': ' + one.nodes[0].html"
        found = f"axe.run().then((found) => found.violations.map((one) => {first}))"
        return list(self.run(f"(() => {{ {script}; return {found}; }})()"))


class ChromiumDriver(Driver):
    """A page of playwright."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", lambda message: self.said.append(message.text))

    def open(self, url: str) -> None:
        self.page.goto(url)

    def run(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def click(self, css: str) -> None:
        self.page.click(css)

    def fill(self, css: str, text: str) -> None:
        self.page.fill(css, text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


# The codes that WebDriver has for keys
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " ", "ArrowDown": "\ue015"}


class FirefoxDriver(Driver):
    """A window of Firefox with marionette."""

    def __init__(self, session: Any) -> None:
        self.session = session
        session.navigate("about:blank")

    def open(self, url: str) -> None:
        self.session.navigate(url)

    def run(self, expression: str) -> Any:
        return self.session.execute_script(f"return {expression};", sandbox=None)

    def click(self, css: str) -> None:
        self._element(css).click()

    def fill(self, css: str, text: str) -> None:
        element = self._element(css)
        element.clear()
        element.send_keys(text)

    def press(self, *keys: str) -> None:
        from marionette_driver.marionette import ActionSequence

        sequence = ActionSequence(self.session, "key", "keyboard")
        for key in keys:
            code = KEYS.get(key, key)
            sequence.key_down(code).key_up(code)
        sequence.perform()

    def _element(self, css: str) -> Any:
        from marionette_driver import By

        return self.session.find_element(By.CSS_SELECTOR, css)


@contextmanager
def firefox_session() -> Iterator[Any]:
    """A Firefox without a screen, and a new profile."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Firefox needs a file for its log, which is removed at first: never a device such as /dev/null.
    with TemporaryDirectory() as folder:
        log = os.path.join(folder, "firefox.log")
        with quiet():
            from marionette_driver.marionette import Marionette

            session = Marionette(port=port, bin=FIREFOX, headless=True, gecko_log=log)
            session.start_session()
        try:
            yield session
        finally:
            with quiet():
                session.quit()
                session.cleanup()
                del session


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of marionette_driver, which leaves sockets open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
