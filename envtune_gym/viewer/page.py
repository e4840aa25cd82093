"""The page: template, style, program and data in one file that loads nothing and runs nothing but its own program.

All text goes through JSON into elements' `textContent`. The policy in the page's head forbids every request, and every
script and style but the page's own, which it knows by their hashes; so even a fault could not make text act.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

__all__ = ["render_page"]

_SCRIPTS = ("dom.js", "data.js", "charts.js", "overview.js", "filters.js", "list.js", "detail.js", "app.js")
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def render_page(title: str, index: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Return the page as HTML.

    Args:
        title: Of the page.
        index: What is shown at once: runs, figures, the list of episodes.
        details: What is shown when an episode is opened; read then, so that a large file opens fast.
    """
    script = "(() => {\n'use strict';\n" + "\n".join(map(_asset, _SCRIPTS)) + "\n})();\n"
    style = _asset("style.css")
    parts = {
        "policy": _POLICY.format(script=_hash(script), style=_hash(style)),
        "title": _escaped(title),
        "style": style,
        "script": script,
        "index": _json(index),
        "details": _json(details),
    }
    page = _asset("page.html")
    head, *rest = page.split("{{")
    pieces = [head]
    for piece in rest:  # each placeholder once, and never within what has been put in
        name, _, text = piece.partition("}}")
        pieces += (parts[name], text)
    return "".join(pieces)


def _asset(name: str) -> str:
    return files("envtune_gym.viewer").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that can stand in a script element: without `<` nothing can end it or begin another."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    """Return a text for an element: what could be markup, or is not ASCII, as character references."""
    return "".join(one if one.isascii() and (one.isalnum() or one in " .-_:,/()") else _reference(one) for one in text)


def _reference(character: str) -> str:
    code = ord(character)
    is_text = character.isprintable() and not 0xD800 <= code <= 0xDFFF
    return f"&#{code};" if is_text else "&#65533;"
