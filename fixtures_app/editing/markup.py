"""The icons, badges and buttons of all pages, as template tags."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from django import template
from django.forms.utils import flatatt
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

TemplateContext: TypeAlias = dict[str, Any]  # what a template is given, by name

register = template.Library()

# Unfold's modal shows what HTMX loads into it.
_INTO_DIALOG = {"hx-target": "#modal-content", "x-on:htmx:after-on-load": "openModal = true"}
_INTO_DIALOG_TEXT = flatatt(_INTO_DIALOG)  # lists have it in each row


@register.simple_tag(name="icon")
def icon_span(name: str, css: str = "") -> SafeString:
    """Return an icon. Screen readers skip it, so the words next to it must say the same."""
    classes = _classes("material-symbols-outlined", css)
    return format_html('<span class="{}" aria-hidden="true">{}</span>', classes, name)


@register.simple_tag(name="badge")
def badge_span(tone: str, word: str, *, icon: str, hint: str = "") -> SafeString:
    """Return a state as an icon and a word, so that it never depends on colour alone."""
    title = format_html(' title="{}"', hint) if hint else ""
    return format_html(
        '<span class="badge tone-{}"{}>{}{}</span>', tone, title, icon_span(icon), word
    )


@register.simple_tag(name="verdict")
def verdict_span(tone: str, word: str) -> SafeString:
    """Return a verdict as a mark and a word; the mark differs in shape, not only in colour."""
    return format_html('<span class="ew-verdict is-{}">{}</span>', tone, word)


@register.simple_tag
def verdict_dot(tone: str, word: str) -> SafeString:
    """Return the mark of a verdict alone; screen readers read its word, and a pointer shows it."""
    return format_html(
        '<i class="ew-dot is-{}" role="img" aria-label="{}" title="{}"></i>', tone, word, word
    )


@register.simple_tag(name="dots")
def dot_row(tones: Iterable[str], label: str) -> SafeString:
    """Return a row of marks, such as the trials of a case; `label` says the same in words."""
    marks = format_html_join("", '<i class="ew-dot is-{}"></i>', ((tone,) for tone in tones))
    return format_html('<span class="ew-dots" role="img" aria-label="{}">{}</span>', label, marks)


@register.simple_tag(name="trial_marks")
def trial_row(trials: Iterable[tuple[str, str, str]], label: str) -> SafeString:
    """Return the trials of a case as marks, each with its tone, its words and an address, which may be empty."""
    marks = [
        format_html(
            '<a href="{}" aria-label="{}" title="{}"><i class="ew-dot is-{}"></i></a>',
            *(url, words, words, tone),
        )
        if url
        else verdict_dot(tone, words)
        for tone, words, url in trials
    ]
    parts = format_html_join("", "{}", ((mark,) for mark in marks))
    return format_html('<span class="ew-dots" role="group" aria-label="{}">{}</span>', label, parts)


@register.simple_tag(name="bar")
def segment_bar(parts: Iterable[tuple[str, int]], label: str) -> SafeString:
    """Return one bar of parts with their tones and counts; `label` says the counts in words."""
    pieces = ((tone, number) for tone, number in parts if number)
    marks = format_html_join("", '<i class="is-{}" style="--n: {}"></i>', pieces)
    return format_html('<div class="ew-bar" role="img" aria-label="{}">{}</div>', label, marks)


@register.simple_tag
def small_badge(word: str, tone: str = "") -> SafeString:
    """Return a word in a small frame. `tone` is "bad", "warn" or nothing."""
    classes = _classes("ew-badge", tone and f"ew-{tone}")
    return format_html('<span class="{}">{}</span>', classes, word)


@register.simple_tag
def button(label: str, *, icon: str = "", kind: str = "", **attributes: object) -> SafeString:
    """Return a button that sends its form. `kind` is "primary" or nothing."""
    return _button("button", label, icon, kind, {"type": "submit"} | attributes)


@register.simple_tag
def link_button(
    label: str, view: str = "", *args: object, icon: str = "", kind: str = "", **attributes: object
) -> SafeString:
    """Return a link that looks like a button, to a view with its arguments or to `href`."""
    href = {"href": reverse(view, args=args)} if view else {}
    return _button("a", label, icon, kind, href | attributes)


@register.simple_tag
def guide_link(label: str, page: str, section: str = "") -> SafeString:
    """Return a link to a page of the guide that opens beside the form, or without scripts in a tab."""
    address = reverse("help", args=[page])
    whole = f"{address}#{section}" if section else address
    link = '<li><a href="{}" hx-get="{}" target="_blank">{}</a></li>'
    return format_html(link, whole, address, label)


@register.simple_tag
def dialog_button(
    label: str, view: str = "", *args: object, href: str = "", icon: str = "", kind: str = ""
) -> SafeString:
    """Return a button that opens the dialog of a view with its arguments, or of `href`."""
    opening = {"type": "button", "hx-get": href or reverse(view, args=args)} | _INTO_DIALOG
    return _button("button", label, icon, kind, opening)


@register.simple_tag
def dismiss_button(label: str) -> SafeString:
    """Return a button that closes its dialog."""
    closing = {"type": "button", "x-on:click": "openModal = false"}
    return _button("button", label, "", "", closing)


@register.simple_tag
def into_dialog() -> SafeString:
    """Return the attributes that open a dialog with what `hx-get` loads."""
    return _INTO_DIALOG_TEXT


def _button(
    element: str, label: str, icon: str, kind: str, attributes: Mapping[str, object]
) -> SafeString:
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    return format_html(
        "<{0}{1}>{2}{3}</{0}>",
        element,
        flatatt({"class": _classes("review-button", kind and f"is-{kind}")} | named),
        icon_span(icon) if icon else "",
        label,
    )


def _classes(*names: str) -> str:
    return " ".join(filter(None, names))
