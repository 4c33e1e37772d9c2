"""Delegates over third-party MCP servers from npm and PyPI, and a small real model: `make test-servers`."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

from delegates_world import SERVERS, World, alone, gateway, npm, said, sent_to, talk
from small_model import serving_true_model

if TYPE_CHECKING:
    from model_server import ModelServer


def test_the_seeds_example_works_with_real_servers(world: World, model: ModelServer) -> None:
    (world.root / "notes.md").write_text("The depot opens at seven.\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*git[1:], "commit", "-qm", "the first parcel"]):
        subprocess.run(["git", *arguments], cwd=world.root, check=True)
    world.mcps["filesystem"] = {"command": "node", "args": [npm("server-filesystem"), str(world.root)]}
    world.mcps["git"] = {"command": str(SERVERS / "bin" / "mcp-server-git"), "args": []}
    read = json.dumps({"path": str(world.root / "notes.md")})
    log = json.dumps({"repo_path": str(world.root)})
    steps = f"use:filesystem__read_text_file:{read}&use:git__git_log:{log}+say:It opens at seven."
    world.delegate("clerk", steps, {"filesystem": ["read_text_file", "list_directory"], "git": ["git_log"]})
    assert " It opens at seven." in alone(world, query="when does the depot open?").splitlines()
    first, second = sent_to(model, steps)
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert names == ["filesystem__read_text_file", "filesystem__list_directory", "git__git_log", "llmc__more"]
    seen = json.dumps(second["messages"])
    assert "The depot opens at seven." in seen
    assert "the first parcel" in seen


def test_servers_over_http_and_sse_are_used_like_programs(world: World, model: ModelServer) -> None:
    ports = {"sse": 0, "streamableHttp": 0}
    running = []
    try:
        for transport in ports:
            process, ports[transport] = everything(transport)
            running.append(process)
        world.mcps["web"] = {"transport": "http", "url": f"http://127.0.0.1:{ports['streamableHttp']}/mcp"}
        world.mcps["events"] = {"transport": "sse", "url": f"http://127.0.0.1:{ports['sse']}/sse"}
        steps = 'use:web__echo:{"message": "over http"}&use:events__echo:{"message": "over sse"}+say:Heard both.'
        world.delegate("clerk", steps, {"web": ["echo"], "events": ["echo"]})
        assert "Heard both." in alone(world)
        seen = json.dumps(sent_to(model, steps)[1]["messages"])
        assert "over http" in seen
        assert "over sse" in seen
    finally:
        for process in running:
            process.kill()
            process.communicate()


def everything(transport: str) -> tuple[subprocess.Popen[str], int]:
    """The reference server on a port that was free a moment ago."""
    import os
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["node", npm("server-everything"), transport],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    while process.poll() is None:
        with socket.socket() as peer:
            if peer.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    return process, port


def test_a_real_server_is_passed_through(world: World) -> None:
    world.mcps["filesystem"] = {
        "command": "node",
        "args": [npm("server-filesystem"), str(world.root)],
        "expose": ["list_directory", "read_text_file"],
    }
    path = str(world.root / "parcel.py")

    async def act(using: Any) -> tuple[str, str, str]:
        listing = await said(using, "llmc", name="filesystem")
        read = await gateway(using, "filesystem.read_text_file", path=path, head=1)
        return listing, read, await gateway(using, "filesystem.read_text_file", path="/etc/passwd")

    listing, read, outside = talk(world, act)
    assert "list_directory(path)" in listing
    assert " def deliver(parcel):" in read
    assert "filesystem::read_text_file failed" in outside
    assert "root:" not in outside


def test_a_true_model_answers(world: World) -> None:
    world.twin("twin")
    with serving_true_model(longest=48) as url:
        world.more["providers"] = {"true": {"base_url": url, "timeout_ms": 200_000}}
        options = {"provider": "true", "timeout_seconds": 300, "max_steps": 2}
        world.delegate("clerk", "smollm2", {"twin": ["echo"]}, system_prompt="Answer in one sentence.", **options)
        told = json.loads(world.llmc("delegate", "test", "clerk", "query=What is a parcel?", "--json").stdout)
    assert told["error"] == ""
    assert told["data"]["text"]
    assert told["data"]["tokens"] > 0
