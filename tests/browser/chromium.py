"""Headless Chromium, driven by Selenium (`make test-page`). Without Chromium the run fails with a message."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from page_world import login_url
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from http_world import Served

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60
TALLEST = 2_400


def found(*names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.exit(f"none of {', '.join(names)} is installed: apt-get install chromium chromium-driver", returncode=2)


class Browser:
    """`shot` stores a picture of the whole page in the folder LLMC_SCREENSHOTS."""

    def __init__(self, server: Served, driver: webdriver.Chrome) -> None:
        self.server = server
        self.driver = driver
        self._scheme, self._width = "light", 1100

    def login(self) -> None:
        self.driver.get(login_url(self.server))
        WebDriverWait(self.driver, SECONDS).until(lambda driver: driver.current_url == f"{self.server.url}/")

    def go(self, path: str) -> None:
        self.driver.get(self.server.url + path)

    def until(self, script: str) -> None:
        WebDriverWait(self.driver, SECONDS).until(lambda driver: driver.execute_script(f"return {script}"))

    def run(self, script: str) -> object:
        made: object = self.driver.execute_script(f"return {script}")
        return made

    def look(self, scheme: str = "light", width: int = 1100, height: int = 800) -> None:
        self._scheme, self._width = scheme, width
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def shot(self, name: str) -> None:
        if folder := os.environ.get("LLMC_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            height = min(int(str(self.run("document.documentElement.scrollHeight"))), TALLEST)
            self.look(self._scheme, self._width, height)
            assert self.driver.save_screenshot(str(Path(folder, f"{name}.png")))

    def complaints(self) -> list[str]:
        """Resources that the browser refused to run or load, and script errors."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextlib.contextmanager
def chromium(server: Served) -> Iterator[Browser]:
    options = Options()
    options.binary_location = found(*BROWSERS)
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
        # As root, in a container, Chromium's sandbox does not start.
        for flag in [*flags, *(["--no-sandbox"] if os.getuid() == 0 else [])]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(found("chromedriver")))
        try:
            made = Browser(server, driver)
            made.look()
            made.login()
            yield made
        finally:
            driver.quit()
