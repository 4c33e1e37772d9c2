"""Output other than replies: the log, transport errors, the status."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from llmc.base import logs
from llmc.base.errors import NotFoundError
from llmc.envelope.clean import without_secrets
from llmc.envelope.redact.redactor import Redactor
from llmc.server.status import IndexDifference, IndexResult, RootStatus, SkippedFileStatus, StatusReport
from llmc.server.wire import describe

if TYPE_CHECKING:
    from pathlib import Path

KEY = "AKIA" + "Q3EGR7KZ2MPLT5WX"
PEM = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "-----END PRIVATE KEY-----",
]


pytestmark = pytest.mark.usefixtures("clean_logging")


def test_a_log_holds_no_secret_of_a_path_a_query_or_a_trace(tmp_path: Path) -> None:
    redactor = Redactor()
    logs.open_log(str(tmp_path / "log"), clean=lambda text: redactor.redact(text).text)
    log = logs.get("part")
    event = f"indexed {KEY}"
    log.info(event, path=f"src/{KEY}.txt", nested={"query": [KEY, {"deep": KEY}]}, lines=PEM, files=3)
    logging.getLogger("llmc.library").warning("no events for %s", KEY)
    try:
        int(KEY)
    except ValueError:
        log.exception("failed", where=tmp_path / KEY)
    text = (tmp_path / "log").read_text()
    assert KEY not in text
    assert PEM[1] not in text
    entries = [json.loads(line) for line in text.splitlines()]
    assert entries[0]["path"] == "src/[redacted:aws-key].txt"
    assert entries[0]["files"] == 3
    assert len(entries) == 3


def test_what_goes_wrong_before_the_settings_are_read_is_cleaned_too(tmp_path: Path) -> None:
    logs.open_log(str(tmp_path / "log"), clean=without_secrets, clean_level="warning")
    try:
        int(f"token = {KEY}")
    except ValueError:
        logs.get("part").exception("could not open")
    assert KEY not in (tmp_path / "log").read_text()


def test_an_error_of_the_transport_is_cleaned() -> None:
    for error in (NotFoundError(f"there is no {KEY}", hint=f"Ask for {KEY}.", path=KEY), ValueError(KEY)):
        assert KEY not in json.dumps(describe(error, "log"))


def test_a_status_is_cleaned_however_deep_and_stays_what_it_is() -> None:
    root = RootStatus(
        "/path",
        "name",
        "family",
        "ready",
        error=f"cannot read {KEY}",
        examples=(SkippedFileStatus(f"{KEY}.txt", "failed", "x"),),
    )
    status = StatusReport((root,), problems=(f"settings: {KEY}",))
    done = without_secrets(status)
    assert KEY not in repr(done)
    assert done.roots[0].path == "/path"
    assert without_secrets(StatusReport((), problems=("plain",))) == StatusReport((), problems=("plain",))
    result = IndexResult((), 1.5, (IndexDifference("/r", "a", "stale", KEY),))
    assert KEY not in repr(without_secrets(result))
