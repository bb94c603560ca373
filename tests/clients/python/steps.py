"""What every Python client does with the server: the same steps in the same order, and one line of JSON that says what it saw.

A step that fails unexpectedly ends the program; whether what was seen is right, the Rust test says (sdks.rs).
"""

import asyncio
import json
import sys


def main(opened):
    """`opened(task, strays)` is an async context manager that yields a client of one SDK."""
    task = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(run(opened, task))))


async def run(opened, task):
    strays = []
    async with opened(task, strays) as client:
        seen = {"hello": client.hello(), "strays": strays}
        await look(client, seen)
        if task.get("project"):
            await work(client, task, seen)
        seen["calls"] = [await client.call(name, arguments) for name, arguments in task.get("calls", [])]
    return seen


async def look(client, seen):
    page = await client.list_tools()
    seen["moreTools"] = page.get("nextCursor")
    seen["tools"] = [{"name": tool["name"], "annotations": tool["annotations"]} for tool in page["tools"]]
    seen["status"] = await client.call("check_status", {})
    seen["broken"] = await client.error("check_status", {"nonsense": 1})
    seen["unknown"] = await client.error("no_such_tool", {})
    # Some hosts ask whether or not it is offered.
    seen["prompts"] = [prompt["name"] for prompt in (await client.list_prompts())["prompts"]]
    seen["resources"] = [resource["uri"] for resource in (await client.list_resources())["resources"]]
    templates = (await client.list_templates())["resourceTemplates"]
    seen["templates"] = [template["uriTemplate"] for template in templates]


async def work(client, task, seen):
    in_project = {"project_id": task["project"]}
    seen["missing"] = await client.call("search", {"query": "anything"} | in_project)
    seen["progress"] = []

    async def follow(progress, total, message):
        seen["progress"].append({"progress": progress, "total": total, "message": message})

    seen["indexed"] = await client.call("build_index", {"repoPath": task["repository"]} | in_project, follow)
    seen["found"] = await client.call("search", {"query": task["query"], "top": 1} | in_project)
    seen["prompt"] = await client.get_prompt(seen["prompts"][0], task["promptArguments"])
    seen["read"] = await client.read_resource(task["uri"])
    seen["completion"] = (await client.complete(task["completion"]))["completion"]
    seen["abandoned"] = await client.abandon("build_index", {"repoPath": task["large"]} | in_project)
    seen["jobAfterwards"] = await last_job(client, in_project)


async def last_job(client, in_project):
    """The newest job's state once it is over."""
    for _ in range(200):
        status = await client.call("index_status", in_project)
        state = status["structuredContent"]["result"]["jobs"][0]["state"]
        if state not in ("running", "queued"):
            return state
        await asyncio.sleep(0.1)
    return "never over"


def plain(model):
    """A message of an SDK as it was on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
