"""What people write, over REST: suites, cases, agents, fixtures, providers and files.

`writing` has the one class for all of them. PUT goes through `library.importing.file_import` and
checks `If-Match` between comparing and saving.
"""
