"""Starts and messages that are due: schedules, e-mails and webhooks."""
