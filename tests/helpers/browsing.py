"""A headless Chromium for tests, and pictures of pages."""

import os
import shutil
import tempfile
from contextlib import contextmanager

import pytest

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium():
    """The path of a Chromium, or the reason why there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("ONLINESVM_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )


def needs_chromium():
    """Skip without a browser, unless ONLINESVM_NEEDS_CHROMIUM says that there must be one."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        reason = "playwright is not installed"
    else:
        if chromium():
            return
        reason = "there is no Chromium (apt-get install chromium)"
    if os.environ.get("ONLINESVM_NEEDS_CHROMIUM"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def browser(**settings):
    """A page in an empty profile; errors of its scripts fail the test."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=ARGUMENTS, accept_downloads=True,
            **{"viewport": {"width": 1280, "height": 900}, **settings},
        )  # fmt: skip
        page = context.pages[0] if context.pages else context.new_page()
        page.set_default_timeout(30_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console", lambda m: errors.append(m.text) if "Content Security" in m.text else None
        )
        try:
            yield page
        finally:
            context.close()
        assert not errors, errors
