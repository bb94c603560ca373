"""`mcp` 2.x, which asks for the newest protocol first and then for what the server speaks."""

from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp_types as types
from mcp import Client as Sdk
from mcp import MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from steps import main, plain


def server(task):
    if task["transport"] == "stdio":
        command, *arguments = task["command"]
        return StdioServerParameters(command=command, args=arguments)
    if task["transport"] == "sse":
        return sse_client(task["url"], headers=task.get("headers"))
    if task.get("headers"):
        return streamable_http_client(task["url"], http_client=httpx2.AsyncClient(headers=task["headers"]))
    return task["url"]


@asynccontextmanager
async def opened(task, strays):
    async def note(message):
        if isinstance(message, Exception):
            strays.append(str(message))

    async with Sdk(server(task), message_handler=note) as sdk:
        yield Client(sdk)


class Client:
    def __init__(self, sdk):
        self.sdk = sdk

    def hello(self):
        return {
            "protocolVersion": self.sdk.protocol_version,
            "serverInfo": plain(self.sdk.server_info),
            "capabilities": plain(self.sdk.server_capabilities),
            "instructions": self.sdk.instructions,
        }

    async def list_tools(self):
        return plain(await self.sdk.list_tools())

    async def call(self, name, arguments, follow=None):
        return plain(await self.sdk.call_tool(name, arguments, progress_callback=follow))

    async def error(self, name, arguments):
        try:
            return {"answered": await self.call(name, arguments)}
        except MCPError as failure:
            return plain(failure.error)

    async def abandon(self, name, arguments):
        answered = None
        with anyio.CancelScope() as scope:

            async def follow(*_):
                scope.cancel("no longer wanted")

            answered = await self.call(name, arguments, follow)
        return {"answered": answered}

    async def list_prompts(self):
        return plain(await self.sdk.list_prompts())

    async def list_resources(self):
        return plain(await self.sdk.list_resources())

    async def list_templates(self):
        return plain(await self.sdk.list_resource_templates())

    async def get_prompt(self, name, arguments):
        return plain(await self.sdk.get_prompt(name, arguments))

    async def read_resource(self, uri):
        return plain(await self.sdk.read_resource(uri))

    async def complete(self, wanted):
        reference = types.ResourceTemplateReference(**wanted["ref"])
        context = wanted["context"]["arguments"]
        return plain(await self.sdk.complete(reference, wanted["argument"], context_arguments=context))


main(opened)
