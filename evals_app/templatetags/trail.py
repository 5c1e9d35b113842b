"""Where a page is, and its title for the browser.

Unfold renders a widget while it is imported, and the first widget makes Django load this file. Our pages need Unfold,
so the trail is imported only when a page is rendered.
"""

from django import template
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def trail(context: template.Context) -> SafeString:
    """Return the links that lead to a page, and last its own title, without a link."""
    from evals_app.admin.kit.trail import trail_of_page  # noqa: PLC0415 - see above

    return trail_of_page(context)


@register.simple_tag(takes_context=True)
def page_title(context: template.Context) -> str:
    """Return the title of a page for the browser: its own, and that of the page above it."""
    from evals_app.admin.kit.trail import title_of_page  # noqa: PLC0415 - see above

    return title_of_page(context)
