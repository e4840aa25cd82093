import socket
from contextlib import ExitStack

import pytest

from envtune_gym.errors import ServerError
from envtune_gym.evaluation.models import check_reachable, reachability

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def listening():
    """A server that takes one connection, and after it lets others wait; its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        yield "127.0.0.1", server.getsockname()[1]


def test_one_that_listens_passes_before_it_has_said_anything(listening):
    host, port = listening
    check_reachable(f"http://{host}:{port}/v1")


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("http://127.0.0.1:1/v1", r"at http://127\.0\.0\.1:1 \(Connection refused\)"),
        ("http://ann:secret@127.0.0.1:1/v1", r"at http://127\.0\.0\.1:1 \("),
        ("http://127.0.0.1:99999/v1", "out of range"),
        ("http://a..b/v1", "label"),
    ],
)
def test_an_address_where_nobody_listens_is_said_with_what_to_do(base_url, said):
    with pytest.raises(ServerError, match=f"{said}.*start it.*--base-url") as caught:
        check_reachable(base_url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_one_that_is_slow_to_take_a_connection_is_left_to_the_retries(listening, monkeypatch):
    monkeypatch.setattr(reachability, "_SECONDS", 0.1)
    host, port = listening
    with ExitStack() as queue:
        try:
            for _ in range(8):
                queue.enter_context(socket.create_connection(listening, 0.1))
        except TimeoutError:
            check_reachable(f"http://{host}:{port}/v1")
        else:
            pytest.skip("this system queues connections without an end")


def test_what_only_a_proxy_can_reach_is_left_to_it(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    check_reachable("http://nobody.invalid/v1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(ServerError):
        check_reachable("http://127.0.0.1:1/v1")
