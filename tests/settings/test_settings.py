"""One `Settings` from five layers: precedence, what each layer may set, and the result."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from llmc import settings
from llmc.base.errors import ConfigError, RootError
from llmc.settings import Index, Secret, Settings, SettingSource, examine, load
from llmc.settings.fields import walk
from llmc.settings.renamed import OLD_NAMES, RENAMED


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home" / ".config" / "llmc").mkdir(parents=True)
    return {"HOME": str(tmp_path / "home")}


def user_file(env: dict[str, str], text: str) -> Path:
    path = Path(env["HOME"]) / ".config" / "llmc" / "llmc.toml"
    path.write_text(text)
    return path


def test_defaults_are_a_whole_settings() -> None:
    made = Settings()
    assert made.index.max_file_bytes == 2 * 1024 * 1024
    assert (made.limits.max_files_read, made.limits.max_bytes_read) == (50, 1_048_576)
    assert (made.runtime.max_concurrent_tasks, made.runtime.default_deadline_ms) == (4, 30_000)
    assert (made.envelope.search_budget, made.envelope.read_budget, made.envelope.cap) == (1_200, 2_000, 8_000)


def test_settings_are_frozen_comparable_replaceable_and_can_be_sent_to_a_worker() -> None:
    made = Settings(index=Index(hidden=False))
    with pytest.raises(ValidationError, match="frozen"):
        made.index.hidden = True
    again = pickle.loads(pickle.dumps(made))
    assert again == made != Settings()
    assert made.model_copy(update={"index": Index()}) == Settings()
    with pytest.raises(ValidationError, match="hiden"):
        Index(hiden=False)  # type: ignore[call-arg]


def test_each_layer_wins_over_the_one_below(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, "[index]\ndebounce_ms = 1\nsettle_ms = 1\nbarrier_ms = 1\nworkers = 1\n")
    (workspace / "llmc.toml").write_text("[index]\nsettle_ms = 2\nbarrier_ms = 2\nworkers = 2\n")
    env |= {"LLMC_INDEX_BARRIER_MS": "3", "LLMC_INDEX_WORKERS": "3"}
    loaded = load(workspace, env, ["index.workers=4"])
    index = loaded.settings.index
    assert (index.debounce_ms, index.settle_ms, index.barrier_ms, index.workers) == (1, 2, 3, 4)
    layers = {key: source.layer for key, source in loaded.sources.items()}
    assert layers["index.debounce_ms"] == "user"
    assert layers["index.settle_ms"] == "workspace"
    assert layers["index.barrier_ms"] == "environment"
    assert loaded.sources["index.workers"] == SettingSource("flag", "--set index.workers")
    assert "index.max_depth" not in loaded.sources


def test_json_holds_the_same_keys_also_in_the_seeds_spelling(workspace: Path, env: dict[str, str]) -> None:
    document = {"$schema": "x", "limits": {"maxFilesRead": 7}, "runtime": {"max_concurrent_tasks": 2}}
    (workspace / "llmc.json").write_text(json.dumps(document))
    made = load(workspace, env).settings
    assert (made.limits.max_files_read, made.runtime.max_concurrent_tasks) == (7, 2)


def test_of_two_files_in_a_folder_the_toml_is_read_and_the_other_is_mentioned(
    workspace: Path, env: dict[str, str]
) -> None:
    (workspace / "llmc.toml").write_text("[index]\nworkers = 2\n")
    (workspace / "llmc.json").write_text('{"index": {"workers": 3}}')
    loaded = load(workspace, env)
    assert loaded.settings.index.workers == 2
    assert str(loaded.notices[0]) == f"{workspace}/llmc.json: is not read beside llmc.toml"


def test_a_file_given_with_config_replaces_the_workspace_file_and_may_set_everything(
    workspace: Path, env: dict[str, str], tmp_path: Path
) -> None:
    (workspace / "llmc.toml").write_text("[index]\nhidden = false\n")
    other = tmp_path / "other.json"
    tool = {"name": "ask", "description": "d", "internal_tools": {"files": ["read"]}, "provider": "p", "model": "m"}
    other.write_text(json.dumps({"mcps": {"files": {"command": "run", "args": ["-y"]}}, "tools": [tool]}))
    for made in (load(workspace, env, (), other), load(workspace, env | {"LLMC_CONFIG": str(other)})):
        assert made.settings.index.hidden
        assert made.settings.mcps["files"].command == "run"
        assert made.settings.delegates["ask"].internal_tools == {"files": ("read",)}
        assert made.settings.delegates["ask"].max_steps == 10


def test_the_workspace_file_is_the_nearest_up_to_the_top_of_the_work_tree(workspace: Path, env: dict[str, str]) -> None:
    (workspace.parent / "llmc.toml").write_text("[index]\nworkers = 1\n")
    inner = workspace / "a" / "b"
    inner.mkdir(parents=True)
    assert load(inner, env).settings.index.workers == 0
    (workspace / "llmc.toml").write_text("[index]\nworkers = 2\n")
    assert load(inner, env).settings.index.workers == 2
    (workspace / "a" / "llmc.toml").write_text("[index]\nworkers = 3\n")
    assert load(inner, env).settings.index.workers == 3


def test_without_a_work_tree_only_the_folder_itself_is_looked_at(tmp_path: Path, env: dict[str, str]) -> None:
    inner = tmp_path / "shared" / "mine"
    inner.mkdir(parents=True)
    (tmp_path / "shared" / "llmc.toml").write_text("[index]\nworkers = 1\n")
    assert load(inner, env).settings.index.workers == 0


def test_variables_and_flags_hold_every_kind_of_value(workspace: Path, env: dict[str, str], tmp_path: Path) -> None:
    env |= {
        "LLMC_INDEX_HIDDEN": "off",
        "LLMC_INDEX_EXCLUDE": "*.min.js, dist/",
        "LLMC_ROOTS": f"{tmp_path}/a:{tmp_path}/b",
        "LLMC_EMBEDDER_API_KEY": "k",
        "LLMC_INDEX_WORKERS": "",
    }
    flags = ["roles.locator.temperature=0.5", 'mcps={"x": {"command": "c"}}', "server.pruner.contained=no"]
    made = load(workspace, env, flags).settings
    assert not made.index.hidden
    assert made.index.exclude == ("*.min.js", "dist/")
    assert [root.path.name for root in made.roots] == ["a", "b"]
    assert made.embedder.api_key.reveal() == "k"
    assert made.roles["locator"].temperature == 0.5
    assert made.mcps["x"].command == "c"
    assert not made.server.pruner.contained


def test_a_variable_reaches_an_entry_however_its_name_is_spelt(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, '[providers.Local-One]\nbase_url = "http://localhost:1"\n')
    env |= {"LLMC_PROVIDERS_LOCAL_ONE_API_KEY": "a", "LLMC_PROVIDERS_NEW_MODEL": "m"}
    made = load(workspace, env).settings
    assert made.providers["Local-One"].api_key == Secret("a")
    assert made.providers["Local-One"].base_url == "http://localhost:1"
    assert made.providers["new"].model == "m"


def test_a_root_flag_is_one_path_whatever_is_in_it(workspace: Path, env: dict[str, str], tmp_path: Path) -> None:
    odd = tmp_path / "a:b,c=d"
    loaded = load(workspace, env, [f"roots={odd}", "roots=sub"])
    assert [root.path for root in loaded.roots()] == [odd, workspace / "sub"]


def test_roots_are_relative_to_the_file_that_names_them(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, 'roots = ["~/code", "near", {path = "/abs", name = "else", exclude = ["*.log"]}]\n')
    roots = load(workspace, env).roots()
    home = Path(env["HOME"])
    assert [root.path for root in roots] == [home / "code", home / ".config/llmc/near", Path("/abs")]
    assert (roots[2].name, roots[2].exclude) == ("else", ("*.log",))


def test_roots_have_names_of_their_own_and_each_comes_once(workspace: Path, env: dict[str, str]) -> None:
    loaded = load(workspace, env, ["roots=/x/app", "roots=/y/app", "roots=/x/app", "roots=/z/../y/app"])
    assert [(str(root.path), root.name) for root in loaded.roots()] == [("/x/app", "app"), ("/y/app", "app-2")]
    twice = examine(workspace, env, ['roots=[{"path": "/a", "name": "n"}, {"path": "/b", "name": "n"}]'])
    assert 'two roots are named "n"' in str(twice.problems[0])


def test_without_roots_the_work_tree_around_the_folder_is_the_root(workspace: Path, env: dict[str, str]) -> None:
    inner = workspace / "deep"
    inner.mkdir()
    assert [root.path for root in load(inner, env).roots()] == [workspace]


@pytest.mark.parametrize("where", ["/", "{home}", "{home}/.."])
def test_root_and_home_are_not_taken_unasked(where: str, env: dict[str, str]) -> None:
    folder = where.format(home=env["HOME"])
    loaded = load(folder, env)
    assert loaded.settings.roots == ()
    with pytest.raises(RootError, match="--root"):
        loaded.roots()
    named = load(folder, env, ["roots=."])
    assert [root.path for root in named.roots()] == [Path(os.path.realpath(folder))]


def test_a_dotfiles_tree_around_the_home_folder_does_not_become_the_root(env: dict[str, str]) -> None:
    home = Path(env["HOME"])
    (home / ".git").mkdir()
    notes = home / "notes"
    notes.mkdir()
    with pytest.raises(RootError, match="is your home folder"):
        load(notes, env).roots()
    assert [root.path for root in load(notes, env, ["roots=."]).roots()] == [notes]


def test_the_state_folder_is_set_by_the_environment_alone(workspace: Path, env: dict[str, str], tmp_path: Path) -> None:
    assert load(workspace, env).settings.home == Path(env["HOME"]) / ".cache" / "llmc"
    assert load(workspace, env | {"LLMC_HOME": str(tmp_path / "s")}).settings.home == tmp_path / "s"
    user_file(env, 'home = "/elsewhere"\n')
    with pytest.raises(ConfigError, match="LLMC_HOME"):
        load(workspace, env)


def test_secrets_are_expanded_and_never_shown(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, '[mcps.x]\ncommand = "run"\nenv = {KEY = "${TOKEN}", COST = "$${TOKEN} $5"}\n')
    made = load(workspace, env | {"TOKEN": "hunter2"}).settings
    assert made.mcps["x"].env["KEY"].reveal() == "hunter2"
    assert made.mcps["x"].env["COST"].reveal() == "${TOKEN} $5"
    for text in (repr(made), f"{made.mcps['x'].env['KEY']}", f"{made}"):
        assert "hunter2" not in text


def test_a_secret_that_is_not_there_is_an_error_only_when_it_is_needed(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, '[providers.far]\napi_key = "${NO_SUCH_KEY}"\n')
    key = load(workspace, env).settings.providers["far"].api_key
    assert not key
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        key.reveal()


def test_nothing_but_secrets_is_expanded(workspace: Path, env: dict[str, str]) -> None:
    user_file(env, 'roots = ["${HOME}"]\n[index]\nexclude = ["${HOME}"]\n')
    made = load(workspace, env).settings
    assert made.index.exclude == ("${HOME}",)
    assert made.roots[0].path.name == "${HOME}"


def test_agents_are_inline_or_scripts_with_keys_of_their_own(workspace: Path, env: dict[str, str]) -> None:
    path = user_file(
        env,
        '[agents.reviewer]\nsystem_prompt = "p"\ntools = ["search"]\ncontext = [{search = "{service}"}]\n'
        '[agents.script.responder]\npath = "r.lua"\nsearch_limit = 5\n',
    )
    made = load(workspace, env).settings
    assert made.agents["reviewer"].context[0].limit == 3
    script = made.agent_scripts["responder"]
    assert (script.path, script.timeout, script.config) == (path.parent / "r.lua", 30, {"search_limit": 5})
    assert set(made.agents) == {"reviewer"}


def test_importing_the_package_or_its_places_does_not_import_pydantic() -> None:
    heavy = "{'pydantic', 'tomllib', 'difflib', 'json', 'numpy', 'click', 'platformdirs'}"
    code = (
        f"import sys, llmc.settings.locations, llmc.settings.problems; sys.exit(', '.join({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_the_public_names_are_these() -> None:
    parts = {"AgentArgumentEntry", "AgentEntry", "AgentScript", "AgentSearchEntry", "Delegate", "Mcp", "Provider"}
    parts |= {"ArtifactSettings", "DaemonSettings", "EmbedderSettings", "EnvelopeSettings", "Index", "LimitSettings"}
    parts |= {"Crew", "PrunerProfile", "Redaction", "RedactionRule", "Research", "RoleEntry", "RootEntry", "Runtime"}
    parts |= {"RemoteEntry", "Server", "SessionSettings", "Shell", "ToolScript", "WebResearch"}
    assert set(settings.__all__) == parts | {
        "Loaded",
        "SettingsProblem",
        "Secret",
        "Settings",
        "SettingSource",
        "examine",
        "load",
    }


def test_old_names_lead_to_settings_that_exist() -> None:
    """Also that no old name is a setting again, which would then be unreachable."""
    names = {each.name for each in walk(Settings)}
    assert set(RENAMED.values()) <= names
    assert not set(OLD_NAMES) & names
