"""`llmc redact`: what is redacted, why and where."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

AWS = "AKIAQ3EGR7KZ2MPLT5WX"


def test_check_names_rule_and_place_but_not_the_secret(place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("user: me\npassword: hunter2x\n")
    done = place.llmc("redact", "--check", "a.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "a.yaml:2:11: password: password: [redacted:password]\n"


def test_check_says_when_nothing_would_go(place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("password = None\n")
    done = place.llmc("redact", "--check", "a.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_names_and_references_are_shown_and_a_secret_beside_them_is_not(place: Place, tmp_path: Path) -> None:
    kept = "properties: ['email', 'password', 'signatureDate']\nsecret: '%kernel.secret%'\n"
    (tmp_path / "security.yaml").write_text(f"{kept}password: 'opensesame'\n")
    (tmp_path / "mail.vm").write_text('#set($text = "Reset password: $webUrl/reset?passwordReset=$token")\n')
    done = place.llmc("redact", "--check", "security.yaml", "mail.vm", cwd=tmp_path)
    assert done.stdout == "security.yaml:3:12: password: password: '[redacted:password]'\n"
    (tmp_path / ".git").mkdir(exist_ok=True)
    done = place.llmc("read", "security.yaml", cwd=tmp_path)
    assert "'signatureDate'" in done.stdout
    assert "'%kernel.secret%'" in done.stdout
    assert "opensesame" not in done.stdout


def test_standard_input_is_read_and_json_is_written(place: Place) -> None:
    done = place.llmc("redact", "--check", "--json", "-", input=f"x\n{AWS}\n")
    found = json.loads(done.stdout)["findings"]
    assert [(each["file"], each["line"], each["rule"]) for each in found] == [("-", 2, "aws-key")]


def test_without_check_the_text_is_shown_without_its_secrets(place: Place) -> None:
    assert place.llmc("redact", "-", input=f"a {AWS} b\x1b\n").stdout == "a [redacted:aws-key] b\\e\n"


def test_a_token_behind_a_colour_code_is_not_shown(place: Place, tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_bytes(b"ok\n\x1b[31mghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5\x1b[0m needle\n")
    (tmp_path / ".git").mkdir()
    for command in (("redact", "ci.log"), ("read", "ci.log"), ("grep", "needle"), ("te", "cat", "ci.log")):
        done = place.llmc(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "[redacted:github-token]" in done.stdout
        assert "aB3dE5" not in done.stdout
    assert "1 line redacted" in place.llmc("read", "ci.log", cwd=tmp_path).stdout.split("\n")[0]


def test_settings_add_rules_and_allow_paths(place: Place, tmp_path: Path) -> None:
    config = tmp_path / "own.toml"
    config.write_text('[redaction]\nallow = ["ok/"]\n[[redaction.rules]]\nname = "badge"\npattern = "badge-[0-9]+"\n')
    (tmp_path / "ok").mkdir()
    for name in ("a.txt", "ok/a.txt"):
        (tmp_path / name).write_text("badge-12\n")
    done = place.llmc("--config", str(config), "redact", "a.txt", "ok/a.txt", cwd=tmp_path)
    assert done.stdout == "[redacted:badge]\nbadge-12\n"


def test_a_file_that_is_not_there_is_an_error(place: Place) -> None:
    done = place.llmc("redact", "nowhere.txt")
    assert done.returncode == 1
    assert "nowhere.txt cannot be read" in done.stderr


def test_importing_the_rules_costs_no_engine() -> None:
    script = "import sys, llmc.envelope.clean; print({'re2', 'tomllib', 'llmc.base.globbing'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
