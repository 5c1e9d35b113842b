"""How pages show moments: in one style, in the time zone of the reader."""

from datetime import date, datetime, timedelta, tzinfo

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def moment(at: datetime | None, but_day: date | None = None) -> SafeString | str:
    """Return "22 Nov 2026, 19:03"; a pointer over it shows seconds and time zone.

    On the day `but_day`, which a heading says already, only "19:03".
    """
    if at is None:
        return ""
    is_known = timezone.localdate(at) == but_day
    return _time_tag(at, f"{timezone.localtime(at):%H:%M}" if is_known else moment_text(at))


def day_heading(day: date) -> str:
    """Return "Today", "Yesterday", "26 November", or in another year "26 November 2025"."""
    today = timezone.localdate()
    ago = (today - day).days
    if ago in {0, 1}:
        return ("Today", "Yesterday")[ago]
    return date_format(day, "j F" if day.year == today.year else "j F Y")


@register.filter
def since(at: datetime) -> SafeString:
    """Return "3 minutes ago"; a pointer over it shows the moment."""
    return _time_tag(at, ago_text(at))


def ago_text(at: datetime) -> str:
    """Return "2 days ago", in one unit."""
    if timezone.now() - at < timedelta(minutes=1):
        return "just now"
    return f"{timesince(at, depth=1)} ago".replace("\N{NO-BREAK SPACE}", " ")


def _time_tag(at: datetime, text: str) -> SafeString:
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        exact_moment(at),
        text,
    )


def exact_moment(at: datetime) -> str:
    """Return "22 Nov 2026, 19:03:07 (UTC+1, Europe/Zurich)"."""
    local = timezone.localtime(at)
    return f"{date_format(local)}, {local:%H:%M:%S} ({zone_of(local)})"


def moment_text(at: datetime) -> str:
    """Return "22 Nov 2026, 19:03"."""
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def day_and_time(at: datetime, zone: tzinfo | None) -> str:
    """Return "Sun, 22 Nov 2026, 19:03", in the reader's zone if none is given."""
    local = timezone.localtime(at, zone)
    return f"{date_format(local, 'D')}, {date_format(local, 'DATETIME_FORMAT')}"


def clock(at: datetime | None) -> str:
    """Return "19:03:07", for events in the near future."""
    return f"{timezone.localtime(at):%H:%M:%S}" if at else ""


def zone_of(local: datetime) -> str:
    """Return "UTC+1, Europe/Zurich"."""
    offset = local.utcoffset() or timedelta()
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    sign = "" if not minutes else "+" if minutes > 0 else "-"
    ahead = "UTC" + (f"{sign}{hours}" if minutes else "") + (f":{rest:02}" if rest else "")
    name = str(local.tzinfo)
    return ahead if name == ahead else f"{ahead}, {name}"
