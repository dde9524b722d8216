"""Nobody without the key gets anything, and nobody outside gets a change in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from stethoscope.dashboard.app import application
from stethoscope.dashboard.gate import MOST_BYTES, Keys
from tests.dashboard.conftest import TOKEN, Asked, run_in

Serving = Callable[..., Asked]
EVERY_GET = (
    *("/", "/runs.json", "/runs.events", "/review", "/trials", "/trials.json", "/compare", "/compare.json"),
    *("/run/0123456789abcdef0123", "/run/0123456789abcdef0123.json", "/run/0123456789abcdef0123.events"),
    *("/run/0123456789abcdef0123.plan", "/static/report.js", "/static/runs.js", "/nothing"),
)
EVERY_POST = ("/review.json", "/run/0123456789abcdef0123/apply", "/run/0123456789abcdef0123/undo")


def stranger(asked: Asked) -> TestClient:
    return TestClient(application(asked.dashboard), base_url="http://127.0.0.1")


@pytest.mark.parametrize("path", EVERY_GET)
def test_without_the_key_nothing_is_answered(path: str, serving: Serving) -> None:
    answer = stranger(serving()).get(path)
    assert answer.status_code == 403
    assert "stethoscope serve" in answer.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é", TOKEN.upper()])
def test_a_wrong_key_opens_nothing(token: str, serving: Serving) -> None:
    client = stranger(serving())
    assert client.get("/", params={"token": token}).status_code == 403
    assert client.get("/", headers={"authorization": f"Bearer {token}".encode()}).status_code == 403


def test_the_key_in_the_address_becomes_a_cookie_that_no_script_and_no_other_site_has(
    serving: Serving,
) -> None:
    asked = serving()
    client = stranger(asked)
    answer = client.get("/", params={"token": TOKEN, "q": "a&b<script>"})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{asked.dashboard.keys.cookie}={TOKEN};")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert 'content="0;url=/?q=a%26b%3Cscript%3E"' in answer.text
    assert TOKEN not in answer.text
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", '/"><script>alert(1)</script>'])
def test_the_key_leads_nowhere_else(path: str, serving: Serving) -> None:
    answer = stranger(serving()).get(path, params={"token": TOKEN})
    if answer.status_code == 200:
        assert "url=//" not in answer.text
        assert "<script" not in answer.text


def test_a_program_may_show_the_key_as_a_bearer(serving: Serving) -> None:
    answer = stranger(serving()).get("/runs.json", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "0.0.0.0",
        "[::2]",
    ],
)
def test_another_name_that_leads_here_is_turned_away(host: str, serving: Serving) -> None:
    assert serving().client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765"])
def test_the_names_of_this_machine_are_known_at_every_port(host: str, serving: Serving) -> None:
    """A tunnel leads here from another port."""
    assert serving().client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", EVERY_POST)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://127.0.0.1"}, 403),
        ({"origin": "http://127.0.0.1:81"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"x-stethoscope": "wrong"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_a_change_from_elsewhere_is_refused(
    path: str, headers: dict[str, str], status: int, serving: Serving
) -> None:
    assert serving().post(path, {}, **headers).status_code == status


@pytest.mark.parametrize("path", EVERY_POST)
def test_a_change_without_its_own_headers_is_refused(path: str, serving: Serving) -> None:
    assert serving().client.post(path, json={}).status_code == 403


@pytest.mark.parametrize("path", EVERY_POST)
def test_what_changes_something_is_no_get(path: str, serving: Serving) -> None:
    assert serving().client.get(path).status_code in {404, 405}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_answered(method: str, serving: Serving) -> None:
    assert serving().client.request(method, "/").status_code == 405


def test_too_much_is_not_read(serving: Serving) -> None:
    asked = serving()
    assert asked.post("/review.json", {"text": "x" * (MOST_BYTES + 1)}).status_code == 413
    assert asked.client.get("/?q=" + "x" * 5000).status_code == 414


def test_too_much_without_a_length_is_not_read_either(serving: Serving) -> None:
    asked = serving()
    parts = (b"x" * 65536 for _ in range(40))
    own = {"origin": "http://127.0.0.1", "x-stethoscope": asked.dashboard.keys.csrf}
    answer = asked.client.post(
        "/review.json", content=parts, headers={**own, "content-type": "application/json"}
    )
    assert answer.status_code == 409
    assert answer.json() == {"error": "More was sent than is read."}


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/report.js", "/runs.json", "/?token=" + TOKEN])
def test_every_answer_forbids_what_it_does_not_need(path: str, serving: Serving) -> None:
    headers = serving().client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_a_page_holds_no_script_and_no_style_of_its_own(serving: Serving, tmp_path: Path) -> None:
    run_in(tmp_path / "runs", "a")
    asked = serving()
    for path in ("/", "/review", "/trials", asked.run("a"), "/nothing"):
        text = asked.client.get(path).text
        scripts = [part.split(">", 1) for part in text.split("<script")[1:]]
        assert all("src=" in head or "application/json" in head for head, _ in scripts)
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text


def test_every_start_has_other_secrets() -> None:
    one, other = Keys(), Keys()
    assert one.token != other.token
    assert one.csrf != other.csrf
    assert one.cookie != other.cookie
    assert len(one.token) >= 43
    assert one.csrf not in one.token
