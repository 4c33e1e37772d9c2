"""Let real agents use llmc: `python agents.py FOLDER [AGENT…]` with the clients' programs in FOLDER (`make agents`).

Each is set up by one `llmc install` in a home of its own and run without a person and without flags that skip its
permission questions; only its model is ours and follows a script (`scripted_model`). What is checked is what the agent
hands its model: that llmc's tools are in the first request and not deferred, that search, the handle and a grep inside
it are answered without a question, that a search in the shell is rewritten, and that a sub-agent has the tools too.
All of it over stdio and over HTTP; afterwards `llmc uninstall` leaves every file as it was. Claude Code is also set up
by its own plugin command, from this folder and from a git URL.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scripted_model import Model, Step, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parents[2]
AS_NOBODY = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com")
QUESTION = "How is the arrival day estimated?"
SECONDS = 240
TOOLS = ("search", "grep", "read", "llmc")
SHELL_SEARCH = "rg -n arrival ."
SCRIPT = [
    Step("search", {"query": "how is the arrival day estimated", "budget": 120}),
    Step("read", {"target": "{handle}"}),
    Step("grep", {"pattern": "day", "path": "{handle}"}),
    Step("shell", {"command": SHELL_SEARCH}),
    Step("task", {}),
    Step("wait", {"agent": "{agent}"}),
]
SUB_SCRIPT = [Step("search", {"query": "estimate arrival"})]
# Claude Code keeps a copy of a plugin in its own cache for some days after it was removed.
IGNORED = ("project/", ".cache/", ".local/share/", ".npm/", ".claude/plugins/cache/")
PLUGIN_TOOL = "mcp__plugin_llmc_llmc__{}"


@dataclass(frozen=True)
class Agent:
    """`{url}` is the address of the model. `files` are settings that it needs besides those of `llmc install`."""

    name: str
    command: tuple[str, ...]
    tool: str
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
GEMINI_SHELL = '[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 50\n'
AGENTS = (
    Agent(
        "claude-code",
        ("claude", "--print", QUESTION),
        "mcp__llmc__{}",
        {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "none"},
        {".claude/settings.json": {"model": "opus"}},
    ),
    Agent(
        "codex",
        # Codex asks once whether a new hook may run, which nobody can answer here.
        ("codex", "exec", "--dangerously-bypass-hook-trust", "-c", "model=lines", *CODEX_MODEL, QUESTION),
        "mcp__llmc__{}",
        {"LINES_KEY": "none"},
    ),
    Agent(
        "gemini",
        ("gemini", "--model", "gemini-2.5-flash", "--prompt", QUESTION),
        "mcp_llmc_{}",
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {
            ".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}},
            # A headless Gemini CLI refuses every shell command that no rule allows.
            ".gemini/policies/shell.toml": GEMINI_SHELL,
        },
    ),
    Agent(
        "opencode",
        ("opencode", "run", "--model", "lines/lines", QUESTION),
        "llmc_{}",
        files={".config/opencode/opencode.json": {"provider": {"lines": OPENCODE_MODEL}}},
    ),
)


def main(folder: str, *names: str) -> int:
    chosen = [agent for agent in AGENTS if not names or agent.name in names]
    failed = [agent.name for agent in chosen for way in ways(agent) if not works(agent, folder, way)]
    return int(bool(failed))


def ways(agent: Agent) -> tuple[str, ...]:
    plugins = ("plugin from a folder", "plugin from a git URL") if agent.name == "claude-code" else ()
    return ("stdio", "HTTP", *plugins)


def works(agent: Agent, folder: str, way: str) -> bool:
    with tempfile.TemporaryDirectory() as home, serving(SCRIPT, SUB_SCRIPT) as model:
        project = Path(home, "project")
        shutil.copytree(HERE / "data" / "demo", project)
        environ = environ_of(agent, folder, home, model.url)
        for name, settings in agent.files.items():
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(settings if isinstance(settings, str) else filled(json.dumps(settings), model.url))
        subprocess.run(["git", "init", "--quiet"], cwd=project, env=environ, check=True)
        before = tree(home)
        llmc(environ, project, "index", "--once")
        with server(project, environ) if way == "HTTP" else no_server() as flags:
            if way.startswith("plugin"):
                agent = replace(agent, tool=PLUGIN_TOOL)
                install_plugin(environ, project, way)
            else:
                llmc(environ, project, "install", agent.name, "--hooks", "rewrite", "--subagents", *flags)
            output = run(agent, project, environ, model.url)
            problem = problem_of(agent, model) or removal_problem(environ, project, before, way)
        llmc(environ, project, "stop")
        good = "listed at once, called without a question, shell search rewritten, sub-agent served, removed"
        sys.stdout.write(f"{agent.name}, {way}: {problem or good}\n")
        sys.stdout.write(f"{output}\n" if problem else "")
        return not problem


def install_plugin(environ: dict[str, str], project: Path, way: str) -> None:
    """As a user does it: one command of the client. git maps the URL to a repository on this machine."""
    source = str(HERE)
    if way.endswith("URL"):
        copy = Path(environ["HOME"], ".cache", "repository")
        shutil.copytree(HERE / "plugin", copy / "plugin")
        shutil.copytree(HERE / ".claude-plugin", copy / ".claude-plugin")
        for command in (["init", "--quiet"], ["add", "."], [*AS_NOBODY, "commit", "--quiet", "-m", "plugin"]):
            subprocess.run(["git", *command], cwd=copy, env=environ, check=True)
        source = "https://git.example.com/llmc.git"
        given = ["config", "--global", f"url.file://{copy}/.git.insteadOf", source]
        subprocess.run(["git", *given], env=environ, check=True)
    claude(environ, project, "install", "llmc", "--marketplace", source, "--config", "mode=rewrite")


def claude(environ: dict[str, str], project: Path, *arguments: str) -> None:
    command = ["claude", "plugin", *arguments]
    done = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def llmc(environ: dict[str, str], project: Path, *arguments: str) -> None:
    done = subprocess.run(["llmc", *arguments, "--quiet"], cwd=project, env=environ, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"llmc {' '.join(arguments)}: {done.stdout.decode()}{done.stderr.decode()}")


@contextmanager
def no_server() -> Iterator[tuple[str, ...]]:
    yield ()


@contextmanager
def server(project: Path, environ: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """A running `llmc serve --http`, as flags of `llmc install`."""
    command = ["llmc", "serve", "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield "--http", json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


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
    return f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def filled(text: str, url: str) -> str:
    return text.replace("{url}", url)


def problem_of(agent: Agent, model: Model) -> str:
    """What is wrong with what the model was given; empty if nothing is."""
    main, sub = model.main, model.sub
    for conversation, who in ((main, "the agent"), (sub, "the sub-agent")):
        missing = [name for name in TOOLS if agent.tool.format(name) not in conversation.offered]
        if missing:
            return f"{who} was not offered {', '.join(missing)} in its first request: {conversation.offered}"
    if len(main.results) < len(SCRIPT) - 1:
        return f"{len(main.results)} of {len(SCRIPT) - 1} results arrived: {main.results}"
    found, rest, matches, shell = main.results[:4]
    checks = {
        f"search did not find it: {found}": "estimate" in found,
        f"the handle was not read: {rest}": "no result" not in rest and bool(rest.strip()),
        f"grep in the handle found nothing: {matches}": "day" in matches,
        # rg prints `./docs/…` on each line, llmc te each folder once and without `./`.
        f"the shell search was not rewritten: {shell}": "./docs" not in shell and "docs/" in shell,
        f"the sub-agent's search was not answered: {sub.results}": any("estimate" in one for one in sub.results),
    }
    return next((problem for problem, right in checks.items() if not right), "")


def tree(home: str) -> dict[str, bytes]:
    """Every file that an installation might change."""
    files = (path for path in Path(home).rglob("*") if path.is_file() and not path.is_symlink())
    found = {str(path.relative_to(home)): path for path in files}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(IGNORED)}


def removal_problem(environ: dict[str, str], project: Path, before: dict[str, bytes], way: str) -> str:
    """Whether uninstalling leaves anything behind: existing files must be as before, and no other may mention llmc."""
    ran = tree(environ["HOME"])
    if way.startswith("plugin"):
        claude(environ, project, "uninstall", "llmc")
        claude(environ, project, "marketplace", "remove", "llmc")
    llmc(environ, project, "uninstall", "--yes", "--keep-state")
    after = tree(environ["HOME"])
    changed = [name for name, data in before.items() if after.get(name) != data and ran.get(name) != after.get(name)]
    differ = [name for name in changed if b"llmc" in after.get(name, b"llmc")]
    settings = (".json", ".toml", ".md", ".js", ".bak")
    left = [name for name in after if name not in before and name.endswith(settings) and is_ours(name, after[name])]
    return f"after uninstall: changed {differ}, left {left}" if differ or left else ""


def is_ours(name: str, data: bytes) -> bool:
    """Logs and transcripts of the client mention llmc too; its settings do not."""
    if "/sessions/" in name or "/projects/" in name or "/tmp/" in name or "/logs/" in name or "/chats/" in name:
        return False
    return b"llmc serve" in data or b"llmc hook" in data or b"written by llmc" in data or b'"serve"' in data


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
