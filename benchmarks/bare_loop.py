"""The least that a thousand graded calls can cost: the SDK, a semaphore, `contains`, nothing stored.

    python benchmarks/bare_loop.py --url http://127.0.0.1:PORT --calls 1000 --concurrency 64

Prints one JSON object: calls, passed, loop_s (from the first call to the last reply) and cpu_s (user
and system time of the process, start and imports included).
"""

import argparse
import asyncio
import json
import resource
import time

import anthropic

SYSTEM = "Answer in one sentence."


def question(number: int) -> str:
    """Give the user message of a case; the reply must contain the parcel's name."""
    return f"Where is parcel P-{number:06}?"


async def ask(url: str, *, calls: int, concurrency: int) -> tuple[int, float]:
    """Ask for every parcel; give how many replies name it, and the seconds that it took."""
    slots = asyncio.Semaphore(concurrency)
    async with anthropic.AsyncAnthropic(api_key="benchmark", base_url=url) as client:

        async def passes(number: int) -> bool:
            async with slots:
                message = await client.messages.create(
                    model="benchmark",
                    max_tokens=4096,
                    system=SYSTEM,
                    messages=[{"role": "user", "content": question(number)}],
                )
            text = "".join(block.text for block in message.content if block.type == "text")
            return "parcel" in text.casefold()

        started = time.perf_counter()
        passed = sum(await asyncio.gather(*(passes(number) for number in range(1, calls + 1))))
        return passed, time.perf_counter() - started


def main() -> None:
    """Read the command line, ask, and print what it took."""
    parser = argparse.ArgumentParser(description="Call a model API and store nothing.")
    parser.add_argument("--url", required=True, help="Address of the model server.")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64, help="Calls at once.")
    given = parser.parse_args()
    with asyncio.Runner() as runner:
        passed, loop_s = runner.run(
            ask(given.url, calls=given.calls, concurrency=given.concurrency)
        )
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = used.ru_utime + used.ru_stime
    print(json.dumps({"calls": given.calls, "passed": passed, "loop_s": loop_s, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main()
