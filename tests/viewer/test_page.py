import base64
import hashlib
import json
import re

from envtune_gym.viewer.page import render_page
from tests.viewer.runs import HOSTILE


def script(page, name):
    return re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1]


def test_data_come_through_unchanged_whatever_they_are():
    data = {"texts": [HOSTILE, "{{script}}", "</script><!--<script>", "{{details}}"]}
    page = render_page("run", data, {"strings": [HOSTILE]})
    assert json.loads(script(page, "index")) == data
    assert json.loads(script(page, "details")) == {"strings": [HOSTILE]}
    assert "<" not in script(page, "index")


def test_nothing_but_the_script_and_style_of_the_page_may_run():
    page = render_page("run", {}, {})
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text[-1].encode()).digest()).decode()
        assert len(text) == 1
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_page_names_no_other_place():
    page = render_page("run", {}, {})
    assert not re.findall(r"https?://|//[a-z]+\.|\bsrc=|@import|url\(", page)


def test_a_title_is_text():
    page = render_page("</title><script>x\ud800\x00\u202e\u00fc&", {}, {})
    title = re.search(r"<title>(.*?)</title>", page)[1]
    assert title == "&#60;/title&#62;&#60;script&#62;x&#65533;&#65533;&#65533;&#252;&#38;"
    page.encode()
