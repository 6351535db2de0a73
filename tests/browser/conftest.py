"""Browsers for the tests of the page for respondents, and a server that keeps every request.

Chromium is driven by playwright, Firefox by marionette_driver; a test is skipped where one of them
is not installed. With LDPOPT_BROWSER=required their absence is an error. LDPOPT_CHROMIUM and
LDPOPT_FIREFOX are the paths of the browsers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browsers import (
    CHROMIUM,
    FIREFOX,
    IS_REQUIRED,
    ChromiumDriver,
    Driver,
    FirefoxDriver,
    Server,
    firefox_session,
)
from builders import seconds


def require(what: str | None, reason: str) -> None:
    """Skip a test without its browser."""
    if what is None:
        if IS_REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require(CHROMIUM, "no Chromium, or no playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def firefox() -> Iterator[Any]:
    require(FIREFOX, "no Firefox, or no marionette_driver")
    with firefox_session() as session:
        yield session


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    contexts = []

    def make(**options: Any) -> Any:
        size = {"width": 375, "height": 740}
        context = browser.new_context(**({"viewport": size} | options))
        context.set_default_timeout(seconds(10) * 1000)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(params=["chromium", "firefox"])
def driver(request: pytest.FixtureRequest) -> Driver:
    """A window of each browser with nothing stored."""
    if request.param == "chromium":
        return ChromiumDriver(request.getfixturevalue("new_page")())
    return FirefoxDriver(request.getfixturevalue("firefox"))
