"""What people write about suites, cases and checks.

What checks name is compared with the inventory of the suite (`Grader.mentions`), in the same way in
imports, forms and runs. `cannot_fail` finds checks, gates and suites that prove nothing: writing
refuses them, and stored ones are read and then only inform.
"""
