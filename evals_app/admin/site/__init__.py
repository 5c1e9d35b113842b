"""What belongs to the whole site: navigation, spending, providers, schedules and webhooks."""
