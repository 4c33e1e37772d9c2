"""Let real agents use llmc: `python agents.py FOLDER` with the clients' programs in FOLDER (see `make agents`).

Each is set up by `llmc install` in a home of its own and run without a person; only its model is ours, and knows its
lines (`scripted_model`): search, read the handle of the reply, grep inside that handle. What the agent hands its model
as the tools' results is what is checked: so the client has read its configuration, started `llmc serve`, listed tools,
called them and understood the replies. Claude Code greps in its shell first, and must then be told of llmc by the hook.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from scripted_model import serving

HERE = Path(__file__).parents[2]
QUESTION = "How is the arrival day estimated?"
SECONDS = 180


@dataclass(frozen=True)
class Agent:
    """`{url}` in its words is where the model is; `files` are settings it needs besides those of `llmc install`."""

    name: str
    command: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)
    files: dict[str, object] = field(default_factory=dict)


CODEX_MODEL = (
    "-c",
    "model_provider=lines",
    "-c",
    'model_providers.lines={name="lines",base_url="{url}/v1",wire_api="responses",env_key="LINES_KEY"}',
)
OPENCODE_MODEL = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "{url}", "apiKey": "none"},
    "models": {"lines": {"name": "lines"}},
}
AGENTS = (
    Agent(
        "claude-code",
        ("claude", "--print", QUESTION, "--allowedTools", "Bash,mcp__llmc__search,mcp__llmc__read,mcp__llmc__grep"),
        {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "none"},
    ),
    Agent(
        "codex",
        ("codex", "exec", "--skip-git-repo-check", "-c", "model=lines", *CODEX_MODEL, QUESTION),
        {"LINES_KEY": "none"},
    ),
    Agent(
        "gemini",
        ("gemini", "--yolo", "--prompt", QUESTION),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
    ),
    Agent(
        "opencode",
        ("opencode", "run", "--model", "lines/lines", QUESTION),
        files={".config/opencode/opencode.json": {"provider": {"lines": OPENCODE_MODEL}}},
    ),
)


def main(folder: str) -> int:
    failed = [agent.name for agent in AGENTS if not works(agent, folder)]
    return int(bool(failed))


def works(agent: Agent, folder: str) -> bool:
    with tempfile.TemporaryDirectory() as home, serving() as model:
        project = Path(home, "project")
        shutil.copytree(HERE / "data" / "demo", project)
        environ = environ_of(agent, folder, home, model.url)
        for name, settings in agent.files.items():
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(json.dumps(settings), model.url))
        for command in (["install", agent.name, "--hooks"], ["index", "--once"]):
            subprocess.run(["llmc", *command, "--quiet"], cwd=project, env=environ, check=True)
        said = run(agent, project, environ, model.url)
        subprocess.run(["llmc", "stop", "--quiet"], env=environ, check=False)
        problem = problem_of(model.results)
        if agent.name == "claude-code" and not model.reminded:
            problem = problem or "the hook said nothing"
        sys.stdout.write(f"{agent.name}: {problem or 'searched, read the handle, grepped in it'}\n")
        sys.stdout.write(f"{said}\n" if problem else "")
        return not problem


def environ_of(agent: Agent, folder: str, home: str, url: str) -> dict[str, str]:
    """Nothing of the user's: neither settings nor keys."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), str(Path(folder, "node_modules", ".bin").resolve())])
    own = {name: filled(value, url) for name, value in agent.environ.items()}
    return {"HOME": home, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(HERE), **own}


def run(agent: Agent, project: Path, environ: dict[str, str], url: str) -> str:
    command = [filled(word, url) for word in agent.command]
    try:
        done = subprocess.run(
            command,
            cwd=project,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def filled(text: str, url: str) -> str:
    return text.replace("{url}", url)


def problem_of(results: list[str]) -> str:
    """What is wrong with the results that the model was given; empty when nothing is."""
    if len(results) < 3:
        return f"{len(results)} of three results arrived: {results}"
    found, rest, matches = results[:3]
    if "estimate" not in found:
        return f"search did not find it: {found}"
    if "no result" in rest or not rest.strip():
        return f"the handle was not read: {rest}"
    return "" if "day" in matches else f"grep in the handle found nothing: {matches}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
