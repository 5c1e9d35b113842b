"""Schedules, webhooks and spending over REST."""
