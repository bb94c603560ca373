// What every JavaScript client does with the server: the same steps in the same order, and one line of JSON that says what it
// saw. A step that fails unexpectedly ends the program; whether what was seen is right, the Rust test says (sdks.rs).

/// `open` gives a client of one SDK: {hello, listTools, call, listPrompts, …, close}.
export async function main(open) {
  // One SDK notes on stdout what it does.
  console.debug = console.log = console.error;
  const task = JSON.parse(process.argv[2]);
  const strays = [];
  const client = await open(task, (error) => strays.push(String(error?.message ?? error)));
  const seen = { hello: client.hello(), strays };
  await look(client, seen);
  if (task.project) await work(client, task, seen);
  seen.calls = [];
  for (const [name, theArguments] of task.calls ?? []) seen.calls.push(await client.call(name, theArguments));
  await client.close();
  process.stdout.write(JSON.stringify(seen) + '\n');
  // A client that holds the process open would hang the test; nothing is left to wait for.
  process.exit(0);
}

async function look(client, seen) {
  const page = await client.listTools();
  seen.moreTools = page.nextCursor ?? null;
  seen.tools = page.tools.map(({ name, annotations }) => ({ name, annotations }));
  seen.status = await client.call('check_status', {});
  seen.broken = await error(client.call('check_status', { nonsense: 1 }));
  seen.unknown = await error(client.call('no_such_tool', {}));
  // Some hosts ask whether or not it is offered.
  seen.prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
  seen.resources = (await client.listResources()).resources.map(({ uri }) => uri);
  seen.templates = (await client.listTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
}

async function work(client, task, seen) {
  const inProject = { project_id: task.project };
  seen.missing = await client.call('search', { query: 'anything', ...inProject });
  seen.progress = [];
  const follow = { onprogress: (update) => seen.progress.push(update) };
  seen.indexed = await client.call('build_index', { repoPath: task.repository, ...inProject }, follow);
  seen.found = await client.call('search', { query: task.query, top: 1, ...inProject });
  // These SDKs forget a call's progress handler with its answer: on a busy machine, progress that is read together with the answer
  // comes in as an error (typescript-sdk#2580).
  const isLate = (stray) => stray.includes('progress notification for an unknown token');
  seen.lateProgress = seen.strays.filter(isLate).length;
  seen.prompt = await client.getPrompt({ name: seen.prompts[0], arguments: task.promptArguments });
  seen.read = await client.readResource({ uri: task.uri });
  seen.completion = (await client.complete(task.completion)).completion;
  seen.abandoned = await abandon(client, { repoPath: task.large, ...inProject });
  seen.jobAfterwards = await lastJob(client, inProject);
}

/// Cancels a call as soon as it says that it is under way.
async function abandon(client, theArguments) {
  const abort = new AbortController();
  const options = { signal: abort.signal, onprogress: () => abort.abort('no longer wanted') };
  try {
    return { answered: await client.call('build_index', theArguments, options) };
  } catch (failure) {
    return { answered: null, how: String(failure) };
  }
}

/// The newest job's state once it is over.
async function lastJob(client, inProject) {
  for (let look = 0; look < 200; look += 1) {
    const { structuredContent } = await client.call('index_status', inProject);
    const state = structuredContent.result.jobs[0].state;
    if (state !== 'running' && state !== 'queued') return state;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return 'never over';
}

/// The protocol error that `call` must end with.
async function error(call) {
  try {
    return { answered: await call };
  } catch (failure) {
    return { code: failure.code, message: failure.message, data: failure.data ?? null };
  }
}
