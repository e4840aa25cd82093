import xml.etree.ElementTree as ElementTree

import pytest

from envtune_gym.errors import ConfigurationError
from envtune_gym.feedback.automatic import ToolGraph
from envtune_gym.feedback.automatic.drawing import Edge, draw, edges
from tests.feedback.automatic.test_graph import TRAJECTORIES, mine


@pytest.fixture
def graph():
    return mine(TRAJECTORIES)


def test_a_picture_shows_feeds_and_the_order_that_no_feed_explains(graph):
    found = edges(graph, least=0.3)
    assert Edge("lookup", "send", 0.5, "id → to") in found
    assert Edge("login", "send", 0.5) in found
    assert edges(graph, least=0.9) == []


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("g.md", ["```mermaid", "lookup -. id → to .-> send", "login --> send"]),
        ("g.dot", ["digraph", '"login" -> "send"', 'label="id → to"']),
        ("g.svg", ["<svg", ">lookup</text>", "id → to 50%"]),
    ],
)
def test_each_form_has_the_tools_and_the_arrows(graph, tmp_path, name, parts):
    draw(graph, tmp_path / name)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert all(part in text for part in parts), text


def test_svg_is_xml_whatever_the_tools_are_called_and_however_they_are_tangled(tmp_path):
    graph = ToolGraph.from_dict(
        {
            "turns": {"<a&>": 1, "b": 1},
            "before": {"<a&>": {"b": 1}, "b": {"<a&>": 1}},
            "uses": {},
            "feeds": {},
        }
    )
    draw(graph, tmp_path / "g.svg", least=0)
    ElementTree.parse(tmp_path / "g.svg")


def test_png_is_an_image(graph, tmp_path):
    pytest.importorskip("matplotlib")
    draw(graph, tmp_path / "g.png")
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_another_ending_is_refused(graph, tmp_path):
    with pytest.raises(ConfigurationError, match=r"must end in \.md, \.dot, \.svg, \.png"):
        draw(graph, tmp_path / "g.gif")
