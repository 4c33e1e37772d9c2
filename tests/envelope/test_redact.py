"""Redaction of secrets in text: what is removed, what stays, and that nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.redaction import damage, missed
from bench.redaction_corpus import generic, harmless, known
from llmc.envelope.redact.redactor import Redactor, redact, redact_lines
from llmc.envelope.redact.table import table
from llmc.settings import Redaction, RedactionRule, Settings
from llmc.settings.cross_checks import inconsistencies

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
AWS = "AKIAQ3EGR7KZ2MPLT5WX"


@pytest.mark.parametrize("seed", range(3))
def test_no_known_format_is_missed(seed: int) -> None:
    assert missed(known(seed, rounds=1)) == []


@pytest.mark.parametrize("seed", range(3))
def test_at_most_one_in_twenty_passwords_is_missed(seed: int) -> None:
    cases = generic(seed, rounds=3)
    assert len(missed(cases)) <= len(cases) // 20


GITHUB = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


@pytest.mark.parametrize(
    "hidden",
    [
        "\x1b[31m{}\x1b[0m",
        "\x1b[1;38;5;196m{}",
        "\x9b31m{}",
        "\x1b]8;;https://h\x07{}\x1b]8;;\x07",
        "\\033[31m{}\\033[0m",
        "\\x1b[31m{}",
        "\\u001b[31m{}",
        "\\e[31m{}",
        "^[[31m{}",
        "[31m{}",
        "\u200b{}",
        "\ufeff{}",
        "name\x00{}",
        "log: \\n{}",
        "next=/login%3Ftoken%3D{}",
    ],
)
def test_a_token_behind_a_colour_code_or_an_invisible_character_goes(hidden: str) -> None:
    text = f"é before\n{hidden.format(GITHUB)}\nafter\n"
    done = redact(text, "a.log")
    assert done.text == text.replace(GITHUB, "[redacted:github-token]")
    assert [each.secret for each in done.findings] == [GITHUB]


@pytest.mark.parametrize("inside", ["\u200b", "\x1b[0m", "\u00ad", "\U000e0041", "\x00", "\\u200b"])
def test_a_token_with_something_invisible_inside_goes(inside: str) -> None:
    for at in (2, 4, 20, 39):
        shown = redact(f"x {GITHUB[:at]}{inside}{GITHUB[at:]} y").text
        assert shown == "x [redacted:github-token] y"


def test_coloured_names_and_values_are_read_without_their_colours() -> None:
    line = "\x1b[36mDB_PASSWORD\x1b[0m=\x1b[32mhunter2x\x1b[0m"
    assert redact(line, "a.log").text == line.replace("hunter2x", "[redacted:password]")


def test_joiners_that_a_script_needs_stay() -> None:
    text = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 = password\n"
    assert redact(text, "fa.txt").text == text


@pytest.mark.parametrize("path", ["a.py", ".env", "c.yaml", "a.ts", "notes.md", "a.log", ""])
@pytest.mark.parametrize(
    "line",
    [
        'PASSWORD = "correct-horse-battery-staple"',
        'ACCESS_TOKEN="my-very-secret-token-2024"',
        'MACHINE_KEY="Xk29fLq8Zr4TnWv71BcYhJ0sGdPu5EaMoR3iQwKtN6"',
        'machineKey: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        'tokenForStaging = "aZ3kf93kfLsk20fkAz92kf0q"',
        'passphrase = "correct horse battery staple"',
        'MACHINE_KEY = "river-coffee-dragon-guitar"',
        'access_token = "staple mountain orange sunshine"',
        'tool --webhook_secret "MtSXWaKmhzsM4bNN9wBr" --port 80',
        'set `API_KEY` to "1893447aec26b98c5f3cc9d81414bb58"',
    ],
)
def test_words_and_random_values_under_a_telling_name_go(line: str, path: str) -> None:
    value = line.split('"')[1]
    assert value not in redact(line, path).text


@pytest.mark.parametrize(
    "line",
    [
        'cache_key = "9f86d081884c7d659a2feaa0c55ad015"',
        'primary_key = "Xk29fLq8Zr4TnWv71BcYhJ0s"',
        'public_key = "Xk29fLq8Zr4TnWv71BcYhJ0s"',
        'key = "user:1234:profile"',
        'INTERNAL_RESET_SESSION_TOKEN = "_password_reset_token"',
        'TOKEN_URL = "https://example.org/oauth/token"',
        'dependencies = [("auth", "0002_alter_permission_name_max_length")]',
        'PASSWORD = "newpassword"',
        "const password = given || this.random.text(24);",
        'token = "xyz uses non-hex characters"',
        "tool --token-file build/tokens.json",
        'host_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICV0MGX"',
    ],
)
def test_names_digests_and_public_keys_stay(line: str) -> None:
    assert redact(line, "a.py").text == line


@pytest.mark.parametrize("seed", range(3))
def test_lookalikes_come_back_as_they_were(seed: int) -> None:
    cases = harmless(seed, rounds=2)
    assert len(damage(cases)) <= len(cases) // 50


def test_the_rest_of_the_line_stays_and_the_rule_is_named() -> None:
    done = redact(f"a\nkey = {AWS}  # prod\n", "notes.txt")
    assert done.text == "a\nkey = [redacted:aws-key]  # prod\n"
    assert [(each.rule, each.line, each.column) for each in done.findings] == [("aws-key", 2, 7)]


def test_a_finding_does_not_print_its_secret() -> None:
    assert AWS not in repr(redact(AWS).findings)


def test_a_key_without_its_end_goes_and_what_follows_stays() -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{KEY[:40]}==\n\nplain text follows\n"
    shown = redact(text).text
    assert KEY[:20] not in shown
    assert shown.count("\n") == text.count("\n")
    assert shown.endswith("\n\nplain text follows\n")


def test_lines_above_an_end_go_with_their_key() -> None:
    assert redact_lines([KEY, KEY, "-----END PRIVATE KEY-----"])[:2] == ["[redacted:private-key]", "[redacted]"]


def test_a_lone_line_of_a_key_goes_but_a_certificate_stays() -> None:
    assert redact_lines([KEY]) == ["[redacted:private-key]"]
    certificate = ["-----BEGIN CERTIFICATE-----", KEY, KEY, "-----END CERTIFICATE-----"]
    assert redact_lines(certificate) == certificate


def test_a_private_key_in_base64_goes_and_a_certificate_in_base64_stays() -> None:
    import base64

    for label, goes in (("PRIVATE KEY", True), ("CERTIFICATE", False)):
        encoded = base64.b64encode(f"-----BEGIN {label}-----\n{KEY}\n".encode()).decode()
        assert (encoded not in redact(f"data: {encoded}\n", "c.yaml").text) is goes


@pytest.mark.parametrize(
    "line",
    [
        "password = get_password()",
        "password: ${DB_PASSWORD}",
        'token = os.environ["TOKEN"]',
        "const key = process.env.API_KEY;",
        'password = "changeme"',
        'api_key = "<your-key>"',
        f"{AWS[:4]}IOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "issue_pass ./rbac/mod.rs:236",
    ],
)
def test_placeholders_stay(line: str) -> None:
    assert redact(line, "a.py").text == line


def test_a_bare_word_is_a_variable_in_code_and_a_value_in_a_config_file() -> None:
    line = "password=hunter2x"
    assert redact(f"login({line})", "a.py").text == f"login({line})"
    assert redact(line, "app.ini").text == "password=[redacted:password]"


@pytest.mark.parametrize("path", [".htpasswd", "conf/htpasswd", "htpasswd.example", "htpasswd.conf"])
def test_a_password_file_is_redacted_whatever_its_ending(path: str) -> None:
    assert redact("alice:opensesame", path).text == "alice:[redacted:htpasswd-password]"


@pytest.mark.parametrize("path", ["src/htpasswd.ts", "shadow.py", "docs/htpasswd.md"])
def test_a_program_or_page_about_password_files_keeps_its_lines(path: str) -> None:
    assert redact("src/htpasswd.ts:182 adduser\nalice:opensesame", path).text.startswith("src/htpasswd.ts:182 adduser")


def test_labels_for_people_stay() -> None:
    line = '"password": "Passwort"'
    assert redact(line, "locales/de.json").text == line


def test_a_rule_of_ones_own_redacts_its_first_group() -> None:
    redactor = Redactor(rules=[("badge", r"badge-(\d+)")])
    assert redactor.redact("id badge-1234 ok").text == "id badge-[redacted:badge] ok"


def test_an_allowed_path_passes_as_it_is() -> None:
    redactor = Redactor(allow=["fixtures/"])
    assert redactor.redact(AWS, "tests/fixtures/a.txt").text == AWS
    assert AWS not in redactor.redact(AWS, "src/a.txt").text
    assert Redactor(allow=["*.pem", "!secret.pem"]).redact(AWS, "a/b.pem").text == AWS
    assert AWS not in Redactor(allow=["*.pem", "!secret.pem"]).redact(AWS, "a/secret.pem").text


def test_redaction_can_be_switched_off() -> None:
    assert Redactor.of(Redaction(enabled=False)).redact(AWS).text == AWS


def test_rules_that_cannot_be_used_are_reported() -> None:
    rules = (
        RedactionRule(name="a", pattern="(?=x)"),
        RedactionRule(name="b", pattern="x*"),
        RedactionRule(name="c", pattern="x"),
    )
    found = {key[2]: reason for key, reason, _ in inconsistencies(Settings(redaction=Redaction(rules=rules)))}
    assert sorted(found) == [0, 1]
    assert "RE2" in str(found[0])


def test_every_rule_of_the_table_compiles_and_is_found_by_its_keywords() -> None:
    for rule in table().rules:
        assert rule.regex.groups >= 0
    assert {case.sort for case in missed(known(7, rounds=1))} == set()


@given(st.text(), st.sampled_from(["", "a.py", "c.yaml", ".env"]))
def test_no_line_goes_or_comes_and_twice_is_once(text: str, path: str) -> None:
    done = redact(text, path)
    assert done.text.count("\n") == text.count("\n")
    assert redact(done.text, path).text == done.text


@given(st.lists(st.sampled_from([AWS, "password: hunter2x", "é", "\ud800", "\r", KEY, "x", " ", '"', "=", "\t"])))
def test_findings_say_where_each_secret_stood(parts: list[str]) -> None:
    text = "\n".join(parts)
    lines = text.split("\n")
    findings = redact(text, "c.yaml").findings
    assert findings or AWS not in parts
    for each in findings:
        assert lines[each.line - 1][each.column - 1 :].startswith(each.secret)
