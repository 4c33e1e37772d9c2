"""Training data: licences, exclusions, and which sentences become questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from locations import REPOSITORY

from training.collect import excluded, read_list, wanted
from training.examples import first_sentence
from training.functions import definitions
from training.licences import is_permissive, licence_of_file, licences_of_metadata, rules_of_debian

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "licence", ["MIT", "Expat", "BSD-3-Clause", "Apache-2.0", "ISC", "MIT OR GPL-3.0", "MIT AND Zlib"]
)
def test_permissive_licences_pass(licence: str) -> None:
    assert is_permissive(licence)


@pytest.mark.parametrize("licence", ["", "GPL-2+", "LGPL-2.1", "MPL-2.0", "MIT AND GPL-3.0", "AGPL-3.0", "Proprietary"])
def test_other_licences_are_refused(licence: str) -> None:
    assert not is_permissive(licence)


def test_every_listed_package_is_permissive_and_not_excluded() -> None:
    packages = read_list()
    assert len(packages) > 500
    for package in packages:
        assert all(map(is_permissive, package.licence.split(" and "))), package
        assert not excluded(package.ecosystem, package.name), package


def test_the_golden_projects_are_excluded() -> None:
    rows = [
        line.split("\t")
        for line in (REPOSITORY / "data/golden/packages.tsv").read_text().splitlines()
        if line[:1] != "#"
    ]
    assert rows
    for row in rows:
        assert excluded(row[1], row[2]), row


@pytest.mark.parametrize(
    "package", [("pip", "msal"), ("pip", "multiprocess"), ("apt", "golang-github-go-task-template")]
)
def test_packages_with_another_name_and_forks_of_excluded_projects_are_excluded(package: tuple[str, str]) -> None:
    assert excluded(*package)


def test_a_debian_file_has_the_licence_of_the_last_rule_that_names_it() -> None:
    rules = rules_of_debian("Format: x\n\nFiles: *\nLicense: MIT\n\nFiles: gpl/*\nLicense: GPL-2+\n text")
    assert licence_of_file(rules, "src/a.c") == "MIT"
    assert licence_of_file(rules, "gpl/deep/a.c") == "GPL-2+"


def test_a_wheel_without_a_licence_declares_none() -> None:
    assert licences_of_metadata("Name: a\nVersion: 1\n") == []
    assert licences_of_metadata("License-Expression: MIT\nLicense: GPL\n") == ["MIT"]


@pytest.mark.parametrize(
    "path",
    [
        "p/vendor/a.go",
        "p/a/_vendored/b.py",
        "pipenv/pipenv/patched/pip/a.py",
        "setuptools/setuptools/_distutils/a.py",
        "p/a/node_modules/b.js",
        "p/tests/a.py",
        "p/a.min.js",
        "p/tokio/a.rs",
        "p/a.png",
    ],
)
def test_vendored_and_test_code_is_not_kept(path: str) -> None:
    assert not wanted(path)


def test_only_a_sentence_that_says_something_becomes_a_question() -> None:
    assert first_sentence("Opens the file. Then reads it.") == ("Opens the file", "Then reads it.")
    assert first_sentence("TODO: open the file later.")[0] == ""
    assert first_sentence("@param path the path to open")[0] == ""


def test_documentation_is_taken_out_of_the_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'class A:\n    def go(self):\n        """Go there now."""\n        return self.place\n'
    )
    (tmp_path / "a.go").write_text(
        "package a\n\n// Go goes there now.\nfunc Go(place string) string {\n\treturn place\n}\n"
    )
    python = {found.name: found for found in definitions(tmp_path / "a.py", "a.py")}["A.go"]
    go = next(iter(definitions(tmp_path / "a.go", "a.go")))
    assert (python.doc, go.doc) == ("Go there now.", "Go goes there now.")
    assert "there now" not in python.code + go.code


def test_a_file_that_says_what_it_is_for_answers_for_its_definitions(tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text(
        '"""Letters to customers, by post and by wire."""\n\n@cached\ndef post(letter, address):\n    return address\n'
        "\n\ndef wire(letter, number):\n    return number, letter\n"
    )
    (tmp_path / "mail.go").write_text(
        "// Copyright\n\n// Package mail sends letters\n// to customers.\npackage mail\n\n"
        "func Post(letter string) string {\n\treturn letter\n}\n\n"
        "func Wire(letter string) string {\n\treturn letter\n}\n"
    )
    python = [found for found in definitions(tmp_path / "mail.py", "mail.py") if found.kind == "file"]
    go = [found for found in definitions(tmp_path / "mail.go", "mail.go") if found.kind == "file"]
    assert [(found.doc, found.code) for found in python] == [
        ("Letters to customers, by post and by wire.", "def post(letter, address):\ndef wire(letter, number):")
    ]
    assert [found.doc for found in go] == ["Package mail sends letters\nto customers."]
