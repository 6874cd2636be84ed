"""A chat loop: several turns in one session, remembered across runs."""

import asyncio

from long_running_agents import AgentDeps, LraError, StructuredMemoryStore, run_agent


async def main() -> None:
    """Read a line, answer it, until an empty one."""
    store = StructuredMemoryStore()
    await store.init_db()
    deps = AgentDeps(session_id="basic-chat", structured_store=store)
    try:
        while text := (await asyncio.to_thread(_read)).strip():
            try:
                output, _ = await run_agent(text, deps)
            except LraError as error:
                output = f"error: {error}"
            print(output)
    finally:
        await store.close()


def _read() -> str:
    try:
        return input("> ")
    except EOFError:
        return ""


if __name__ == "__main__":
    asyncio.run(main())
