"""The guide in `docs/`, served inside the site: the same pages as on GitHub.

`docs/README.md` lists the pages in their order, so a page that it does not name is not served.
"""

import re
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCS = settings.FILES_DIR / "docs"

_LISTED = re.compile(
    r"^(?:## (?P<part>.+)|\d+\. \[(?P<title>.+)\]\((?P<slug>[\w-]+)\.md\))$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class GuidePage:
    """One page of the guide; `slug` is the name of its file without `.md`."""

    slug: str
    title: str
    part: str


@cache
def pages() -> tuple[GuidePage, ...]:
    """Return the pages of the guide in reading order."""
    listed, part = [], ""
    for line in _LISTED.finditer((DOCS / "README.md").read_text(encoding="utf-8")):
        part = line["part"] or part
        if line["slug"]:
            listed.append(GuidePage(line["slug"], line["title"], part))
    return tuple(listed)


@cache
def content(slug: str) -> tuple[SafeString, tuple[tuple[str, str], ...]]:
    """Return a page as HTML, and the anchor and title of each of its sections."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse((DOCS / f"{slug}.md").read_text(encoding="utf-8"))
    sections = []
    for token, text in pairwise(tokens):
        if token.type == "heading_open":
            title = "".join(part.content for part in text.children or ())
            token.attrSet("id", slugify(title))
            if token.tag == "h2":
                sections.append((slugify(title), title))
        for part in token.children or ():
            _point_into_the_site(part)
    html = markdown.renderer.render(tokens, markdown.options, {})
    # A wide table scrolls by itself on a narrow screen; so that a keyboard can, it takes the focus.
    html = html.replace("<table>", '<div class="ew-help-table" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>")
    return mark_safe(html), tuple(sections)  # noqa: S308 - our own pages, HTML in them is off


def _point_into_the_site(token: Token) -> None:
    """Turn links between files of the repository into links between pages of the site."""
    key = {"link_open": "href", "image": "src"}.get(token.type, "")
    target = str(token.attrGet(key) or "")
    if not target or "://" in target or target.startswith("#"):
        return
    file, _, anchor = target.partition("#")
    name = PurePosixPath(file)
    if token.type == "image":
        token.attrSet(key, reverse("help_image", args=[name.name]))
        # With its size set, a picture that loads late does not move the text.
        width, height = _size(DOCS / file)
        token.attrs |= {"loading": "lazy", "width": width, "height": height}
    elif name.suffix == ".md" and name.parent == PurePosixPath():
        page = reverse("help") if name.stem == "README" else reverse("help", args=[name.stem])
        token.attrSet(key, f"{page}#{anchor}" if anchor else page)


def _size(picture: Path) -> tuple[int, int]:
    """Return the width and height of a lossy WebP picture: they follow its start code (RFC 6386)."""
    _, _, frame = picture.read_bytes().partition(b"\x9d\x01\x2a")
    width, height = struct.unpack_from("<HH", frame)
    return width & 0x3FFF, height & 0x3FFF


@require_GET
def help_page(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Show one page of the guide; without a name, its contents."""
    listed = pages()
    position = next((place for place, page in enumerate(listed) if page.slug == slug), None)
    if slug and position is None:
        raise Http404
    page = listed[position] if position is not None else None
    html, sections = content(slug or "README")
    following = listed[position + 1 : position + 2] if position is not None else listed[:1]
    context: dict[str, object] = {
        **admin.site.each_context(request),
        "title": page.title if page else "Help",
        "above": [("Help", reverse("help"))],
        "page": page,
        "pages": listed,
        "html": html,
        "sections": sections,
        "following": following[0] if following else None,
    }
    return TemplateResponse(request, "admin/help.html", context)


@require_GET
@cache_control(private=True, max_age=3600)
def help_image(_request: HttpRequest, name: str) -> HttpResponse:
    """Send a picture of the guide."""
    pictures = {picture.name: picture for picture in (DOCS / "images").glob("*.webp")}
    if name not in pictures:
        raise Http404
    return HttpResponse(pictures[name].read_bytes(), content_type="image/webp")


urlpatterns = [
    path("", admin.site.admin_view(help_page), name="help"),
    path("images/<str:name>", admin.site.admin_view(help_image), name="help_image"),
    path("<slug:slug>/", admin.site.admin_view(help_page), name="help"),
]
