"""One question, one answer."""

import asyncio
import sys

from long_running_agents import AgentDeps, LraError, StructuredMemoryStore, run_agent


async def main(question: str) -> None:
    """Ask once and print the answer."""
    store = StructuredMemoryStore()
    await store.init_db()
    try:
        output, messages = await run_agent(
            question, AgentDeps(session_id="single-turn", structured_store=store)
        )
        print(output)
        print(f"({len(messages)} messages in this session)", file=sys.stderr)
    finally:
        await store.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(" ".join(sys.argv[1:]) or "What can you do?"))
    except LraError as error:
        sys.exit(f"error: {error}")
