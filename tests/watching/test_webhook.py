"""Somebody elsewhere is told; the watching never waits for that, and the secret is never shown."""

from __future__ import annotations

import socket
import time

import pytest

from stethoscope.watching.webhook import MOST_WAITING, TRIES, BadAddress, Webhook
from tests.watching.servers import receiving


def settle(webhook: Webhook, seconds: float = 10.0) -> None:
    """Wait until nothing is under way."""
    until = time.monotonic() + seconds
    while "given up" not in webhook.problem and time.monotonic() < until:
        time.sleep(0.01)


def test_a_message_arrives_as_json() -> None:
    with receiving(200) as server:
        webhook = Webhook(server.url)
        webhook.post({"text": "caf\u00e9 \u2713"})
        webhook.close()
    assert server.received == [{"text": "caf\u00e9 \u2713"}]
    assert (webhook.sent, webhook.problem) == (1, "")


def test_a_server_in_trouble_is_asked_again() -> None:
    with receiving(500, 503, 429, 200) as server:
        webhook = Webhook(server.url, pause=0.01)
        webhook.post({"n": 1})
        server.wait_for(1)
        webhook.close()
    assert (server.asked, server.received, webhook.problem) == (4, [{"n": 1}], "")


def test_a_server_that_stays_in_trouble_is_given_up_and_the_next_message_still_goes_out() -> None:
    with receiving(*[500] * TRIES, 200) as server:
        webhook = Webhook(server.url, pause=0.001)
        webhook.post({"n": 1})
        settle(webhook)
        assert webhook.problem == f"http://127.0.0.1/...: answered 500; given up after {TRIES} tries"
        webhook.post({"n": 2})
        server.wait_for(1)
        webhook.close()
    assert server.received == [{"n": 2}]
    assert webhook.problem == ""


@pytest.mark.parametrize("status", [404, 302])
def test_a_refusal_is_final_and_a_redirect_is_not_followed(status: int) -> None:
    with receiving(status) as server:
        webhook = Webhook(server.url, pause=0.001)
        webhook.post({"n": 1})
        settle(webhook)
        webhook.close()
    assert server.asked == 1
    assert webhook.problem == f"http://127.0.0.1/...: answered {status}; given up after 1 try"


def test_a_server_that_hangs_blocks_nobody() -> None:
    with receiving(0) as server:
        webhook = Webhook(server.url, pause=0.001, timeout=0.05)
        began = time.monotonic()
        for number in range(3 * MOST_WAITING):
            webhook.post({"n": number})
        assert time.monotonic() - began < 1.0
        settle(webhook)
        assert "no answer within 0.05 s" in webhook.problem
        began = time.monotonic()
        webhook.close(0.1)
        assert time.monotonic() - began < 1.0


def test_a_port_where_nobody_listens_is_said_without_the_secret() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    webhook = Webhook(f"http://127.0.0.1:{port}/hooks/SECRET", pause=0.001)
    webhook.post({"n": 1})
    settle(webhook)
    webhook.close()
    assert "connection refused" in webhook.problem
    assert "SECRET" not in webhook.problem


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/SECRET",
        "example.org/SECRET",
        "https://",
        "https://user:SECRET@example.org/",
        "https://example.org:SECRET/",
        "https://example.org/SECRET\r\nX: y",
        "https://[SECRET",
        "",
    ],
)
def test_an_address_that_cannot_be_posted_to_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(BadAddress) as refused:
        Webhook(url)
    assert "SECRET" not in str(refused.value)
