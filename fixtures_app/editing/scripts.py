"""Scripts that Django adds to every page of its admin, and that few pages use."""

from typing import Any

from django import forms

# 60 kB: slugs that follow a name.
_FOR_SLUGS = ("urlify.js", "prepopulate.js", "xregexp.js", "xregexp.min.js")
# 40 kB: links that add or change another row in a window of its own.
_FOR_WINDOWS = (
    "jquery.js",
    "jquery.min.js",
    "jquery.init.js",
    "core.js",
    "RelatedObjectLookups.js",
)


class FewScripts:
    """Pages of the admin without the scripts that they do not use."""

    opens_windows = False  # to add or change what a field refers to

    @property
    def media(self) -> forms.Media:
        pages: Any = super()
        media = pages.media
        unused = _FOR_SLUGS if self.opens_windows else (*_FOR_SLUGS, *_FOR_WINDOWS)
        scripts = [path for path in media._js if not str(path).endswith(unused)]  # noqa: SLF001 - no other way
        return forms.Media(css=media._css, js=scripts)  # noqa: SLF001
