"""Questions of each type, asked through the tool, are answered with the requested fact and an earned confidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from research_world import World, opened

from llmc.answers.research.question import understand
from llmc.answers.research.result import Result, RoleOutcome
from llmc.answers.research.runtime import Stop
from llmc.envelope.tokens import count
from llmc.graph.edges import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.graph.facts import Facts

FILES = {
    "shop/base.py": '''
class Store:
    """Keeps things."""

    def load(self, key):
        """Read one thing."""
        raise NotImplementedError


class Memory(Store):
    def load(self, key):
        return self.things[key]


class Disk(Store):
    def load(self, key):
        with open(key) as file:
            return file.read()


class Cache(Memory):
    pass
''',
    "shop/checkout.py": '''
from shop.base import Memory
from shop.prices import total_price


def pay(basket):
    """Take the money for a basket."""
    return charge(total_price(basket))


def preview(basket):
    return total_price(basket)


def charge(amount):
    if amount < 0:
        raise NegativeAmount(amount)
    return amount


def refund(amount):
    raise NegativeAmount(amount)


class NegativeAmount(Exception):
    pass
''',
    "shop/prices.py": '''
def total_price(basket):
    """The sum of all prices."""
    return sum(item.price for item in basket)
''',
    "tests/test_prices.py": """
from shop.prices import total_price


def test_an_empty_basket_costs_nothing():
    assert total_price([]) == 0
""",
    "shop/settings.py": """
DEFAULTS = {
    "MAX_ITEMS": 25,
    # How long a basket is kept, in minutes.
    "BASKET_LIFETIME": 90,
}
EMPTY_BASKET = "the basket of {name} is empty, nothing to pay"
""",
    "shop/basket.py": """
from shop.settings import EMPTY_BASKET


def check(basket):
    if not basket.items:
        raise ValueError(EMPTY_BASKET.format(name=basket.owner))
""",
    "shop/old.py": """
import warnings


def total(basket):
    warnings.warn("use total_price", DeprecationWarning)
    return sum(basket)
""",
    "pyproject.toml": """
[project]
name = "shop"
version = "2.1.0"
requires-python = ">=3.11"
dependencies = ["requests>=2.31", "rich~=13.0", "card-reader==4.2"]
""",
    "CHANGES.rst": """
Changes
=======

2.1
---

-   Refunds are paid at once.
-   The `Disk` store is new.

2.0
---

-   Prices are numbers. Needs requests 1.0.
""",
    "docs/refunds.md": """
# Money

## Refunds

A refund is paid to the card that was charged:

```python
refund(amount=5)
```

## Prices

Prices have two digits. Requires requests 1.5.
""",
}

# Defaults, settings and headings that are found by their description.
DESCRIBED = {
    "shop/server.py": """
from shop import limits


def set_defaults(options):
    options.set_default("port", 8080)
    options.set_default("idle", limits.DEFAULT_IDLE)
""",
    "shop/limits.py": """
DEFAULT_IDLE = 48 * 60
""",
    "web/upload.ts": """
export function uploads(config: Config) {
  return parser({ limit: config.max_upload || '10mb' });
}
""",
    "deploy/staging.yaml": """
max_upload: 99mb
port: 9999
""",
    "till/printer.go": """
package till

// PaperConfig configures the printer.
type PaperConfig struct {
	// How wide a receipt is (default 80).
	Width int `json:"width"`

	// How frequently to check the level of the paper (default 30s).
	Interval Duration `json:"interval"`

	// How long the cutter may take.
	// Default:
	// 12s
	Patience Duration `json:"patience"`
}
""",
    "till/drawer.py": """
OPTIONS = {
    "coinbuffer-size": 4096,
    "coinbuffer-colour": 7,
}
""",
    "src/coin.rs": """
pub trait Priced {
  fn price(&self) -> u32;
}

pub struct Coin;

