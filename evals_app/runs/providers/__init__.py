"""Providers as all processes share them: limits on calls, and a test of the connection.

Parallel calls are granted to leases under a lock, fairly, and end with them. Where there are fewer
places than workers, workers take turns. Calls per minute are booked as moments. Every process learns
of a 429 or 529 within one heartbeat. Agents with a rate group are limited in the same way.
"""
