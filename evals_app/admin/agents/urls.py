"""Addresses of the wizard for web addresses, of developers' links, of the playground, and of topics."""

from django.urls import path

from evals_app.admin.agents.address_wizard import from_address
from evals_app.admin.agents.developer_links import ask_developer, change_link, connect_agent
from evals_app.admin.agents.playground import talk, talk_live
from evals_app.admin.agents.topics_page import ask_readiness, download_topics, show_topics
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("agent/from-address/", from_address, name="agent_address"),
    page_path("agent/ask-developer/", ask_developer, name="agent_ask_developer"),
    page_path("agent/<int:pk>/developer-link/", change_link, name="agent_developer_link"),
    path("connect/<int:pk>/<token>/", connect_agent, name="connect_agent"),
    page_path("agent/<int:pk>/topics/", show_topics, name="agent_topics"),
    page_path("agent/<int:pk>/topics/set/", ask_readiness, name="agent_topic_set"),
    page_path(
        "agent/<int:pk>/topics/file/<slug:report_kind>/", download_topics, name="agent_topics_file"
    ),
    page_path("agent/<int:pk>/talk/", talk, name="agent_talk"),
    path("evals_app/agent/<int:pk>/talk/live/", talk_live, name="evals_app_agent_talk_live"),
]
