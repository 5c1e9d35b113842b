"""The look of the site: its accent, its mark, and what Unfold shows around every page."""

from django.templatetags.static import static
from django.urls import reverse_lazy

# Ink blue: distinct from the colours of verdicts. 600 on white and 400 on the dark ground reach 4.5:1.
_ACCENT = {
    "50": "oklch(97.5% .012 264)",
    "100": "oklch(94.5% .028 264)",
    "200": "oklch(89% .056 264)",
    "300": "oklch(81.5% .095 264)",
    "400": "oklch(73% .135 264)",
    "500": "oklch(62% .17 264)",
    "600": "oklch(51% .18 264)",
    "700": "oklch(44% .165 264)",
    "800": "oklch(37.5% .135 264)",
    "900": "oklch(32% .105 264)",
    "950": "oklch(24% .075 264)",
}


def _mark(_request: object) -> str:
    """Return the address of the mark, a check in a dark hexagon."""
    return static("evals_app/favicon.svg")


UNFOLD: dict[str, object] = {
    "SITE_TITLE": "Evalwell",
    "SITE_HEADER": "Evalwell",
    "SITE_URL": reverse_lazy("admin:index"),
    "SITE_ICON": _mark,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _mark}],
    "COLORS": {"primary": _ACCENT},
    "DASHBOARD_CALLBACK": "evalsite.dashboard.dashboard",
    "ACCOUNT": {"navigation": [{"title": "Your profile", "link": reverse_lazy("profile")}]},
    "SIDEBAR": {"navigation": "evals_app.admin.site.navigation.navigation"},
}
