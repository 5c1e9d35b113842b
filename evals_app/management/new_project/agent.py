"""An agent in Python: put yours in place of `answer`, then run this file.

It runs the suite beside it in this process, without a site.
"""

from pathlib import Path

from evalwell import run


def answer(message: str) -> str:
    """Return the reply to a message."""
    if "money back" in message:
        return "I am sorry to hear that. What is your order number?"
    return "Hello! How can I help?"


if __name__ == "__main__":
    results = run(Path(__file__).with_name("helper.suite.yaml"), agent=answer)
    results.assert_passed()
