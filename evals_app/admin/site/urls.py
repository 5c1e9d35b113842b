"""Addresses of what belongs to the whole site."""

from evals_app.admin.kit.pages import page_path
from evals_app.admin.site.schedules import show_next_times
from evals_app.admin.site.spending import show_spending
from evals_app.admin.site.webhooks import deliver_again, show_secret, try_webhook

urlpatterns = [
    page_path("schedule/next-times/", show_next_times, name="schedule_next_times"),
    page_path("spending/", show_spending, name="spending_changelist"),
    page_path("webhook/<int:pk>/test/", try_webhook, name="webhook_test"),
    page_path("webhook/<int:pk>/secret/", show_secret, name="webhook_secret"),
    page_path(
        "webhook/<int:pk>/deliveries/<int:delivery>/again/", deliver_again, name="webhook_again"
    ),
]
