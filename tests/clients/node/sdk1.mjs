// @modelcontextprotocol/sdk 1.x. The task may name another package that is an older release of the same SDK.
import { main } from './round.mjs';

await main(async (task, onStray) => {
  const from = async (module) => import(`${task.package ?? '@modelcontextprotocol/sdk'}/${module}`);
  const { Client } = await from('client/index.js');
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
  client.onerror = onStray;
  const transport = await transportOf(task, from);
  let version = null;
  const set = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (agreed) => {
    version = agreed;
    set?.(agreed);
  };
  await client.connect(transport);
  return {
    hello: () => ({
      protocolVersion: version,
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions?.() ?? null,
    }),
    listTools: () => client.listTools(),
    call: (name, theArguments, options) => client.callTool({ name, arguments: theArguments }, undefined, options),
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

async function transportOf(task, from) {
  const headers = task.headers ?? {};
  if (task.transport === 'stdio') {
    const { StdioClientTransport } = await from('client/stdio.js');
    const [command, ...args] = task.command;
    return new StdioClientTransport({ command, args });
  }
  if (task.transport === 'sse') {
    const { SSEClientTransport } = await from('client/sse.js');
    return new SSEClientTransport(new URL(task.url), { requestInit: { headers } });
  }
  const { StreamableHTTPClientTransport } = await from('client/streamableHttp.js');
  return new StreamableHTTPClientTransport(new URL(task.url), { requestInit: { headers } });
}
