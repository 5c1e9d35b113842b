"""Evals as code: what the package `evalwell` offers. It knows neither Django nor a database.

    suites          `Suite`, `Case`, `Turn`, `check`: suites written in Python, or read from files
    agents          what is tested: a function, an agent file, or an AgentSpec
    freezing        everything that a run uses, prepared by the rules of a site
    memory_gateway  jobs and outcomes of the engine in memory, within a budget
    running         `run`
    results         what a run found out: cases, trials, checks; reports
    pytest_plugin   what pytest loads: its options, and which files are suites
    pytest_items    a test for each case, and one for the gates

`evals_app/python/evalwell/`, which is `evalwell` in the installed package, has the public names.
"""
