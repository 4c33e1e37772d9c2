"""Reports quote the requested facts: uses as examples, lists with the sentence that announces them, code rather than
its documentation. Unreadable files are named, and secrets are not evidence. Driven from the command line.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

FILES = {
    "belt/scale.py": '''"""The scale."""

GATE_KEY = "q8Zr2mVx0LtP5sWn7YdB3kHc9JfG1aQe6RuT4oXiNb"
ErrorHandlerType = "a handler of an error is callable"


class Scale:
    def errorhandler(self, code):
        """Register a function for an error of the scale.

        It may
        return nothing, and a
        return value is printed as the label of the handler.
        """
        limit = config["HEAVIEST_PARCEL"]
        if code > limit:
            raise ValueError("no such error")
        return self.handlers.setdefault(code, [])


def handle_broken_error_stream(stream):
    """An error handler writes to this stream."""
    return stream
''',
    "tests/test_scale.py": """from belt.scale import Scale


def test_an_empty_scale():
    scale = Scale()

    @scale.errorhandler(404)
    def empty(parcel):
        return "nothing there"
""",
    "examples/shop.py": """from belt.scale import Scale

scale = Scale()


@scale.errorhandler(500)
def apologise(parcel):
    return "we are sorry"
""",
    "docs/handlers.rst": """Scales
======

.. autoclass:: Scale
    :members:
    :exclude-members: handlers

Error handlers
``````````````

An error handler is registered with its code.

.. code-block:: python

    @scale.errorhandler(403)
    def refuse(parcel):
        return "not yours"

Handlers of an error run once, and the handler of the error that was registered last wins.

Gates
`````

A gate offers up to two methods:

.. method:: lift(parcel)

    Lets a parcel pass. It is never called twice
    for the same one.

.. method:: lower()

    Stops the belt.
""",
    ".env": "TILL_PIN=4711\n",
    "deploy/secrets/prod.yml": "pin: 4711\n",
}


@pytest.fixture(scope="module")
def belt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("belt")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def said(shared_place: Place, folder: Path, *command: str) -> str:
    done = shared_place.llmc(*command, cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def report(shared_place: Place, folder: Path, question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(shared_place, folder, "research", question, "--json"))
    return dict(found.get("data", found))


def test_examples_of_words_that_are_a_name_are_its_uses(shared_place: Place, belt: Path) -> None:
    text = said(shared_place, belt, "research", "show examples of an error handler")
    for use in ("@scale.errorhandler(403)", "@scale.errorhandler(404)", "@scale.errorhandler(500)"):
        assert use in text
    assert "ErrorHandlerType" not in text
    assert "handle_broken_error_stream" not in text
    assert text.startswith("3 examples")


def test_a_code_block_below_a_title_underlined_with_backticks_ends_where_its_indentation_does(
    shared_place: Place, belt: Path
) -> None:
    text = said(shared_place, belt, "research", "show examples of an error handler")
    assert "that was registered last wins" not in text


def test_a_sentence_that_announces_a_list_is_quoted_with_it(shared_place: Place, belt: Path) -> None:
    text = said(shared_place, belt, "research", "what do the docs say about gates?")
    assert "A gate offers up to two methods:" in text
    assert ".. method:: lift(parcel)\n       Lets a parcel pass" in text
    assert ".. method:: lower()\n       Stops the belt." in text


def test_options_of_a_directive_are_not_quoted(shared_place: Place, belt: Path) -> None:
    assert ":members:" not in said(shared_place, belt, "research", "what do the docs say about the scale?")


def test_lines_of_documentation_are_not_what_a_function_gives_back(shared_place: Place, belt: Path) -> None:
    text = said(shared_place, belt, "research", "how does Scale.errorhandler work?")
    assert "return self.handlers.setdefault" in text
    assert "return value is printed" not in text
    assert 'config["HEAVIEST_PARCEL"] ·' in text


def test_findings_and_handoffs_contain_the_lines_that_decide(shared_place: Place, belt: Path) -> None:
    question = "how does Scale.errorhandler work?"
    assert "if code > limit:" in json.dumps(report(shared_place, belt, question)["synthesis"]["value"]["key_findings"])
    made = json.loads(said(shared_place, belt, "handoff", "create", question, "--json"))
    resumed = said(shared_place, belt, "handoff", "resume", made["name"])
    assert "if code > limit:" in resumed


@pytest.mark.parametrize("command", ["research", "ask"])
@pytest.mark.parametrize(
    ("question", "denied"),
    [("what does .env contain?", ".env"), ("what is the pin in deploy/secrets/prod.yml?", "deploy/secrets/prod.yml")],
)
def test_a_question_about_a_denied_file_gets_a_note(
    shared_place: Place, belt: Path, command: str, question: str, denied: str
) -> None:
    text = said(shared_place, belt, command, question)
    first = text.partition("\n")[0]
    assert f"{denied} is on the denylist and not read." in first
    assert "Not found" not in first
    assert "confidence low" in first
    assert "4711" not in text


def test_a_redacted_value_is_not_the_requested_fact(shared_place: Place, belt: Path) -> None:
    text = said(shared_place, belt, "research", "what is the default of GATE_KEY?")
    assert "GATE_KEY is set at belt/scale.py:3; the value is a secret and is not shown." in text
    assert "confidence med" in text


def test_handoffs_about_other_folders_are_counted_and_say_so(shared_place: Place, belt: Path, tmp_path: Path) -> None:
    made = json.loads(said(shared_place, belt, "handoff", "create", "where is Scale defined?", "--json"))
    (tmp_path / "mill.py").write_text("def grind():\n    return 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = said(shared_place, tmp_path, "handoff", "list")
    assert made["name"] not in listed
    assert "about other folders" in listed
    assert made["name"] in said(shared_place, belt, "handoff", "list")
    resumed = said(shared_place, tmp_path, "handoff", "resume", made["name"])
    assert f"about {belt}; its paths do not open here" in resumed
    assert "do not open here" not in said(shared_place, belt, "handoff", "resume", made["name"])
