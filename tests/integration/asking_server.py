"""A server made with the official SDK that asks its client, in whichever way its era has."""

import sys
import textwrap

from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition

SOURCE = textwrap.dedent("""
    from typing import Annotated, Literal

    import mcp_types as types
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, ListRoots, Resolve, Sample
    from pydantic import BaseModel

    server = MCPServer("asking")

    class Person(BaseModel):
        name: str
        age: int
        size: Literal["small", "large"] = "small"

    def who() -> Elicit[Person]:
        return Elicit("Who are you?", Person)

    def haiku() -> Sample:
        text = types.TextContent(type="text", text="Write a haiku")
        image = types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")
        messages = [types.SamplingMessage(role="user", content=[text, image])]
        tool = types.Tool(name="count", input_schema={"type": "object"})
        return Sample(messages, max_tokens=50, tools=[tool])

    def where() -> ListRoots:
        return ListRoots()

    @server.tool()
    async def form(person: Annotated[ElicitationResult[Person], Resolve(who)]) -> str:
        return f"{person.action} {getattr(person, 'data', None)!r}"

    @server.tool()
    async def sampling(
        message: Annotated[types.CreateMessageResultWithTools, Resolve(haiku)]
    ) -> str:
        return message.model_dump_json(by_alias=True, exclude_none=True)

    @server.tool()
    async def roots(found: Annotated[types.ListRootsResult, Resolve(where)]) -> str:
        return ",".join(str(root.uri) for root in found.roots)

    @server.tool()
    async def together(
        person: Annotated[ElicitationResult[Person], Resolve(who)],
        found: Annotated[types.ListRootsResult, Resolve(where)],
        message: Annotated[types.CreateMessageResultWithTools, Resolve(haiku)],
    ) -> str:
        return f"{person.action} {len(found.roots)} {message.model}"

    @server.tool()
    async def pinged(ctx: Context) -> str:
        await ctx.session.send_ping()
        return "pinged"

    server.run("stdio")
""")


def asking(era: Era) -> StdioDefinition:
    """How to start the server."""
    return StdioDefinition(
        name="asking", command=sys.executable, args=("-c", SOURCE), era=era, connect_timeout_s=60
    )
