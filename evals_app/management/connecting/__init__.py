"""`evalwell connect`: this computer fetches an agent's messages from a site and sends the answers.

`site` talks to the site, `local_agent` asks the agent here, and `connection` joins them. None of it
touches a database.
"""
