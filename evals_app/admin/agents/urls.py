"""Addresses of the wizard for web addresses, and of the playground."""

from django.urls import path

from evals_app.admin.agents.address_wizard import from_address
from evals_app.admin.agents.playground import talk, talk_live
from evals_app.admin.kit.pages import page_path

urlpatterns = [
    page_path("agent/from-address/", from_address, name="agent_address"),
    page_path("agent/<int:pk>/talk/", talk, name="agent_talk"),
    path("evals_app/agent/<int:pk>/talk/live/", talk_live, name="evals_app_agent_talk_live"),
]
