"""Writing checks: picking a kind, its options, and trying it on a reply."""
