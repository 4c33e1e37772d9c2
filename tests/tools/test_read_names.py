"""What a model sees when it reads a name instead of a path, and what a search shows of its best place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tool_calls import answer

from llmc.envelope.handles import Handles
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

PRICE = "def net(x):\n    return x\n\n\nclass Price:\n    def total(self, lines):\n        return sum(lines)\n"
RETRY = """\
export interface RetryConfig { count?: number }
export function retry(count?: number): void;
export function retry(config: RetryConfig): void;
/**
 * Tries again. This comment is long, so that a chunk begins with it
 * and not with the function that it is about.
 */
export function retry(configOrCount: number | RetryConfig = 3): void {
  const attempts = 5;
  console.log(attempts, configOrCount);
}
"""
LONG = "class Ledger:\n" + "".join(
    f"    def entry_{number}(self):\n        return {number}\n\n" for number in range(120)
)

USE = """\
def helper(x):
    return x

def first():
    one = helper(1)
    two = helper(2)
    return one + two

def second():
    return helper(one)
"""

MAILER = """\
public class Mailer {
    private final Server server;

    public Mailer(Server server) {
        this.server = server;
    }

    public void send(long user) {
        send(user, "Report");
    }

    private void unrelated() {
        server.stop();
    }

    public void send(long user, String subject) {
        server.deliver(user);
        server.deliver(subject);
    }
}
"""
REPORT = (
    "public class Report {\n"
    + "".join(
        f"    public void write({kind} value) {{\n" + "        out.append(value);\n" * lines + "    }\n\n"
        for kind, lines in (("long", 20), ("int", 45), ("String", 10))
    )
    + "}\n"
)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    root: Path = tmp_path_factory.mktemp("root")
    for name, text in {
        "shop/price.py": PRICE,
        "web/net.py": "def net(y):  \n    return -y  # what net means here, and total\n",
        "web/macros.py": "CALL = 'total(lines)'\n",
        "src/retry.ts": RETRY,
        "src/linter.js": "export class Linter {\n  verify(text) {\n    const found = [];\n    return found;\n  }\n}\n",
        "types/index.d.ts": "export class Linter {\n  verify(text: string): string[];\n}\n",
        "shop/long.py": LONG,
        "calls/use.py": USE,
        "shop/Mailer.java": MAILER,
        "shop/keys/server.pem": "a secret\n",
        "shop/Report.java": REPORT,
        "web/de/alarm.html": "<p>Alarm</p>\n",
        "web/en/alarm.html": "<p>Alarm</p>\n",
        "calls/test_use.py": "from calls.use import helper\n\ndef test_helper():\n    assert helper(3)\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for number in range(6):
        (root / f"note{number}.md").write_text(f"# Note {number}\n\nA word about retry attempts.\n\nAnother line.\n")
    home = str(tmp_path_factory.mktemp("home"))
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(root), home=home, settings=settings) as workspace:
        workspace.index()
        handles = Handles(f"{home}/handles")
        yield lambda tool, **args: answer(workspace, handles, tool, args)
        handles.close()


def test_a_declaration_elsewhere_does_not_hide_the_code(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="Linter.verify")
    assert reply.text.startswith("src/linter.js:2-5 of 6 lines · also types/index.d.ts:2\n2   verify(text) {")


def test_a_long_class_comes_with_its_map(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="shop/long.py::Ledger", budget=1_200)
    assert reply.text.startswith("shop/long.py:1-360 of 361 lines\n1 class Ledger:")
    assert "\noutline\n" in reply.text
    assert "def entry_40(self)" in reply.text
    assert ask("read", target="Ledger", budget=1_200).text.split("\n")[:-1] == reply.text.split("\n")[:-1]


def test_refs_say_how_many_lines_they_do_not_tell(ask: Callable[..., Reply]) -> None:
    reply = ask("refs", name="net")
    assert "1 line more holds the word" in reply.text.split("\n")[0]


def test_refs_name_the_code_that_holds_the_word_in_a_text(ask: Callable[..., Reply]) -> None:
    reply = ask("refs", name="verify")
    assert "the word alone" not in reply.text
    assert "\nthe word alone\n web/macros.py · 1\n web/net.py · 1" in ask("refs", name="total").text


def test_what_looks_like_a_call_and_is_not_parsed_as_one_is_named(ask: Callable[..., Reply]) -> None:
    reply = ask("refs", name="total", kind="call")
    assert "\nthe word alone\n web/macros.py · 1" in reply.text
    assert "web/net.py" not in reply.text


def test_refs_of_kind_call_does_not_list_callees(ask: Callable[..., Reply]) -> None:
    assert "· calls " not in ask("refs", name="total", kind="call").text


def test_a_name_is_read_where_it_is_defined(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="Price.total")
    assert reply.text.startswith("shop/price.py:6-7 of 7 lines\n6     def total")
    assert ask("read", target="Price::total()").text == reply.text


def test_a_name_with_several_definitions_is_not_guessed(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="net")
    assert reply.error == "not_found"
    assert "2 definitions have this name" in reply.text
    assert "shop/price.py:1" in reply.text
    assert "web/net.py:1" in reply.text


def test_a_path_that_is_not_there_is_still_answered_with_the_nearest(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="shop/prize.py")
    assert reply.error == "not_found"
    assert "shop/price.py" in reply.text


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("Mailer.java", "shop/Mailer.java · 20 lines\n1 public class Mailer {"),
        ("Mailer.java:4-6", "shop/Mailer.java:4-6 of 20 lines\n4 "),
        ("shop/Mailer.java::unrelated", "shop/Mailer.java:12-14 of 20 lines\n12 "),
        ("Mailer.java::unrelated", "shop/Mailer.java:12-14 of 20 lines\n12 "),
        ("de/alarm.html", "web/de/alarm.html · 1 line\n1 <p>"),
    ],
)
def test_the_end_of_the_path_of_one_file_is_enough(ask: Callable[..., Reply], target: str, first: str) -> None:
    assert ask("read", target=target).text.startswith(first)


def test_the_end_of_several_paths_names_them(ask: Callable[..., Reply]) -> None:
    for tool, argument in (("read", "target"), ("outline", "path")):
        reply = ask(tool, **{argument: "alarm.html"})
        assert reply.error == "not_found"
        assert "2 paths end with it" in reply.text
        assert "web/de/alarm.html, web/en/alarm.html." in reply.text


def test_part_of_a_file_name_is_not_the_end_of_a_path(ask: Callable[..., Reply]) -> None:
    assert ask("read", target="larm.html").error == "not_found"


def test_a_denied_file_is_not_found_by_the_end_of_its_path(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target="server.pem")
    assert reply.error == "not_found"
    assert "secret" not in reply.text
    assert "shop/keys" not in reply.text


def test_outline_takes_the_end_of_a_path_too(ask: Callable[..., Reply]) -> None:
    assert "\nshop/Mailer.java\n" in ask("outline", path="Mailer.java").text
    assert "12-14" in ask("outline", path="Mailer.java::unrelated").text
    assert "\nsrc/linter.js\n" in ask("outline", path=["Mailer.java", "linter.js", "alarm.html"]).text


@pytest.mark.parametrize("target", ["retry", "src/retry.ts::retry"])
def test_of_overloads_the_one_with_the_body_is_read(ask: Callable[..., Reply], target: str) -> None:
    text = ask("read", target=target).text
    assert "const attempts = 5" in text
    assert "count?: number): void;" not in text


@pytest.mark.parametrize(
    "target", ["Mailer.send", "shop/Mailer.java::send", "Mailer.java::Mailer.send", "shop/Mailer.java#send"]
)
def test_short_overloads_are_shown_together(ask: Callable[..., Reply], target: str) -> None:
    reply = ask("read", target=target)
    assert reply.text.startswith(
        "shop/Mailer.java:8-10, 16-19 of 20 lines · 2 overloads\n8     public void send(long user)"
    )
    assert "\n16     public void send(long user, String subject)" in reply.text
    assert "unrelated" not in reply.text
    assert (reply.data["start_line"], reply.data["end_line"]) == (16, 19)
    assert [each["start_line"] for each in reply.data["overloads"]] == [8]


def test_lines_between_overloads_are_not_taken_for_read(ask: Callable[..., Reply]) -> None:
    reply = ask("read", target=["Mailer.send", "shop/Mailer.java:12-15"])
    assert "shop/Mailer.java:8-10, 16-19 of 20 lines" in reply.text
    assert "shop/Mailer.java:12-15 of 20 lines" in reply.text


@pytest.mark.parametrize("target", ["Report.write", "shop/Report.java::write"])
def test_of_long_overloads_the_longest_is_shown_and_the_others_are_named(
    ask: Callable[..., Reply], target: str
) -> None:
    first = ask("read", target=target).text.split("\n")[0]
    assert first.startswith("shop/Report.java:25-71 of 86 lines · also 2 overloads: :2-23, :73-84")
    assert ask("read", target=target, all=True).text.startswith(
        "shop/Report.java:2-23, 25-71, 73-84 of 86 lines · 3 overloads\n2     public void write(long value)"
    )


def test_the_constructor_of_a_class_is_not_another_place(ask: Callable[..., Reply]) -> None:
    assert ask("read", target="Mailer").text.startswith("shop/Mailer.java:1-20 of 20 lines\n")


def test_a_search_shows_the_best_place_at_length_and_of_the_rest_a_line(ask: Callable[..., Reply]) -> None:
    text = ask("search", query="retry").text
    best, *others = text.split("\nnote")
    assert "export function retry(configOrCount" in best
    assert "console.log(attempts" in best
    assert others
    assert all(other.count("\n ") <= 2 for other in others[2:])


def test_callers_are_named_by_the_enclosing_symbol_and_uses_by_their_line(ask: Callable[..., Reply]) -> None:
    callers = ask("refs", name="helper", kind="call").text
    assert callers.startswith("1 definition, 4 calls")
    assert "\ncalls/use.py\n 5, 6 in first" in callers
    assert " 10 in second" in callers
    assert "helper(1)" not in callers
    uses = ask("refs", name="helper").text
    assert "\n5 one = helper(1) · in first" in uses
    assert " 4 in test_helper" in uses


def test_overloads_are_one_definition(ask: Callable[..., Reply]) -> None:
    assert "several definitions" not in ask("refs", name="retry").text
