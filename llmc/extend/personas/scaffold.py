"""Templates for new personas in Lua, TOML or Python, written by `llmc agent init`.

Existing files are never overwritten; a TOML section is appended to the settings file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError, QueryError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KINDS", "ScaffoldResult", "scaffold"]

KINDS = ("lua", "toml", "python")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

LUA = """\
-- The role of the model, and what it should know before the conversation starts.
-- Available: context.search, context.get and context.sources; no files, network or other programs.

local agent = {{}}

agent.name = "{name}"
agent.description = "One line for the list of personas"
agent.tools = {{ "search", "grep", "read" }}
agent.arguments = {{
  {{ name = "topic", description = "What it is about", required = false }},
}}

function agent.resolve(args, config, context)
  local topic = args.topic or "this project"
  local found = context.search({{ query = topic, limit = config.search_limit or 3, budget = 400 }})

  local known = ""
  for _, one in ipairs(found) do
    known = known .. "\\n\\n" .. one.id .. "\\n" .. one.text
  end

  return {{
    system = string.format("You help with %s. Ground what you say in it: search, read, cite path:line.", topic),
    messages = {{
      {{ role = "user", content = "From the index of this project, for reference:" .. known }},
    }},
  }}
end

return agent
"""

TOML = '''\
[agents.{name}]
description = "One line for the list of personas"
tools = ["search", "grep", "read"]
system_prompt = """
You help with this project. Ground what you say in it: search, read, cite path:line.
Topic: {{topic}}
"""
arguments = [{{ name = "topic", description = "What it is about" }}]
context = [{{ search = "{{topic}} overview", limit = 3, budget = 400 }}]
'''

PYTHON = '''\
"""The persona {name} for llmc."""

from __future__ import annotations

from llmc.agents import Agent, AgentArgument, AgentContext, AgentPrompt, PromptMessage


class {cls}(Agent):
    name = "{name}"
    description = "One line for the list of personas"
    tools = ("search", "grep", "read")
    arguments = (AgentArgument("topic", "What it is about"),)

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        topic = args.get("topic") or "this project"
        found = context.search(topic, limit=3, budget=400)
        known = "\\n\\n".join(f"{{one.id}}\\n{{one.text}}" for one in found)
        system = f"You help with {{topic}}. Ground what you say in the project: search, read, cite path:line."
        primed = PromptMessage("user", f"From the index of this project, for reference:\\n\\n{{known}}")
        return AgentPrompt(system, self.tools, (primed,))
'''

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "llmc-agent-{name}"
version = "0.1.0"
dependencies = ["llmc"]

[project.entry-points."llmc.agents"]
{name} = "{module}:{cls}"

[tool.hatch.build.targets.wheel]
include = ["{module}.py"]
"""


@dataclass(frozen=True, slots=True)
class ScaffoldResult:
    """The files written, relative to the folder, and the next step for the user."""

    files: tuple[str, ...]
    then: str


def scaffold(folder: Path, name: str, kind: str, user_file: str) -> ScaffoldResult:
    if not NAME.fullmatch(name):
        raise QueryError(f"invalid name {name!r}", hint="Use letters, digits, dots, dashes and underscores.")
    return {"lua": lua, "toml": toml, "python": python}[kind](folder, name, user_file)


def lua(folder: Path, name: str, user_file: str) -> ScaffoldResult:
    path = f"agents/{name}.lua"
    write(folder / path, LUA.format(name=name))
    section = f'  [agents.script.{name}]\n  path = "{path}"\n  timeout = 30\n'
    trust = f"  A workspace's llmc.toml may name scripts if {user_file} trusts its folder: trust = ['{folder}']"
    return ScaffoldResult((path,), f"Add to config:\n\n{section}\n{trust}")


def toml(folder: Path, name: str, _user_file: str) -> ScaffoldResult:
    path = folder / "llmc.toml"
    section = TOML.format(name=name if "." not in name else f'"{name}"')
    before = path.read_text("utf-8") if path.exists() else ""
    if re.search(rf'(?m)^\s*\[\s*agents\.(?:"{re.escape(name)}"|{re.escape(name)})\s*\]', before):
        raise ConfigError(f"llmc.toml already has an agent {name}", hint="Use another name, or edit it there.")
    gap = "\n" if before and not before.endswith("\n\n") else ""
    path.write_text(f"{before}{gap}{section}", "utf-8")
    return ScaffoldResult(("llmc.toml",), f"Try it: llmc agent test {name} --arg topic=...")


def python(folder: Path, name: str, _user_file: str) -> ScaffoldResult:
    module = re.sub(r"\W", "_", name if not name[0].isdigit() else f"agent_{name}")
    cls = "".join(part.capitalize() for part in module.split("_"))
    files = {f"agents/{name}/pyproject.toml": PROJECT, f"agents/{name}/{module}.py": PYTHON}
    for path, text in files.items():
        write(folder / path, text.format(name=name, module=module, cls=cls))
    then = (
        f"Install it in the environment of llmc and restart the daemon:\n\n  pip install ./agents/{name} && llmc stop\n"
    )
    return ScaffoldResult(tuple(files), then)


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} already exists", hint="Use another name, or remove the file.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written", reason=error.strerror or "") from None
