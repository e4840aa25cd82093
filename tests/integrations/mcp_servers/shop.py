"""A server as anybody might write one with the SDK: tools, a resource, a prompt, progress and log messages."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop", version="3", log_level="CRITICAL")
orders: dict[str, int] = {}


@server.tool()
def order(item: str, count: int = 1) -> dict[str, object]:
    """Order some of an item."""
    if item != "lamp":
        raise ToolError(f"no item {item!r}")
    orders[item] = orders.get(item, 0) + count
    return {"order_id": "o-17", "count": orders[item], "price": 1.0, "note": "für Ærø ✓"}


@server.tool()
def cancel(order_id: str) -> str:
    """Cancel an order."""
    raise ToolError(f"unknown order {order_id}")


@server.tool()
async def pack(context: Context, boxes: int) -> str:
    """Pack boxes one after another."""
    for box in range(boxes):
        await context.report_progress(box + 1, boxes, f"box {box + 1}")
    return "packed"


@server.resource("shop://hours")
def hours() -> str:
    """When the shop is open."""
    return "9-17"


@server.prompt()
def greet(name: str) -> str:
    """Greet a customer."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    server.run()
