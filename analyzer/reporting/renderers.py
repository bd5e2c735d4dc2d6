"""The list of formats. A new one is one file, one line here, one test."""

from __future__ import annotations

from typing import Final

from analyzer.reporting import github, gitlab, html, html_fragment, json, junit, markdown, sarif, terminal
from analyzer.reporting.renderer import Renderer

RENDERERS: Final[tuple[Renderer, ...]] = (
    terminal.RENDERER,
    json.RENDERER,
    html.RENDERER,
    html_fragment.RENDERER,
    github.RENDERER,
    markdown.RENDERER,
    sarif.RENDERER,
    gitlab.RENDERER,
    junit.RENDERER,
)


def renderer(renderer_id: str) -> Renderer:
    """The format of that id. Raises KeyError for one that is not in the list."""
    found = next((r for r in RENDERERS if r.id == renderer_id), None)
    if found is None:
        raise KeyError(renderer_id)
    return found
