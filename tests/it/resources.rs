//! Indexed files as MCP resources, completion, and prompts: over the real protocol, and never beyond the caller's rights.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use contract::ProjectId;
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface, ToolVisibility, browse};
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, CompletionContext, CompletionInfo, ErrorData,
    GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams, Reference, Resource,
    ResourceContents,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use surfaces::contracts;
use surfaces::mcp::McpServer;
use tenancy::{Principal, Projects, Scope};

use crate::harness::{PROGRAM, Repository, app, app_with, home, http, modules, project, result};
use crate::modules::MODULES;

type McpSession = RunningService<RoleClient, ()>;

const TEMPLATE: &str = "repo://{repository}/{+path}";
const TEMPLATE_WITH_PROJECT: &str = "repo://{repository}/{+path}{?project}";

/// The files of the repository in these tests.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Shop\n\nSells things.\n"),
    ("docs/guide.md", "# Guide\n\nBegin here.\n"),
    ("src/main.py", "def main():\n    return 'shop'\n"),
    ("src/Handlers/cart.py", "def cart():\n    return []"),
    ("src/with space.py", "def spaced():\n    return 1\n"),
    ("src/ünïcode_日本.py", "def letters():\n    return 'é'\n"),
    ("c#/what?.py", "def odd():\n    return 3\r\n"),
    ("100%.md", "# Everything\n"),
];

/// Opens a session of `caller` inside this process, over the real protocol.
async fn connect(app: &Arc<App>, caller: Caller) -> McpSession {
    let (client_side, server_side) = tokio::io::duplex(1 << 20);
    let server = McpServer::local(Arc::clone(app), modules().tools(), caller);
    tokio::spawn(async move { server.serve(server_side).await.unwrap().waiting().await });
    ().serve(client_side).await.unwrap()
}

fn in_project(project: &str) -> Caller {
    Caller { project: Some(project.to_owned()), ..Caller::local(Surface::Stdio) }
}

/// A principal that may use only `project`.
fn principal_for(project: &str) -> Arc<Principal> {
    let id = ProjectId::parse(project).unwrap();
    Arc::new(Principal { projects: Projects::Only(BTreeSet::from([id])), ..Principal::local() })
}

