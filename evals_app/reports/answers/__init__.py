"""What REST and commands answer, as classes that write and describe it.

Answers are not validated when they are written, so that rows of older versions can still be read. A
test compares them with the OpenAPI document.
"""