impl Priced for Coin {
  fn price(&self) -> u32 { 1 }
}
""",
    "docs/settings.md": """
# Settings

### SHOP_CURRENCY

The money in which prices are shown.

### SHOP_AUDIT_LOG

Where every payment is recorded. One of `file`, `syslog`.
""",
    "docs/guide.md": """
# Guide

## Baskets

```console
# A basket is named
$ shop new
```

### Basket Naming

A basket takes the identifier of its owner.

### Falling short

Fallback accounts cover what is missing.

## the card reader said no

Turn the card round.
""",
}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.lstrip("\n"))
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tree = write_files(tmp_path_factory.mktemp("tree") / "shop", FILES)
    with opened(tmp_path_factory.mktemp("home"), tree) as made:
        yield made


# A Java project and a script: a changelog without markup, versions as properties, settings of a process.
PLAIN = {
    "CHANGES": """
Depot Changes

Changes in 3.1.0

 * a pallet may be locked by its driver

Changes in 3.0.0

 * labels are printed twice
""",
    "CONTRIBUTING.md": """
# Contributing

## Name Conventions

- Tables: snake_case
- Scripts: kebab-case
""",
    "pom.xml": """
<project>
  <properties>
    <labelkit.version>4.7.1</labelkit.version>
  </properties>
</project>
""",
    "src/main/java/depot/Gate.java": """
package depot;

public class Gate {
   // Opens the gate again while trucks wait at the barrier.
   private final long gateReopeningPeriodMs = Long.getLong("depot.gate.reopening.period", SECONDS.toMillis(45));

   public void pass(Truck truck) {
      if (!barrier.isFree()) {
         if (Boolean.getBoolean("depot.gate.rejectWhenBlocked")) {
            throw new RejectedTruck("the barrier is blocked, trucks are rejected");
         }
         barrier.await();
      }
      barrier.enter(truck);
   }
}
""",
    "server/socket.js": """
