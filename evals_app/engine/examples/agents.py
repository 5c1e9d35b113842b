"""An agent in Python: it needs no model, looks figures up in a table and calculates with them."""

import re
from collections.abc import Mapping, Sequence

# Weighted average exercise price per share, USD.
PRICES = {"2005": 25.14, "2006": 38.09, "2007": 60.94}


def analyst(message: str, history: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """Answer with a figure, the change between the last two, or that change in percent.

    The earlier messages show which figures are meant; nothing is kept between calls.
    """
    years = re.findall(r"\b(?:19|20)\d\d\b", message)
    if years:
        return _looked_up(years[-1])
    figures = _figures_in(history)
    if len(figures) < 2 or "change" not in message.lower():  # noqa: PLR2004 - from one to another
        return _reply("I can tell a price of a year, or how two of them differ.")
    first, second = figures[-1], figures[-2]
    change = round(second - first, 2)
    calls = [_call("subtract", second, first, change)]
    if "percent" not in message.lower():
        return _reply(f"{change:g}", tool_calls=calls)
    share = round(change / first, 4)
    return _reply(f"{share:.2%}", tool_calls=[*calls, _call("divide", change, first, share)])


def _looked_up(year: str) -> dict[str, object]:
    if year not in PRICES:
        return _reply(f"I know no price of {year}.", retrieved=[])
    text = f"In {year} the weighted average exercise price per share was {PRICES[year]} USD."
    return _reply(f"{PRICES[year]}", retrieved=[{"id": f"prices-{year}", "text": text}])


def _figures_in(history: Sequence[Mapping[str, str]]) -> list[float]:
    replies = [message["content"] for message in history if message["role"] == "assistant"]
    return [float(text) for text in replies if re.fullmatch(r"\d+\.\d+", text)]


def _call(name: str, a: float, b: float, result: float) -> dict[str, object]:
    return {"name": name, "args": {"a": a, "b": b}, "result": result}


def _reply(output: str, **more: object) -> dict[str, object]:
    usage = {"input_tokens": 0, "output_tokens": 0}  # it asks no model
    return {"output": output, "usage": usage, "estimated_cost_usd": 0, **more}
