"""Reports in every format: HTML, Markdown, JUnit, CI systems, tables, messages and traces.

Each kind is one pure function from results to pieces of text, so that a report is never in memory as
a whole. HTML is made with `reports.words.markup` only, which escapes every text. Tables go through
the writers of exported tables, which keep formulas as text.
"""
