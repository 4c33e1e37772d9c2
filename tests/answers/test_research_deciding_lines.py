"""Which lines of a definition an explanation quotes."""

from __future__ import annotations

from llmc.answers.research.question import understand
from llmc.answers.research.roles import Brief
from llmc.answers.research.roles.analyzer import deciding_lines
from llmc.base.model import Symbol

RETRIES = """\
func (lb Balancer) again(start time.Time, tried int) bool {
	// no retries are configured
	if lb.Window == 0 && lb.Most == 0 {
		return false
	}
	logger.Error("could not retry the request")
	// the limit of retries is reached
	if lb.Most > 0 && tried >= lb.Most {
		return false
	}
	lb.wait(start)
	return true
}"""


def quoted(question: str) -> list[tuple[int, str]]:
    symbol = Symbol("again", "method", "Balancer", 1, RETRIES.count("\n") + 1, "again()")
    return list(deciding_lines(Brief(understand(question)), symbol, RETRIES.splitlines()))


def test_a_branch_is_found_by_the_comment_above_it() -> None:
    assert (8, "if lb.Most > 0 && tried >= lb.Most {") in quoted("How is the limit of retries enforced?")


def test_lines_that_write_logs_are_not_quoted() -> None:
    lines = quoted("How does the balancer retry a request?")
    assert lines
    assert not any("logger" in text for _, text in lines)


def test_branches_and_exits_are_quoted_if_no_line_has_a_word_of_the_question() -> None:
    assert [number for number, _ in quoted("How is it decided?")] == [3, 4, 8, 12]  # `return false` is quoted once


DEADLINE = """\
def check(self, queued):
    if queued:
        return False
    deadline = max(MINIMUM, self.reload_time * self.factor)
    if self.last + timedelta(seconds=deadline) > now():
        return False
    log.warning("no new segments arrived: stopping")
    if not compare(self.mac, self.read_mac()):
        raise ModelWasTamperedWith(
            self.path,
        )
    return True"""


def python_lines(question: str) -> list[str]:
    symbol = Symbol("check", "method", "Worker", 1, DEADLINE.count("\n") + 1, "check(queued)")
    rows = deciding_lines(Brief(understand(question)), symbol, DEADLINE.splitlines())
    return [text.strip() for _, text in rows]


def test_a_branch_is_quoted_with_the_value_that_it_tests() -> None:
    lines = python_lines("How long is the deadline of the last segment?")
    assert "deadline = max(MINIMUM, self.reload_time * self.factor)" in lines


def test_an_exit_is_quoted_with_the_branch_around_it() -> None:
    lines = python_lines("How is it noticed that a model was tampered with?")
    assert "if not compare(self.mac, self.read_mac()):" in lines


def test_arguments_of_a_call_are_not_quoted_alone() -> None:
    assert "self.path," not in python_lines("What happens to the path?")
