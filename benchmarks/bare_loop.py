"""The least that a thousand graded calls can cost: the SDK, a semaphore, `contains`, nothing stored.

    python benchmarks/bare_loop.py --url http://127.0.0.1:PORT --calls 1000 --concurrency 64

`--api openai` calls OpenAI's chat API instead of Anthropic's.

Prints one JSON object: calls, passed, loop_s (from the first call to the last reply) and cpu_s (user
and system time of the process, start and imports included).
"""

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable

SYSTEM = "Answer in one sentence."


def question(number: int) -> str:
    """Return the user message of a case; the reply must contain the parcel's name."""
    return f"Where is parcel P-{number:06}?"


Ask = Callable[[str], Awaitable[str]]


def anthropic_calls(url: str) -> Ask:
    """Return a call of Anthropic's Messages API; only this SDK is imported."""
    import anthropic  # noqa: PLC0415

    client = anthropic.AsyncAnthropic(api_key="benchmark", base_url=url)

    async def ask(text: str) -> str:
        message = await client.messages.create(
            model="benchmark",
            max_tokens=4096,
            system=SYSTEM,
            messages=[{"role": "user", "content": text}],
        )
        return "".join(block.text for block in message.content if block.type == "text")

    return ask


def openai_calls(url: str) -> Ask:
    """Return a call of OpenAI's chat API; only this SDK is imported."""
    import openai  # noqa: PLC0415

    client = openai.AsyncOpenAI(api_key="benchmark", base_url=f"{url}/v1")

    async def ask(text: str) -> str:
        completion = await client.chat.completions.create(
            model="benchmark",
            max_completion_tokens=4096,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}],
        )
        return completion.choices[0].message.content or ""

    return ask


APIS = {"anthropic": anthropic_calls, "openai": openai_calls}


async def ask_all(ask: Ask, *, calls: int, concurrency: int) -> tuple[int, float]:
    """Ask for every parcel; return how many replies name it, and the seconds that it took."""
    slots = asyncio.Semaphore(concurrency)

    async def passes(number: int) -> bool:
        async with slots:
            return "parcel" in (await ask(question(number))).casefold()

    started = time.perf_counter()
    passed = sum(await asyncio.gather(*(passes(number) for number in range(1, calls + 1))))
    return passed, time.perf_counter() - started


def main() -> None:
    """Read the command line, ask, and print what it took."""
    parser = argparse.ArgumentParser(description="Call a model API and store nothing.")
    parser.add_argument("--url", required=True, help="Address of the model server.")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64, help="Calls at once.")
    parser.add_argument("--api", choices=APIS, default="anthropic")
    given = parser.parse_args()
    ask = APIS[given.api](given.url)
    with asyncio.Runner() as runner:
        passed, loop_s = runner.run(ask_all(ask, calls=given.calls, concurrency=given.concurrency))
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = used.ru_utime + used.ru_stime
    print(json.dumps({"calls": given.calls, "passed": passed, "loop_s": loop_s, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main()
