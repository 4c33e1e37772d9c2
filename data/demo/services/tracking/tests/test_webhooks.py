import pytest

from tracking.config import Webhooks
from tracking.webhooks import SignatureError, pause_before, sign, verify

SECRET = b"example-secret-for-tests"


def test_old_signature_is_refused():
    header = sign(b"{}", SECRET, now=1000)
    verify(header, b"{}", SECRET, Webhooks(), now=1299)
    with pytest.raises(SignatureError, match="expired"):
        verify(header, b"{}", SECRET, Webhooks(), now=1301)


def test_pauses_double_up_to_an_hour():
    assert [pause_before(attempt) for attempt in (1, 2, 3, 12)] == [10, 20, 40, 3600]
