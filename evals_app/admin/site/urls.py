"""Addresses of what belongs to the whole site."""

from django.contrib.admin import site
from django.urls import path
from django.views.generic import RedirectView

from evals_app.admin.kit.pages import page_path
from evals_app.admin.site.activity import download_activity
from evals_app.admin.site.daily_imports import edit_daily_import, price_of_a_day
from evals_app.admin.site.masking_patterns import try_pattern
from evals_app.admin.site.schedules import show_next_times
from evals_app.admin.site.spending import show_spending
from evals_app.admin.site.webhooks import deliver_again, show_secret, try_webhook

# Django lists the models of each application; people go by the menu.
_sections = [
    path(f"{section}/", site.admin_view(RedirectView.as_view(pattern_name="admin:index")))
    for section in ("evals_app", "fixtures_app", "auth")
]

urlpatterns = [
    *_sections,
    page_path("schedule/next-times/", show_next_times, name="schedule_next_times"),
    page_path("conversationset/<int:pk>/daily/", edit_daily_import, name="conversationset_daily"),
    page_path(
        "conversationset/<int:pk>/daily/price/", price_of_a_day, name="conversationset_daily_price"
    ),
    page_path("maskingpattern/try/", try_pattern, name="maskingpattern_try"),
    page_path("activity/csv/", download_activity, name="activity_csv"),
    page_path("spending/", show_spending, name="spending_changelist"),
    page_path("webhook/<int:pk>/test/", try_webhook, name="webhook_test"),
    page_path("webhook/<int:pk>/secret/", show_secret, name="webhook_secret"),
    page_path(
        "webhook/<int:pk>/deliveries/<int:delivery>/again/", deliver_again, name="webhook_again"
    ),
]
