"""The state that the server keeps for a session."""

from __future__ import annotations

from llmc.envelope.reply import Reply
from llmc.envelope.tokens import count
from llmc.server.surface import changed
from llmc.settings import Server, Settings
from llmc.state.connected_sessions import MOST_SESSIONS, ConnectedSessions
from llmc.state.topics import topics_of
from llmc.tools.accounting import remember
from llmc.tools.registry import TOOLS, tool
from llmc.tools.routing import fitting


def test_session_counts_content_tokens_without_the_frame() -> None:
    session = ConnectedSessions().enter("s")
    text = "12 matches in 3 files · showing 1\na.py\n1 x\n+11 more → h4k2"
    frame = " · showing 1\n+11 more → h4k2"
    remember(session, "grep", {"pattern": "x"}, Reply(text, handle="h4k2", frame=frame))
    assert session.calls == 1
    assert session.content_tokens == count(text) - count(frame)
    assert list(session.handles) == [("h4k2", "grep x")]


def test_changed_profile_marks_the_tool_list_as_changed() -> None:
    session = ConnectedSessions().enter("s")
    plain = Settings()
    session.listed = ("search", "grep", "read", "llmc")
    assert not changed(session, plain, None)
    assert changed(session, Settings(server=Server(profile="full")), None)


def test_the_session_that_was_silent_longest_is_forgotten() -> None:
    sessions = ConnectedSessions()
    first, second = sessions.enter("first"), sessions.enter("second")
    for number in range(MOST_SESSIONS - 1):
        sessions.enter("first")
        sessions.enter(str(number))
    assert sessions.enter("first") is first
    assert sessions.enter("second") is not second


def test_sessions_of_two_owners_never_meet() -> None:
    sessions = ConnectedSessions()
    assert sessions.enter("s", "one") is not sessions.enter("s", "two")


def test_a_question_is_about_what_it_names() -> None:
    assert topics_of("read", {"target": ["docs/guide.md"]}) == {"docs"}
    assert topics_of("grep", {"pattern": "x", "path": ["tests/test_a.py"]}) == {"tests"}
    assert topics_of("search", {"query": "who changed this last commit"}) == {"history"}
    assert topics_of("shell", {"command": "make"}) >= {"shell"}
    assert topics_of("search", {"query": "parse header"}) == {"code"}


def test_a_wish_finds_its_tool() -> None:
    tools = [tool(name) for name in TOOLS if "lean" not in tool(name).profiles]
    for wish, first in [
        ("callers of a function", "calls"),
        ("list the files by name", "find"),
        ("folders and counts", "tree"),
        ("symbols of a file", "outline"),
        ("passages for a prompt", "context"),
    ]:
        assert fitting(tools, wish)[0].name == first, wish
    assert fitting(tools, "xyzzy") == []
