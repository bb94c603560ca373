// @modelcontextprotocol/client 2.x, asked to find the newest protocol that both sides speak.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { main } from './round.mjs';

await main(async (task, onStray) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  client.onerror = onStray;
  const transport = transportOf(task);
  await client.connect(transport);
  return {
    hello: () => ({
      protocolVersion: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions() ?? null,
    }),
    listTools: () => client.listTools(),
    call: (name, theArguments, options) => client.callTool({ name, arguments: theArguments }, options),
    listPrompts: () => client.listPrompts(),
    listResources: () => client.listResources(),
    listTemplates: () => client.listResourceTemplates(),
    getPrompt: (wanted) => client.getPrompt(wanted),
    readResource: (wanted) => client.readResource(wanted),
    complete: (wanted) => client.complete(wanted),
    close: async () => {
      await transport.terminateSession?.();
      await client.close();
    },
  };
});

function transportOf(task) {
  const options = { requestInit: { headers: task.headers ?? {} } };
  if (task.transport === 'stdio') {
    const [command, ...args] = task.command;
    return new StdioClientTransport({ command, args });
  }
  if (task.transport === 'sse') return new SSEClientTransport(new URL(task.url), options);
  return new StreamableHTTPClientTransport(new URL(task.url), options);
}