function acceptSocket(request, accept) {
    const bypass = process.env.DEPOT_ORIGIN_CHECK === "bypass";
    if (bypass) {
        accept();
    }
}
""",
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tree = write_files(tmp_path_factory.mktemp("tree") / "depot", PLAIN)
    with opened(tmp_path_factory.mktemp("home"), tree) as made:
        yield made


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tree = write_files(tmp_path_factory.mktemp("tree") / "till", DESCRIBED)
    with opened(tmp_path_factory.mktemp("home"), tree) as made:
        yield made


def ask(world: World, question: str) -> str:
    reply = world.ask("research_codebase", question=question)
    assert not reply.error, reply.text
    return reply.text


@pytest.mark.parametrize(
    ("question", "kind", "target"),
    [
        ("Who calls total_price?", "callers", "total_price"),
        ("Where is the function parse called?", "callers", "parse"),
        ("What breaks if I change the signature of Store.load?", "impact", "Store.load"),
        ("List every subclass of Store", "list", "Store"),
        ("Which exceptions derive from ShopError?", "list", "ShopError"),
        ("Which tests cover the total_price function?", "tests", "total_price"),
        ("Where is Cache.load defined?", "where", "Cache.load"),
        ("What is the default of max_items?", "default", "max_items"),
        ("Which version of requests is required?", "version", "requests is required"),
        ("What changed in 2.1?", "changed", "2.1"),
        ("What do the docs say about refunds?", "documentation", ""),
        ("Show me an example of a custom store", "example", ""),
        ("ValueError: the basket is empty", "error", ""),
        ("How does a payment work?", "how", ""),
        ("Find any outdated API calls in this repository and open a refactoring plan.", "list", ""),
        ("Why does it use the default store?", "how", ""),
        ('What does the documentation say about the error "the card reader said no"?', "documentation", ""),
        ("Which values are allowed for SHOP_AUDIT_LOG?", "default", ""),
    ],
)
def test_the_words_around_the_subject_decide_the_type(question: str, kind: str, target: str) -> None:
    found = understand(question)
    assert found.type == kind
    if target and kind in {"callers", "impact", "list", "tests"}:
        assert found.target == target


def test_the_reply_and_the_report_name_the_type(world: World) -> None:
    assert " · callers · confidence high" in ask(world, "Who calls total_price?").split("\n")[0]
    report = json.loads(world.ask("research_codebase", "research", question="Who calls total_price?").text)
    assert report["types"] == ["callers", "how"]


def test_callers_are_the_resolved_ones_and_tests_are_counted(world: World) -> None:
    text = ask(world, "Who calls total_price?")
    assert "shop/checkout.py:7 pay" in text
    assert "shop/checkout.py:11 preview" in text
    assert "Used by 1 test as well." in text
    assert "test_an_empty" not in text


def test_an_inherited_member_is_found_in_the_base_that_defines_it(world: World) -> None:
    text = ask(world, "Where is Cache.load defined?")
    assert "Cache.load, inherited from Memory, is defined at shop/base.py:10" in text
    assert "confidence high" in text


def test_every_subclass_is_listed_with_indirect_ones(world: World) -> None:
    text = ask(world, "List every subclass of Store")
    assert all(f"shop/base.py:{line} {name}" in text for line, name in ((9, "Memory"), (14, "Disk"), (20, "Cache")))
    assert "confidence high" in text


def test_every_place_that_raises_an_error_is_listed_and_nothing_else(world: World) -> None:
    text = ask(world, "List every place that raises NegativeAmount")
    assert "shop/checkout.py:16 charge" in text
    assert "shop/checkout.py:21 refund" in text
    assert "shop/checkout.py:24" not in text


def test_the_impact_of_a_change_has_uses_and_overrides(world: World) -> None:
    text = ask(world, "What breaks if I change the signature of total_price?")
    assert "A change of total_price affects 2 uses in pay and preview." in text
    assert "shop/base.py:10 Memory.load" in ask(world, "What is affected if Store.load changes?")


def test_tests_that_reach_a_function_are_named(world: World) -> None:
    text = ask(world, "Which tests cover total_price?")
    assert "tests/test_prices.py:4 test_an_empty_basket_costs_nothing" in text
    assert "confidence high" in text


def test_tests_behind_a_very_common_name_are_left_out_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = {f"shop/job_{at}.py": f"class Job{at}:\n    def pay(self): ...\n" for at in range(20)}
    indirect = {"tests/test_pay.py": "from shop.checkout import pay\n\n\ndef test_pay():\n    pay([])\n"}
    monkeypatch.setattr("llmc.answers.research.finders.tests.MOST_DOCUMENTS", 10)
    tree = write_files(tmp_path / "tree", {**FILES, **crowd, **indirect})
    with opened(tmp_path / "home", tree) as world:
        text = ask(world, "Which tests cover total_price?")
    assert "tests/test_prices.py:4 test_an_empty_basket_costs_nothing" in text
    assert "Not complete: followed 1 of 2 callers." in text


def test_a_step_that_runs_out_of_time_leaves_the_answer_to_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmc.answers.research.roles.locator.FINDER_SHARE", 0.0)
    text = ask(world, "Which tests cover total_price?")
    assert "total_price at shop/prices.py:1: The sum of all prices." in text
    assert "The step for tests" in text
    assert "reached its time limit" in text
    assert "confidence low" in text


def test_a_query_of_the_code_graph_ends_at_the_time_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[Stop] = []
    documents: set[int] = set()
    part, match = Stop.part, Graph._match

    def limited(stop: Stop, share: float) -> Stop:
        parts.append(part(stop, share))
        return parts[-1]

    def matched(graph: Graph, facts: Facts, *args: Any) -> None:
        documents.add(facts.doc)
        parts[-1].at = 0.0  # the time limit passes while the first document is searched
        match(graph, facts, *args)

    monkeypatch.setattr(Stop, "part", limited)
    monkeypatch.setattr(Graph, "_match", matched)
    monkeypatch.setattr("llmc.answers.research.roles.locator.located", lambda *_: RoleOutcome(Result("the rest")))
    assert "reached its time limit" in ask(world, "What breaks if I change total_price?")
    assert len(documents) == 1


def test_a_default_is_the_literal_of_the_code(world: World) -> None:
    text = ask(world, "What is the default of MAX_ITEMS?")
    assert "MAX_ITEMS is 25, by shop/settings.py:2." in text
    assert "confidence high" in text


def test_a_described_value_is_found_by_its_comment_and_is_not_claimed_with_high_confidence(world: World) -> None:
    text = ask(world, "How long is a basket kept by default?")
    assert "shop/settings.py:4" in text
    assert "90" in text
    assert "confidence high" not in text


@pytest.mark.parametrize(
    ("question", "place", "value"),
    [
        ("Which version of requests is required?", "pyproject.toml:5", "requests>=2.31"),
        ("Which Python versions does shop support?", "pyproject.toml:4", ">=3.11"),
        ("What version of shop is this?", "pyproject.toml:3", "2.1.0"),
        ("Which version of card-reader does shop use?", "pyproject.toml:5", "card-reader==4.2"),
    ],
)
def test_versions_are_those_of_the_manifest(world: World, question: str, place: str, value: str) -> None:
    text = ask(world, question)
    assert f" {place} " in text
    assert value in text
    assert "confidence high" in text


def test_documentation_is_quoted_with_its_code_block(world: World) -> None:
    text = ask(world, "What do the docs say about refunds?")
    assert "docs/refunds.md:5" in text
    assert "A refund is paid to the card that was charged:" in text
    assert "refund(amount=5)" in text
    assert "Prices have two digits" not in text


def test_a_section_is_found_by_other_forms_of_its_words_and_comments_are_not_headings(
    described: World,
) -> None:
    text = ask(described, "What do the docs say about how a basket is named?")
    assert "(Basket Naming) says: A basket takes the identifier of its owner." in text
    assert "Fallback accounts cover" in ask(described, "What do the docs say about falling back to accounts?")


def test_a_quoted_message_is_looked_up_in_the_documents_if_the_question_asks_for_them(described: World) -> None:
    text = ask(described, 'What does the documentation say about the error "the card reader said no"?')
    assert "Turn the card round." in text
    assert " · documentation · confidence high" in text


def test_a_default_that_is_passed_with_its_name_comes_before_a_deployment(described: World) -> None:
    text = ask(described, "On which port does the server listen by default?")
    assert text.startswith("shop/server.py:5 says:")
    assert "8080" in text


def test_what_counts_without_a_setting_is_its_default(described: World) -> None:
    text = ask(described, "What is the default of max_upload?")
    assert "'10mb'" in text.split("\n")[0]


def test_a_constant_that_is_given_as_default_is_resolved_to_its_literal(described: World) -> None:
    assert "48 * 60" in ask(described, "What is the default value of idle?")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How often is the level of the paper checked by default?", "till/printer.go:8 says: Interval: default 30s"),
        ("How long may the cutter take by default?", "till/printer.go:12 says: Patience: Default: 12s"),
        ("How big is the coin buffer by default?", 'till/drawer.py:2 says: "coinbuffer-size": 4096'),
    ],
)
def test_a_default_is_found_by_the_comment_of_its_field_and_by_what_it_measures(
    described: World, question: str, said: str
) -> None:
    text = ask(described, question)
    assert said in text.splitlines()[0]
    assert "confidence high" not in text


def test_a_member_in_other_letter_case_is_not_called_inherited(described: World) -> None:
    text = ask(described, "Where is paperConfig.width defined?")
    assert "inherits" not in text
    assert "till/printer.go:6" in text


def test_a_setting_is_named_by_what_its_description_says(described: World) -> None:
    text = ask(described, "Which environment variable decides in which money prices are shown?")
    assert text.startswith("The environment variable is probably SHOP_CURRENCY: see docs/settings.md:3.")
    assert "confidence high" not in text
    assert "One of `file`, `syslog`." in ask(described, "Which values are allowed for SHOP_AUDIT_LOG?")


def test_an_implementation_apart_from_its_type_is_cited_where_it_is(described: World) -> None:
    assert " src/coin.rs:7 Coin" in ask(described, "List every implementation of Priced")


def test_what_changed_is_the_section_of_the_version(world: World) -> None:
    text = ask(world, "What changed in 2.1?")
    assert "Refunds are paid at once." in text
    assert "The `Disk` store is new." in text
    assert "Prices are numbers" not in text


def test_a_changelog_without_markup_has_sections(plain: World) -> None:
    text = ask(plain, "What changed in 3.1.0?")
    assert "a pallet may be locked by its driver" in text
    assert "labels are printed twice" not in text


def test_a_version_is_found_in_a_property_of_the_build(plain: World) -> None:
    text = ask(plain, "Which version of labelkit is used?")
    assert "pom.xml:3" in text
    assert "4.7.1" in text


def test_a_value_at_the_end_of_a_long_line_is_quoted(plain: World) -> None:
    assert "SECONDS.toMillis(45)" in ask(plain, "How often is the gate reopened by default?")


def test_a_property_of_the_process_is_named_by_what_it_does(plain: World) -> None:
    text = ask(plain, "Which system property makes trucks be rejected while the barrier is blocked?")
    assert text.startswith("The system property is probably depot.gate.rejectWhenBlocked")


def test_a_variable_that_is_read_as_a_member_is_named(plain: World) -> None:
    text = ask(plain, "Which environment variable turns off the origin check of the socket?")
    assert text.startswith("The environment variable is probably DEPOT_ORIGIN_CHECK")


def test_conventions_are_looked_up_in_documents(plain: World) -> None:
    assert "Tables: snake_case" in ask(plain, "What are the naming conventions for tables?")


def test_a_pasted_message_with_values_leads_to_its_text_and_to_where_it_is_raised(world: World) -> None:
    text = ask(world, "ValueError: the basket of Ada is empty, nothing to pay")
    assert "shop/basket.py:6 check" in text
    assert "shop/settings.py:6" in text


def test_outdated_calls_are_found_by_what_marks_them(world: World) -> None:
    text = ask(world, "Find any outdated API calls in this repository and open a refactoring plan.")
    assert "shop/old.py:5 total" in text


def test_a_missing_name_is_not_found_and_a_limit_is_not_a_negative_answer(world: World) -> None:
    assert ask(world, "Where is FlightPlanner defined?").startswith("Not found")
    limits = {"maxBytesRead": 100}
    limited = world.ask("research_codebase", question="How is the money of a refund paid?", constraints=limits)
    assert "Not found" not in limited.text
    assert "candidate files: the limit on files or bytes was reached." in limited.text


def test_max_tokens_bounds_the_reply_and_locate_groups_by_category(world: World) -> None:
    question = "how is the total price of a basket computed"
    sizes = [
        count(world.ask("research_codebase", question=question, constraints={"maxTokens": tokens}).text)
        for tokens in (80, 900)
    ]
    assert sizes[0] < sizes[1]
    for tokens in (120, 300):
        report = world.ask("research_codebase", "research", question=question, constraints={"maxTokens": tokens}).text
        assert count(report) <= tokens
        assert json.loads(report)["synthesis"]["value"]["references"]
    assert json.loads(report)["rootsSearched"], "places are worth more than statistics of the run"
    assert json.loads(report)["locator"]["value"]["references"]
    text = world.ask("locate_in_codebase", query="price of a basket").text
    assert "\nimplementation\n" in text
    assert "\ntests\n" in text
