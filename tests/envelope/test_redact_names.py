"""Redaction by name: values next to names such as `password` are removed; lists of names, references and template
variables stay.
"""

from __future__ import annotations

import time

import pytest

from llmc.envelope.redact.redactor import redact


@pytest.mark.parametrize("path", ["c.yaml", "c.json", "a.php", "a.js", "notes.md", ""])
@pytest.mark.parametrize(
    "line",
    [
        "signature_properties: ['email', 'password', 'signatureDate']",
        'columns = ["email", "password", "signatureDate", "address_2",]',
        "$hidden = array('email', 'password', 'signatureDate');",
        "['email',\n  'password', 'signatureDate',\n  'last_login']",
        "fields: [`token`, `apiToken`, `signature-date`]",
        r"'[\"email\", \"password\", \"signatureDate\"]'",
        "locales: [" + ", ".join(["'en_US'"] * 200) + ", 'en_PW', 'en_RH']",
    ],
)
def test_names_in_a_list_of_names_stay(line: str, path: str) -> None:
    assert redact(line, path).text == line


@pytest.mark.parametrize(
    "line",
    [
        '("password", "@hunter2-value@")',
        '["password", "@opensesame@"]',
        "x = ['user', 'password' => '@opensesame@', 'host']",
        '["email", "token", {"password": "@opensesame@"}]',
        '["tool", "--user", "root", "--password", "@opensesame@"]',
        '["localhost", "root", "password", "@hunter2@"]',
        '["login", "user", "token", "@aZqXkfLskTfkAzPwVkfq@"]',
        '["login", "user", "password", "@correct-horse-battery-staple@"]',
        '["10.0.0.1", "root", "password", "@opensesame@"]',
        "call('root', 'password', '@opensesame@')",
        '"root", "password", "@opensesame@"',
    ],
)
def test_values_beside_their_name_go(line: str) -> None:
    before, value, after = line.split("@")
    assert value not in redact(before + value + after, "c.yaml").text


@pytest.mark.parametrize("path", ["c.yaml", "c.xml", "a.php", "a.vm", "a.sh"])
@pytest.mark.parametrize(
    "line",
    [
        "secret: '%kernel.secret%'",
        "secret: '%my-app.secret_2%'",
        "secret: '%env(APP_SECRET)%'",
        "secret: '%env(base64:default::APP_SECRET_2)%'",
        "secret: '${APP_SECRET_2}'",
        "secret: '{{ vault_secret_2 }}'",
        "secret: '%{hiera.secret2}'",
        'secret: "#{db_secret2}"',
        'echo "APP_SECRET=$APP_SECRET" > "$FILE"',
        "url: mysql://root:%env(DB_PASSWORD)%@db.internal:3306/app",
    ],
)
def test_references_to_parameters_stay(line: str, path: str) -> None:
    assert redact(line, path).text == line


@pytest.mark.parametrize("path", ["mail.vm", "mail.html", "mail.xml", "mail.txt", ""])
@pytest.mark.parametrize(
    "line",
    [
        '<a href="$webUrl?token=$token">Unsubscribe</a>',
        '<a href="$webUrl/settings?token=$!token2">Unsubscribe</a>',
        '<a href="$webUrl/settings?token=$!{user.token2}&amp;x=1">Unsubscribe</a>',
        '#set($digest = "Link to reset password: $webUrl/reset-password?passwordReset=$token")',
        '#set($digest = "Link to reset password: $webUrl?passwordReset=$user.token&id=$id")',
        'return "https://h.internal/reverse?access_key=" + key + "&query=%f,%f";',
    ],
)
def test_variables_of_templates_stay(line: str, path: str) -> None:
    assert redact(line, path).text == line


@pytest.mark.parametrize(
    "value",
    ["%Xk29fLq8Zr4TnWv7", "Xk29%fLq8Zr4Tn%Wv7", "$Xk29/fLq8Zr4TnWv7", "#{Xk29fLq8", "hunter2 + x", "#hunter2#"],
)
def test_values_with_the_signs_of_references_go(value: str) -> None:
    assert value not in redact(f"password: '{value}'", "c.yaml").text


@pytest.mark.parametrize("row", ["[{}'end'], ", "[{}8], ", "{}"])
def test_the_time_for_lists_of_names_grows_with_their_length(row: str) -> None:
    text = row.format("'password', 'signatureDate', " * 60)
    took = []
    for count in (25, 100):
        began = time.process_time()
        redact(text * count, "c.yaml")
        took.append(time.process_time() - began)
    assert took[1] < 12 * took[0]
