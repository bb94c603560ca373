"""`mcp` 1.x."""

import asyncio
from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

from steps import main, plain


def transport(task):
    if task["transport"] == "stdio":
        command, *arguments = task["command"]
        return stdio_client(StdioServerParameters(command=command, args=arguments))
    if task["transport"] == "sse":
        return sse_client(task["url"], headers=task.get("headers"))
    return streamablehttp_client(task["url"], headers=task.get("headers"))


@asynccontextmanager
async def opened(task, strays):
    tokens = asyncio.Queue()

    async def note(message):
        if isinstance(message, Exception):
            strays.append(str(message))
        elif isinstance(message.root, types.ProgressNotification):
            await tokens.put(message.root.params.progressToken)

    async with transport(task) as (read, write, *_), ClientSession(read, write, message_handler=note) as session:
        yield Client(session, await session.initialize(), tokens)


class Client:
    def __init__(self, session, initialized, tokens):
        self.session, self.initialized, self.tokens = session, initialized, tokens

    def hello(self):
        return plain(self.initialized)

    async def list_tools(self):
        return plain(await self.session.list_tools())

    async def call(self, name, arguments, follow=None):
        return plain(await self.session.call_tool(name, arguments, progress_callback=follow))

    async def error(self, name, arguments):
        try:
            return {"answered": await self.call(name, arguments)}
        except McpError as failure:
            return plain(failure.error)

    async def abandon(self, name, arguments):
        """This SDK does not tell the server when a call is given up, so that is done by hand."""

        async def follow(*_):
            pass

        # The SDK takes a request's id for its progress token. Progress of an earlier call may still come.
        request = self.session._request_id
        call = asyncio.create_task(self.session.call_tool(name, arguments, progress_callback=follow))
        while await self.tokens.get() != request:
            pass
        params = types.CancelledNotificationParams(requestId=request, reason="no longer wanted")
        notification = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(types.ClientNotification(notification))
        # From here on an answer is a stray.
        call.cancel()
        return {"answered": None}

    async def list_prompts(self):
        return plain(await self.session.list_prompts())

    async def list_resources(self):
        return plain(await self.session.list_resources())

    async def list_templates(self):
        return plain(await self.session.list_resource_templates())

    async def get_prompt(self, name, arguments):
        return plain(await self.session.get_prompt(name, arguments))

    async def read_resource(self, uri):
        return plain(await self.session.read_resource(AnyUrl(uri)))

    async def complete(self, wanted):
        reference = types.ResourceTemplateReference(**wanted["ref"])
        context = wanted["context"]["arguments"]
        return plain(await self.session.complete(reference, wanted["argument"], context_arguments=context))


main(opened)
