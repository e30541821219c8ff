"""The browser that tests look at the page with: Debian's, no download of Playwright's own."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright


def launch(playwright: Playwright) -> Browser:
    """Return the browser, started without a window."""
    # Chromium's own sandbox does not work for root, as which CI runs.
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox"]
    )
