"""Settings of servers and delegates: mistakes are reported with their line and the nearest valid name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from llmc.base.errors import ConfigError
from llmc.extend.delegates.delegate import provider_of
from llmc.settings import load

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
[mcps.files]
command = "npx"
args = ["-y", "server-filesystem", "/src"]
expose = "*"

[providers.local]
base_url = "http://127.0.0.1:1234/v1"

[delegates.research]
description = "Finds things."
provider = "local"
model = "small"
internal_tools = { files = ["read_file"], llmc = ["search"] }
"""


def loaded(folder: Path, text: str, name: str = "delegates.toml") -> object:
    path = folder / name
    path.write_text(text)
    return load(folder, {"HOME": str(folder)}, (), path).settings


def test_toml_and_the_seeds_json_say_the_same(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    seed = {
        "mcps": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "/src"], "expose": ["*"]}},
        "providers": {"local": {"base_url": "http://127.0.0.1:1234/v1"}},
        "tools": [
            {
                "name": "research",
                "description": "Finds things.",
                "arguments": schema,
                "internal_tools": {"files": ["read_file"], "llmc": ["search"]},
                "provider": "local",
                "model": "small",
            }
        ],
    }
    toml = loaded(
        tmp_path, f"{TOML}arguments = {{ type = 'object', properties = {{ query = {{ type = 'string' }} }} }}"
    )
    as_json = loaded(tmp_path, json.dumps(seed), "delegates.json")
    assert toml.mcps == as_json.mcps  # type: ignore[attr-defined]
    assert toml.delegates == as_json.delegates  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("files = [", "file = [", 14, "did you mean files?"),
        ('command = "npx"', 'comand = "npx"', 3, "did you mean mcps.files.command?"),
        ('command = "npx"', 'transport = "sse"', 2, "url is missing"),
        ("[mcps.files]", "[mcps.llmc]", 2, "stands for the tools of llmc itself"),
        ('model = "small"', 'model = "small"\narguments = {type = "array"}', 14, "must be a JSON schema of an object"),
        ('model = "small"', "", 10, "model is missing"),
    ],
)
def test_an_invalid_entry_is_skipped_and_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    path = tmp_path / "delegates.toml"
    path.write_text(TOML.replace(old, new))
    made = load(tmp_path, {"HOME": str(tmp_path)}, (), path)
    first = made.skipped[0]
    assert said in str(first)
    assert first.source.line == line
    assert "is skipped" in str(first)
    table, _, name = first.entry.partition(".")
    assert name not in getattr(made.settings, table)
    assert "local" in made.settings.providers


@pytest.mark.parametrize(("typed", "meant"), [("locl", "local"), ("antropic", "anthropic")])
def test_an_unknown_provider_takes_out_its_delegate_alone(tmp_path: Path, typed: str, meant: str) -> None:
    path = tmp_path / "delegates.toml"
    path.write_text(TOML.replace('provider = "local"', f'provider = "{typed}"'))
    made = load(tmp_path, {"HOME": str(tmp_path)}, (), path)
    (notice,) = made.notices
    assert notice.source.line == 12
    assert notice.hint == f"did you mean {meant}?"
    with pytest.raises(ConfigError, match="no provider is named") as error:
        provider_of(typed, made.settings, {})
    assert error.value.hint == f"Did you mean {meant}?"


def test_a_vendor_needs_no_entry_and_says_which_key_is_missing(tmp_path: Path) -> None:
    settings = loaded(tmp_path, TOML.replace('provider = "local"', 'provider = "google"'))
    with_key = provider_of("google", settings, {"GEMINI_API_KEY": "abc"})  # type: ignore[arg-type]
    assert (with_key.kind, with_key.api_key.reveal()) == ("google", "abc")
    without = provider_of("google", settings, {})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="GOOGLE_API_KEY"):
        without.api_key.reveal()
