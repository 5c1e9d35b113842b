"""Reports in every format: HTML, Markdown, JUnit, CI systems, tables, messages and traces."""
