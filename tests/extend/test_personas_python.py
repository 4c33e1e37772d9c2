"""Personas written in Python: registered, installed, and misbehaving."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import search_world
from daemons import private_place

from llmc import Workspace, agents
from llmc.agents import (
    Agent,
    AgentArgument,
    AgentContext,
    AgentError,
    AgentPrompt,
    AgentRegistry,
    AgentTimeoutError,
    PromptMessage,
)
from llmc.extend.personas.plugins import unregister


class DatabaseExpert(Agent):
    name = "db-expert"
    description = "Answers questions about the schema"
    tools = ("search", "get")
    arguments = (AgentArgument("database", "Which one", values=("main", "audit")),)

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        found = context.search("retry policy", limit=1)
        body = context.get(found[0].id).body
        return AgentPrompt(f"You know {args.get('database', 'main')}.", messages=(PromptMessage("user", body),))


class Odd(Agent):
    name = "odd"
    timeout = 0.2

    def __init__(self, act: Any) -> None:
        self.act = act

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        del args
        found: AgentPrompt = self.act(context)
        return found


def of(agent: Agent) -> AgentRegistry:
    registry = AgentRegistry()
    registry.register(agent)
    return registry


def test_the_public_names_are_these() -> None:
    assert agents.__all__ == sorted(agents.__all__)
    assert {"Agent", "AgentInfo", "AgentArgument", "AgentPrompt", "PromptMessage", "register"} <= set(agents.__all__)


def test_a_registered_class_is_a_persona_like_any_other(workspace: Workspace) -> None:
    agents.register(DatabaseExpert)
    try:
        registry = AgentRegistry.from_settings(workspace.settings)
        assert registry.describe("db-expert").as_dict() == {
            "name": "db-expert",
            "description": "Answers questions about the schema",
            "tools": ["search", "get"],
            "source": "python",
            "arguments": [{"name": "database", "description": "Which one", "required": False}],
        }
        found = registry.resolve(workspace, "db-expert", {"database": "audit"})
    finally:
        unregister("db-expert")
    assert found.prompt.system == "You know audit."
    assert "Exponential backoff" in found.prompt.messages[0].content
    assert (found.searches, found.fetches) == (1, 1)
    with pytest.raises(TypeError):
        agents.register(Agent())


def test_a_persona_may_be_async(workspace: Workspace) -> None:
    async def act(_context: AgentContext) -> AgentPrompt:
        return AgentPrompt("You wait.")

    assert of(Odd(act)).resolve(workspace, "odd", {}).prompt.system == "You wait."


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda _: dict[str, str]()["x"], "KeyError"),
        (lambda _: "a text", "did not return an AgentPrompt"),
        (lambda _: None, "did not return an AgentPrompt"),
        (lambda _: AgentPrompt(7), "did not return an AgentPrompt"),  # type: ignore[arg-type]
        (lambda context: [context.sources() for _ in range(1_000)], "more than 50 times"),
    ],
)
def test_a_persona_that_fails_is_an_error_of_its_own(workspace: Workspace, act: Any, said: str) -> None:
    with pytest.raises(AgentError) as told:
        of(Odd(act)).resolve(workspace, "odd", {})
    assert said in str(told.value)


def test_a_persona_is_stopped_at_its_time_limit(workspace: Workspace) -> None:
    release = threading.Event()
    try:
        with pytest.raises(AgentTimeoutError, match=r"longer than 0\.2 seconds"):
            of(Odd(lambda _: release.wait())).resolve(workspace, "odd", {})
    finally:
        release.set()


def test_a_secret_that_a_persona_knows_does_not_leave(workspace: Workspace) -> None:
    token = "ghp_" + "a8Jd93kLm20sPq7XzR5tYv1BnC4wEf6GhK"  # as a token looks
    found = of(Odd(lambda _: AgentPrompt(f"Use {token}."))).resolve(workspace, "odd", {})
    assert token not in found.prompt.system

    def fail(_context: AgentContext) -> None:
        raise ValueError(token)

    with pytest.raises(AgentError) as told:
        of(Odd(fail)).resolve(workspace, "odd", {})
    assert token not in str(told.value)


ENTRY = """
from llmc.agents import Agent, AgentPrompt
open({mark!r}, "w").close()
class Evil(Agent):
    name = "evil"
    def resolve(self, args, context):
        return AgentPrompt("evil")
"""


def test_a_checkout_cannot_register_a_persona(tmp_path: Path) -> None:
    """Not even one that looks like an installed package, for `python -m llmc` started inside it."""
    folder = search_world.write(tmp_path)
    info = folder / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[llmc.agents]\nevil = evil_agent:Evil\n")
    (folder / "evil_agent.py").write_text(ENTRY.format(mark=str(tmp_path / "mark")))
    with private_place() as place:
        for options in ((), ("--no-daemon",)):
            done = place.llmc("agent", "list", *options, cwd=folder)
            assert done.returncode == 0, done.stderr
            assert "evil" not in done.stdout
            place.end()
    assert not (tmp_path / "mark").exists()


def test_init_makes_a_package_whose_persona_llmc_finds_once_it_is_installed(tmp_path: Path) -> None:
    """In a separate virtual environment, so that this one is not changed."""
    with private_place() as place:
        done = place.llmc("agent", "init", "db-expert", "--kind", "python", cwd=tmp_path)
        assert done.stdout.startswith(
            "Created: agents/db-expert/pyproject.toml\nCreated: agents/db-expert/db_expert.py\n"
        )
        venv = tmp_path / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=120)
        (site,) = venv.glob("lib/python*/site-packages")
        ours = [path for path in sys.path if path.endswith("site-packages")]
        (site / "ours.pth").write_text("\n".join([*ours, str(Path(agents.__file__).parents[1])]))
        # What an installer would do with the package.
        (site / "db_expert.py").write_text((tmp_path / "agents/db-expert/db_expert.py").read_text())
        info = site / "llmc_agent_db_expert-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: llmc-agent-db-expert\nVersion: 0.1.0\n")
        project = (tmp_path / "agents/db-expert/pyproject.toml").read_text()
        entry = next(line for line in project.splitlines() if line.startswith("db-expert ="))
        (info / "entry_points.txt").write_text(f"[llmc.agents]\n{entry.replace(chr(34), '')}\n")
        folder = search_world.write(tmp_path / "depot")
        command = [str(venv / "bin/python"), "-m", "llmc", "agent", "test", "db-expert", "--arg", "topic=retry policy"]
        ran = subprocess.run(
            command, cwd=folder, env=place.environ, capture_output=True, text=True, timeout=120, check=False
        )
    assert ran.returncode == 0, ran.stderr
    assert "Source: python (db_expert.DbExpert)" in ran.stdout
    assert "src/depot/retry.py" in ran.stdout