async fn index(app: &Arc<App>, repository: &Repository, project: &str) -> String {
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    repository.path().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Lists all pages of resources.
async fn list_pages(client: &McpSession) -> Vec<Vec<Resource>> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let result = client.list_resources(Some(page)).await.unwrap();
        pages.push(result.resources);
        cursor = result.next_cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

async fn read(client: &McpSession, uri: &str) -> Result<(String, Value), ErrorData> {
    let result = mcp_result(client.read_resource(ReadResourceRequestParams::new(uri)).await)?;
    match result.contents.as_slice() {
        [ResourceContents::TextResourceContents { uri: returned_uri, text, meta, mime_type }] => {
            assert_eq!(returned_uri, uri, "the answer has the requested URI");
            let mut meta = serde_json::to_value(meta).unwrap();
            meta["mimeType"] = json!(mime_type);
            Ok((text.clone(), meta))
        }
        other => panic!("{other:?}"),
    }
}

fn mcp_result<T>(result: Result<T, ServiceError>) -> Result<T, ErrorData> {
    match result {
        Ok(answer) => Ok(answer),
        Err(ServiceError::McpError(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

/// The JSON-RPC number and `data.code` of an error.
fn error_codes<T: std::fmt::Debug>(refused: Result<T, ErrorData>) -> (i32, String) {
    let error = refused.unwrap_err();
    let data = error.data.unwrap_or_default();
    assert!(data["message"].is_string(), "{data}");
    (error.code.0, data["code"].as_str().unwrap().to_owned())
}

fn is_not_found(refused: Result<(String, Value), ErrorData>) -> bool {
    error_codes(refused) == (-32002, "NOT_FOUND".to_owned())
}

async fn complete(
    client: &McpSession,
    reference: Reference,
    (argument, value): (&str, &str),
    context: &[(&str, &str)],
) -> Result<CompletionInfo, ErrorData> {
    let mut params = CompleteRequestParams::new(reference, ArgumentInfo::new(argument, value));
    let arguments: HashMap<String, String> =
        context.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    params.context = Some(CompletionContext::with_arguments(arguments));
    Ok(mcp_result(client.complete(params).await)?.completion)
}

fn template() -> Reference {
    Reference::for_resource(TEMPLATE)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_indexed_file_is_listed_once_and_can_be_read() {
    let app = app_with(|config| config.mcp.resources_page = 3);
    let (repository, project) = (Repository::new(FILES), project("resources"));
    let name = index(&app, &repository, &project).await;
    let client = connect(&app, in_project(&project)).await;

    let pages = list_pages(&client).await;
    assert!(pages.iter().rev().skip(1).all(|page| page.len() == 3), "{pages:#?}");
    let resources: Vec<Resource> = pages.into_iter().flatten().collect();
    let names: Vec<&str> = resources.iter().map(|resource| resource.name.as_str()).collect();
    let documents = ["100%.md", "README.md", "docs/guide.md"];
    assert_eq!(names[..3], documents, "documents first, by path");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no repeats");
    assert_eq!(
        names.iter().copied().collect::<BTreeSet<_>>(),
        FILES.iter().map(|(path, _)| *path).collect(),
        "nothing is missing"
    );
    let again: Vec<Resource> = list_pages(&client).await.into_iter().flatten().collect();
    assert_eq!(again, resources, "the order is stable");

    for resource in &resources {
        let (_, text) = FILES.iter().find(|(path, _)| *path == resource.name).unwrap();
        assert!(resource.uri.is_ascii() && resource.uri.ends_with(&format!("?project={project}")));
        assert_eq!(resource.size, Some(text.len() as u64));
        assert_eq!(resource.title.as_deref(), Some(format!("{} ({name})", resource.name).as_str()));
        assert!(resource.annotations.as_ref().is_some_and(|a| a.last_modified.is_some()));
        let (read, meta) = read(&client, &resource.uri).await.unwrap();
        assert_eq!(read, *text, "{}", resource.name);
        assert_eq!(meta["mimeType"].as_str(), resource.mime_type.as_deref());
        assert_eq!(meta["repo"], name);
        assert_eq!(meta["contentHash"], blake3::hash(text.as_bytes()).to_hex().to_string());
        assert_eq!((&meta["changedSinceIndexed"], &meta["truncated"]), (&json!(false), &json!(false)));
    }
    let readme = resources.iter().find(|resource| resource.name == "README.md").unwrap();
    assert_eq!(readme.mime_type.as_deref(), Some("text/markdown"));
    let priority = |resource: &Resource| resource.annotations.as_ref().and_then(|a| a.priority).unwrap();
    assert!(resources.iter().all(|other| priority(other) <= priority(readme)));

    let bad = PaginatedRequestParams::default().with_cursor(Some("nonsense".into()));
    let refused = mcp_result(client.list_resources(Some(bad)).await);
    assert_eq!(error_codes(refused), (-32602, "INVALID_REQUEST".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_ends_at_the_configured_maximum() {
    let app = app_with(|config| (config.mcp.resources_page, config.mcp.resources_max) = (3, 5));
    let (repository, project) = (Repository::new(FILES), project("listing"));
    index(&app, &repository, &project).await;
    let client = connect(&app, in_project(&project)).await;
    let sizes: Vec<usize> = list_pages(&client).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [3, 2]);
    let first = client.list_resources(None).await.unwrap();
    assert!(first.meta.is_none(), "there is another page");
    let page = PaginatedRequestParams::default().with_cursor(first.next_cursor);
    let last = serde_json::to_value(client.list_resources(Some(page)).await.unwrap()).unwrap();
    assert_eq!(last["_meta"]["truncated"], true, "{last}");

    let nowhere = connect(&app, in_project("nothing-is-indexed-here")).await;
    assert_eq!(list_pages(&nowhere).await, [Vec::<Resource>::new()], "an empty list, not an error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symbol_is_read_as_text() {
    let (app, project) = (app(), project("symbols"));
    let repository = Repository::new(&[("till.py", "def open_till():\n    return 1\n\n\nopen_till()\n")]);
    let name = index(&app, &repository, &project).await;
    let client = connect(&app, in_project(&project)).await;
    let (text, _) = read(&client, &format!("symbol://{name}/till.py:open_till")).await.unwrap();
    assert!(text.starts_with("references of function open_till"), "{text}");
    assert!(text.contains("till.py\n 5:1 call: open_till()\n"), "{text}");
    for uri in
        [format!("symbol://{name}/no_such_name"), format!("symbol://{name}/"), "symbol://other/x".to_owned()]
    {
        assert!(read(&client, &uri).await.is_err(), "{uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expanded_templates_can_be_read() {
    let app = app();
    let (repository, project) = (Repository::new(FILES), project("templates"));
    let name = index(&app, &repository, &project).await;
    let client = connect(&app, in_project(&project)).await;
    let templates = client.list_all_resource_templates().await.unwrap();
    let uris: Vec<&str> = templates.iter().map(|template| template.uri_template.as_str()).collect();
    assert_eq!(uris, [TEMPLATE, TEMPLATE_WITH_PROJECT, "symbol://{repository}/{+symbol}"]);
    assert!(templates.iter().all(|template| template.title.is_some() && template.description.is_some()));

    // Without a project, that of the session is used. The path is encoded as in RFC 6570, or, by some clients, not at all.
    for uri in [
        format!("repo://{name}/src/with%20space.py"),
        format!("repo://{name}/src/with space.py"),
        format!("repo://{name}/src/with space.py?project={project}"),
    ] {
        assert_eq!(read(&client, &uri).await.unwrap().0, FILES[4].1, "{uri}");
    }
    let odd = format!("repo://{name}/c#/what?.py");
    assert_eq!(read(&client, &odd).await.unwrap().0, FILES[6].1, "the expansion of a completed path");
    let elsewhere = connect(&app, Caller::local(Surface::Stdio)).await;
    assert!(read(&elsewhere, &format!("repo://{name}/src/main.py")).await.is_err(), "another project");
    let uri = format!("repo://{name}/src/main.py?project={project}");
    assert_eq!(read(&elsewhere, &uri).await.unwrap().0, FILES[2].1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_indexed_files_can_be_read_with_any_uri() {
    let app = app();
    let (repository, project) = (Repository::new(FILES), project("traversal"));
    let outside = repository.path().with_extension("outside.txt");
    std::fs::write(&outside, "outside").unwrap();
    repository.write(".env", "PASSWORD=hunter2\n");
    repository.write("later.py", "x = 1\n");
    repository.remove("later.py");
    let name = index(&app, &repository, &project).await;
    repository.write("later.py", "def not_indexed():\n    return 1\n");
    std::os::unix::fs::symlink(&outside, repository.path().join("link.md")).unwrap();
    let client = connect(&app, in_project(&project)).await;

    let outside_name = outside.file_name().unwrap().to_str().unwrap();
    for path in [
        format!("../{outside_name}"),
        format!("src/../../{outside_name}"),
        format!("%2e%2e/{outside_name}"),
        format!("%2e%2e%2f{outside_name}"),
        format!("src%2F..%2F..%2F{outside_name}"),
        outside.to_str().unwrap().to_owned(),
        "/etc/passwd".to_owned(),
        "%2Fetc%2Fpasswd".to_owned(),
        "src//main.py".to_owned(),
        "./src/main.py".to_owned(),
        "README.md%00".to_owned(),
        "%".to_owned(),
        "%ff".to_owned(),
    ] {
        let refused = read(&client, &format!("repo://{name}/{path}")).await;
        assert_eq!(error_codes(refused), (-32602, "INVALID_REQUEST".into()), "{path}");
    }
    for uri in ["", "repo://", "repo://only", "file:///etc/passwd", "README.md"] {
        let error = read(&client, uri).await.unwrap_err();
        assert_eq!(error.data.as_ref().unwrap()["details"][0]["instancePath"], "/uri", "{uri}: {error:?}");
        assert_eq!(error_codes(Err::<(), _>(error)), (-32602, "INVALID_REQUEST".into()), "{uri}");
    }
    for unknown in [
        format!("repo://{name}/{outside_name}"),
        // A backslash is an ordinary character of a name.
        format!("repo://{name}/..%5c{outside_name}"),
        format!("repo://{name}/no/such.py"),
        format!("repo://{name}/.env"),
        format!("repo://{name}/later.py"),
        format!("repo://{name}/link.md"),
        format!("repo://{name}/readme.md"),
        format!("repo://{name}/src"),
        "repo://elsewhere/src/main.py".to_owned(),
        "repo://../src/main.py".to_owned(),
        "repo://%2Fetc/passwd".to_owned(),
    ] {
        let error = read(&client, &unknown).await.unwrap_err();
        let data = error.data.clone().unwrap();
        assert!(data["hint"].is_string() && data["uri"] == unknown, "{data}");
        assert!(!data.to_string().contains("hunter2"));
        assert!(is_not_found(Err(error)), "{unknown}");
    }
    let nowhere = read(&client, &format!("repo://{name}/README.md?project=no-such-project")).await;
    assert_eq!(error_codes(nowhere), (-32002, "NO_INDEX".into()));
    let malformed = read(&client, &format!("repo://{name}/README.md?project=No_Such")).await;
    assert_eq!(error_codes(malformed), (-32602, "VALIDATION_ERROR".into()));
    std::fs::remove_file(outside).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_in_its_current_state_without_secrets() {
    let app = app_with(|config| config.search.result_bytes_max = 200);
    let token = ["ghp_q7Rw2Lx9Tz4VbN8m", "YcKp3Hs6Dj1Fg5Ae0Uo9"].concat();
    let repository = Repository::new(&[
        ("settings.py", &format!("TOKEN = '{token}'\nNAME = 'shop'\n")),
        ("long.py", &"line = 'of forty characters and no more'\n".repeat(20)),
        ("gone.py", "def gone():\n    return 1\n"),
    ]);
    let project = project("now");
    let name = index(&app, &repository, &project).await;
    let client = connect(&app, in_project(&project)).await;

    let (text, _) = read(&client, &format!("repo://{name}/settings.py")).await.unwrap();
    assert!(text.contains("[REDACTED:") && !text.contains(&token), "{text}");
    assert!(text.ends_with("NAME = 'shop'\n"), "{text}");

    let (text, meta) = read(&client, &format!("repo://{name}/long.py")).await.unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.len() <= 200 && text.ends_with('\n'), "{text}");
    assert_eq!((&meta["truncated"], &meta["nextLine"]), (&json!(true), &json!(5)));
    assert!(meta["hint"].as_str().unwrap().contains("show_file"), "{meta}");

    repository.write("settings.py", "NAME = 'other'\n");
    let (text, meta) = read(&client, &format!("repo://{name}/settings.py")).await.unwrap();
    assert_eq!((text.as_str(), &meta["changedSinceIndexed"]), ("NAME = 'other'\n", &json!(true)));
    assert_eq!(meta["contentHash"], blake3::hash(text.as_bytes()).to_hex().to_string());
    repository.remove("gone.py");
    assert!(is_not_found(read(&client, &format!("repo://{name}/gone.py")).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_repositories_with_one_name_get_different_uris() {
    let app = app();
    let project = project("same-name");
    let both = Repository::new(&[("one/web/a.py", "def first():\n    return 1\n")]);
    both.write("two/web/a.py", "def second():\n    return 2\n");
    for folder in ["one/web", "two/web"] {
        let root = both.path().join(folder).canonicalize().unwrap();
        result(&app, "build_index", json!({ "repoPath": root, "project_id": project })).await;
    }
    let client = connect(&app, in_project(&project)).await;
    let resources: Vec<Resource> = list_pages(&client).await.into_iter().flatten().collect();
    let mut texts = Vec::new();
    for resource in &resources {
        texts.push(read(&client, &resource.uri).await.unwrap().0);
    }
    assert_eq!(texts, ["def first():\n    return 1\n", "def second():\n    return 2\n"]);
    assert!(resources[0].uri.starts_with("repo://web/"), "the first keeps its name: {}", resources[0].uri);
    let found = complete(&client, template(), ("repository", "WEB"), &[]).await.unwrap();
    assert_eq!((found.values.len(), found.total), (2, Some(2)));
    let paths = complete(&client, template(), ("path", "a.py"), &[]).await.unwrap();
    assert_eq!((paths.values, paths.total), (vec!["a.py".to_owned()], Some(1)), "a path is offered once");
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_matches_the_start_and_middle_in_any_case() {
    let app = app();
    let (repository, project) = (Repository::new(FILES), project("completion"));
    for number in 0..130 {
        repository.write(&format!("many/module_{number:03}.py"), &format!("VALUE_{number} = {number}\n"));
    }
    let name = index(&app, &repository, &project).await;
    let other = Repository::new(&[("src/other.py", "def other():\n    return 1\n")]);
    let other_name = index(&app, &other, &project).await;
    let client = connect(&app, in_project(&project)).await;
    let context = [("repository", name.as_str())];
    let path = async |value: &str| complete(&client, template(), ("path", value), &context).await.unwrap();

    let found = path("SRC/").await;
    let values = ["src/Handlers/cart.py", "src/main.py", "src/with space.py", "src/ünïcode_日本.py"];
    assert_eq!(found.values, values);
    assert_eq!((found.total, found.has_more), (Some(4), Some(false)));
    assert_eq!(path("handlers").await.values, ["src/Handlers/cart.py"], "the start of a name");
    assert_eq!(path("ÜNÏ").await.values, ["src/ünïcode_日本.py"], "letters beyond ASCII, too");
    assert_eq!(path("t.py").await.values[0], "src/Handlers/cart.py", "the middle of a name");
    assert_eq!(path("%").await.values, ["100%.md"], "not a LIKE pattern");
    assert_eq!(path("_").await.values.len(), 100);
    let refused = complete(&client, template(), ("path", "\0"), &context).await.unwrap_err();
    assert!(refused.to_string().contains("NUL"), "{refused}");
    for unmatched in ["no such", "'; --"] {
        let found = path(unmatched).await;
        assert_eq!((found.values.len(), found.total, found.has_more), (0, Some(0), Some(false)));
    }
    let many = path("module").await;
    assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(130), Some(true)));
    assert_eq!(many.values[0], "many/module_000.py");
    let all = path("").await;
    assert_eq!((all.values.len(), all.total), (100, Some(138)));
    let all_repositories = complete(&client, template(), ("path", "other"), &[]).await.unwrap();
    assert_eq!(all_repositories.values, ["src/other.py"], "without a repository, in all of them");
    let elsewhere = complete(&client, template(), ("path", "other"), &context).await.unwrap();
    assert_eq!(elsewhere.total, Some(0), "the file is in another repository");

    let found = complete(&client, template(), ("repository", &other_name[2..]), &[]).await.unwrap();
    assert_eq!(found.values, [other_name.as_str()]);
    let with_project = Reference::for_resource(TEMPLATE_WITH_PROJECT);
    let found = complete(&client, with_project, ("project", &project[3..]), &[]).await.unwrap();
    assert_eq!((found.values, found.total), (vec![project.clone()], Some(1)));
    let outside = connect(&app, in_project("nothing-is-indexed-here")).await;
    let found = complete(&outside, template(), ("repository", ""), &[]).await.unwrap();
    assert_eq!(found.total, Some(0));
    let found = complete(&outside, template(), ("repository", ""), &[("project", &project)]).await.unwrap();
    assert_eq!(found.total, Some(2), "repositories of the given project");

    for prompt in ["explain_code", "onboard", "find_code"] {
        let reference = Reference::for_prompt(prompt);
        let found = complete(&client, reference, ("repository", &other_name), &[]).await.unwrap();
        assert_eq!(found.values, [other_name.as_str()], "{prompt}");
    }
    let reference = Reference::for_prompt("explain_code");
    assert_eq!(
        complete(&client, reference, ("path", "main"), &context).await.unwrap().values,
        ["src/main.py"]
    );
    let free_text =
        complete(&client, Reference::for_prompt("find_code"), ("question", "wh"), &[]).await.unwrap();
    assert!(free_text.values.is_empty(), "a question is free text");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_arguments_cannot_be_completed_and_are_named() {
    let client = connect(&app(), Caller::local(Surface::Stdio)).await;
    for (reference, argument, expected) in [
        (template(), "pth", "`path`"),
        (Reference::for_resource("repo://{repo}/{path}"), "path", TEMPLATE),
        (Reference::for_prompt("find_cod"), "question", "`find_code`"),
        (Reference::for_prompt("onboard"), "path", "repository"),
    ] {
        let error = complete(&client, reference, (argument, ""), &[]).await.unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(error_codes(Err::<(), _>(error)), (-32602, "INVALID_REQUEST".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_are_listed_and_filled_in() {
    let client = connect(&app(), Caller::local(Surface::Stdio)).await;
    let prompts = client.list_all_prompts().await.unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["find_code", "explain_code", "onboard"]);
    assert!(prompts.iter().all(|prompt| prompt.title.is_some() && prompt.description.is_some()));

    let get = async |name: &str, arguments: Value| {
        let params =
            GetPromptRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap());
        mcp_result(client.get_prompt(params).await)
    };
    let filled = get("explain_code", json!({ "path": "src/a.rs", "repository": "shop" })).await.unwrap();
    let filled = serde_json::to_value(filled).unwrap();
    assert_eq!(filled["messages"].as_array().unwrap().len(), 1);
    assert_eq!(filled["messages"][0]["role"], "user");
    let text = filled["messages"][0]["content"]["text"].as_str().unwrap();
    for word in ["`show_file`", "`search`", "src/a.rs", "shop"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for (arguments, keyword) in [
        (json!({}), "required"),
        (json!({ "question": "" }), "minLength"),
        (json!({ "question": 5 }), "type"),
        (json!({ "question": "q", "projct": "p" }), "additionalProperties"),
    ] {
        let error = get("find_code", arguments).await.unwrap_err();
        assert_eq!(error.data.as_ref().unwrap()["details"][0]["keyword"], keyword, "{error:?}");
        assert_eq!(error_codes(Err::<(), _>(error)), (-32602, "INVALID_REQUEST".into()));
    }
    let unknown = get("onbord", json!({})).await.unwrap_err();
    assert!(unknown.message.contains("`onboard`"), "{}", unknown.message);
    assert_eq!(error_codes(Err::<(), _>(unknown)), (-32602, "INVALID_REQUEST".into()));
    let search = get("search", json!({ "query": "x" })).await;
    assert_eq!(error_codes(search), (-32602, "INVALID_REQUEST".into()), "a tool is not a prompt");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_project_are_not_found() {
    let app = app();
    let (ours, theirs) = (project("ours"), project("theirs"));
    let our_repository = Repository::new(&[("canary.py", "def of_ours():\n    return 'blue'\n")]);
    let their_repository = Repository::new(&[("secret-plan.py", "def of_theirs():\n    return 'yellow'\n")]);
    index(&app, &our_repository, &ours).await;
    let their_name = index(&app, &their_repository, &theirs).await;
    let restricted = |session: &str| Caller { principal: principal_for(&ours), ..in_project(session) };

    let client = connect(&app, restricted(&ours)).await;
    let resources: Vec<Resource> = list_pages(&client).await.into_iter().flatten().collect();
    assert_eq!(resources.iter().map(|resource| resource.name.as_str()).collect::<Vec<_>>(), ["canary.py"]);
    assert!(read(&client, &resources[0].uri).await.is_ok(), "our own file");
    assert!(is_not_found(read(&client, &format!("repo://{their_name}/secret-plan.py")).await));
    let forbidden = read(&client, &format!("repo://{their_name}/secret-plan.py?project={theirs}")).await;
    let absent = read(&client, &format!("repo://{their_name}/secret-plan.py?project=no-such-project")).await;
    let (forbidden, absent) = (forbidden.unwrap_err(), absent.unwrap_err());
    // Apart from the id that was sent, which the message repeats.
    let message = absent.message.replace("no-such-project", &theirs);
    assert_eq!(forbidden.message, message, "a forbidden project looks like an unknown one");
    assert_eq!(error_codes(Err::<(), _>(forbidden)), (-32002, "NO_INDEX".into()));

    for argument in ["project", "repository", "path"] {
        for context in [&[][..], &[("project", theirs.as_str())], &[("repository", their_name.as_str())]] {
            let found = complete(&client, template(), (argument, ""), context).await.unwrap();
            let text = format!("{found:?}");
            assert!(!text.contains(&theirs) && !text.contains(&their_name), "{argument}: {text}");
            assert!(!text.contains("secret-plan"), "{argument}: {text}");
        }
    }
    let found = complete(&client, template(), ("project", ""), &[]).await.unwrap();
    assert_eq!((found.values, found.total), (vec![ours.clone()], Some(1)));

    let intruder = connect(&app, restricted(&theirs)).await;
    assert_eq!(list_pages(&intruder).await, [Vec::<Resource>::new()]);
    assert!(read(&intruder, &format!("repo://{their_name}/secret-plan.py")).await.is_err());

    // A cursor of one project reveals nothing in another.
    let owner = connect(&app_with(|config| config.mcp.resources_page = 1), in_project(&theirs)).await;
    their_repository.write("zzz.py", "def more():\n    return 1\n");
    index(&app, &their_repository, &theirs).await;
    let cursor = owner.list_resources(None).await.unwrap().next_cursor;
    assert!(cursor.is_some());
    let page = PaginatedRequestParams::default().with_cursor(cursor);
    let stolen = client.list_resources(Some(page)).await.unwrap();
    assert!(!format!("{stolen:?}").contains("zzz"), "{stolen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_without_search_get_no_resources() {
    let app = app();
    let (repository, project) = (Repository::new(FILES), project("narrow"));
    let name = index(&app, &repository, &project).await;
    let no_toolset = Caller {
        visibility: ToolVisibility::parse(modules(), "index", false).unwrap(),
        ..in_project(&project)
    };
    let scopes = BTreeSet::from([Scope::Index, Scope::Admin]);
    let no_scope = Principal { scopes, ..Principal::local() };
    let no_scope = Caller { principal: Arc::new(no_scope), ..in_project(&project) };
    for (caller, expected) in [(no_toolset, (-32002, "MUTATION_DISABLED")), (no_scope, (-32003, "FORBIDDEN"))]
    {
        let expected = (expected.0, expected.1.to_owned());
        let client = connect(&app, caller).await;
        assert_eq!(list_pages(&client).await, [Vec::<Resource>::new()]);
        assert!(client.list_all_resource_templates().await.unwrap().is_empty());
        assert!(client.list_all_prompts().await.unwrap().is_empty());
        assert_eq!(error_codes(read(&client, &format!("repo://{name}/README.md")).await), expected);
        assert_eq!(error_codes(complete(&client, template(), ("path", ""), &[]).await), expected);
        let arguments = json!({ "question": "q" }).as_object().cloned().unwrap();
        let prompt = GetPromptRequestParams::new("find_code").with_arguments(arguments);
        assert_eq!(error_codes(mcp_result(client.get_prompt(prompt).await)), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_methods_count_against_the_rate_limit() {
    let app = app();
    let principal = Principal {
        id: "key:resources".to_owned(),
        calls_per_minute: Some(2),
        is_local: false,
        ..Principal::local()
    };
    let client = connect(&app, Caller { principal: Arc::new(principal), ..in_project("nowhere") }).await;
    assert!(client.list_resources(None).await.is_ok());
    assert!(complete(&client, template(), ("path", ""), &[]).await.is_ok());
    let limited = (-32004, "RATE_LIMITED".to_owned());
    assert_eq!(error_codes(mcp_result(client.list_resources(None).await)), limited);
    assert_eq!(error_codes(read(&client, "repo://a/b").await), limited);
    assert_eq!(error_codes(complete(&client, template(), ("path", ""), &[]).await), limited);
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_operations_are_not_tools() {
    let app = app();
    let caller = Caller::local(Surface::Stdio);
    let contract_documents: Vec<String> =
        contracts::documents(&MODULES).into_iter().map(|(_, document)| document.to_string()).collect();
    assert!(
        contract_documents.iter().any(|document| document.contains("\"show_file\"")),
        "the contract documents list the tools"
    );
    let visible: Vec<&str> = modules().tools().listed(&app.config, &caller).map(|tool| tool.name).collect();
    let operations = modules().operations().all();
    assert!(operations.len() > 20, "those of all modules");
    for operation in operations {
        let name = operation.name;
        let writes = matches!(name, "keys/create" | "keys/revoke");
        assert_eq!(operation.effects.read_only, !writes, "{name}");
        assert!(!visible.contains(&name) && modules().find_tool(name).is_none(), "{name}");
        let refused = tools::call(&app, Request::new(name, json!({}), caller.clone())).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "UNKNOWN_TOOL", "{name}");
        let quoted = format!("\"{name}\"");
        assert!(contract_documents.iter().all(|document| !document.contains(&quoted)), "{name} is published");
        let tool =
            browse::browse(&app, Request::new("search", json!({ "query": "x" }), caller.clone())).await;
        assert!(tool.is_err(), "tools cannot be called as resource operations");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_stdio_gets_the_project_of_its_directory() {
    let (repository, project) = (Repository::new(FILES), project("stdio"));
    let name = index(&app(), &repository, &project).await;
    let work = tempfile::tempdir().unwrap();
    let session = json!({ "project_id": project }).to_string();
    std::fs::write(work.path().join(".pairofcleats.json"), session).unwrap();
    let mut command = tokio::process::Command::new(PROGRAM);
    command.args(["--set", "mcp.resources_page=4", "mcp"]).current_dir(work.path());
    command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL").stderr(Stdio::null());
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();

    let capabilities = serde_json::to_value(client.peer_info().unwrap()).unwrap()["capabilities"].take();
    assert_eq!(capabilities["prompts"], json!({ "listChanged": false }));
    assert_eq!(capabilities["resources"], json!({ "subscribe": false, "listChanged": false }));
    assert!(capabilities["completions"].is_object());
    assert_eq!(client.list_all_resources().await.unwrap().len(), FILES.len());
    assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 3);
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 3);
    assert_eq!(read(&client, &format!("repo://{name}/README.md")).await.unwrap().0, FILES[0].1);
    let found = complete(&client, template(), ("path", "guide"), &[]).await.unwrap();
    assert_eq!(found.values, ["docs/guide.md"]);
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_http_reads_the_project_in_the_uri() {
    let (repository, project) = (Repository::new(FILES), project("http"));
    let name = index(&app(), &repository, &project).await;
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--port", "0", "--json"]).env("PAIROFCLEATS_HOME", home());
    command.env_remove("DATABASE_URL").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let url = format!("{}/mcp", ready["result"]["url"].as_str().unwrap());
    http();
    let client = ().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap();

    let uri = format!("repo://{name}/docs/guide.md?project={project}");
    assert_eq!(read(&client, &uri).await.unwrap().0, FILES[1].1);
    let context = [("project", project.as_str()), ("repository", name.as_str())];
    let found = complete(&client, template(), ("path", "guide"), &context).await.unwrap();
    assert_eq!(found.values, ["docs/guide.md"]);
    assert_eq!(client.list_all_prompts().await.unwrap().len(), 3);
    client.cancel().await.unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
}
