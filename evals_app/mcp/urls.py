"""The address of the MCP server; clients are set up with and without the slash."""

from django.urls import path

from evals_app.mcp.web import Mcp

urlpatterns = [path("mcp/", Mcp.as_view(), name="mcp"), path("mcp", Mcp.as_view())]
