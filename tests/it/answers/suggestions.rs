//! The names that an answer suggests instead of the query, and the call that it suggests next.

use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, index};
use crate::harness::{Repository, app, app_with_model, call, project, result};

const RATES: &str = "def fetch_zebra_rates(source):\n    return source.read()\n\n\ndef convert_rates(source):\n    return fetch_zebra_rates(source)\n";
const OTHER_FILES: &[(&str, &str)] = &[
    (
        "blueprints.py",
        "class Blueprint:\n    def register_blueprint(self, app, prefix):\n        return app.add(prefix)\n",
    ),
    ("templating.py", "def render_template(name, context):\n    return get_template(name).render(context)\n"),
    (
        "config.py",
        "def from_object(config, source):\n    for key in dir(source):\n        config[key] = source\n",
    ),
];

/// A name in lower case and without separators.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_name_is_not_suggested() {
    let (app, project) = (app_with_model(), project("renamed"));
    let repository = Repository::new(OTHER_FILES);
    repository.write("rates.py", RATES);
    index(&app, &repository, &project).await;
    repository.write("rates.py", &RATES.replace("fetch_zebra_rates", "download_tariffs"));
    index(&app, &repository, &project).await;
    for repository_root in [Value::Null, json!(repository.root())] {
        for query in ["fetch_zebra_rates", "fetchZebraRates", "Fetch-Zebra-Rates", "fetch_zebra_rate"] {
            for tool in ["search", "search_code"] {
                let mut arguments = json!({ "query": query, "project_id": project });
                let (field, suggestions) = match tool {
                    "search" => ("repoPath", "didYouMean"),
                    _ => ("repo_path", "did_you_mean"),
                };
                arguments[field] = repository_root.clone();
                let envelope = call(&app, tool, arguments.clone()).await;
                let names = envelope["result"][suggestions].as_array().cloned().unwrap_or_default();
                let is_old_name = |name: &Value| folded(name.as_str().unwrap()) == "fetchzebrarates";
                assert!(!names.iter().any(is_old_name), "{tool} {query}: {envelope:#}");
                let next = &envelope["_meta"]["next"];
                let repeats_query = next["tool"] == tool
                    && next["arguments"]["query"].as_str().is_some_and(|next| folded(next) == folded(query));
                assert!(!repeats_query, "{tool} {query}: {next:#}");
            }
        }
    }
    // A name that exists is suggested.
    let envelope = call(&app, "search", json!({ "query": "downlod_tarifs", "project_id": project })).await;
    assert_eq!(envelope["result"]["didYouMean"][0], "download_tariffs", "{envelope:#}");
    assert_eq!(envelope["_meta"]["next"]["arguments"]["query"], "download_tariffs", "{envelope:#}");
}

const SERVER: &str = "# Serves what is asked for.

class WebSocketRoute:
    \"\"\"Binds a path to a handler.\"\"\"

    def __init__(self, path):
        self.path = compile_path(path)

    def matches(self, scope):
        return self.path.match(scope)


def compile_path(path):
    return path


# Attaches the router to a socket and
# begins to listen.
def run_engine(address):
    host = parse_host(address)
    return WebSocketRoute(host)


def main():
    return run_engine(\"0.0.0.0\")
";

#[tokio::test(flavor = "multi_thread")]
async fn show_file_suggests_a_search_for_the_callers_of_what_it_showed() {
    let (app, project) = (app(), project("after-file"));
    let repository = Repository::new(&[("server.py", SERVER), ("setup.py", "def setup():\n    return 1\n")]);
    index(&app, &repository, &project).await;
    let next_query = async |mut place: Value| {
        place["project_id"] = json!(project);
        let envelope = call(&app, "show_file", place).await;
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        let arguments = &envelope["_meta"]["next"]["arguments"];
        match arguments["relation"].as_str() {
            Some(relation) => format!("{relation} {}", arguments["line"]),
            None => arguments["query"].as_str().unwrap_or_default().to_owned(),
        }
    };
    let line = |text: &str| SERVER.lines().position(|line| line.starts_with(text)).unwrap() + 1;
    let (class, init) = (line("class WebSocketRoute"), line("    def __init__"));
    let (matches, run, main) = (line("    def matches"), line("def run_engine"), line("def main"));
    let lines =
        |first: usize, last: usize| json!({ "file": "server.py", "startLine": first, "endLine": last });
    let (of_run, of_class) = (format!("callers {run}"), format!("callers {class}"));
    assert_eq!(next_query(lines(run, run + 2)).await, of_run);
    assert_eq!(next_query(lines(run - 2, run + 2)).await, of_run, "the comment belongs to the function");
    assert_eq!(next_query(json!({ "file": "server.py", "line": run + 1 })).await, of_run);
    assert_eq!(
        next_query(lines(class, matches + 1)).await,
        of_class,
        "the outermost definition that is shown completely"
    );
    assert_eq!(next_query(json!({ "file": "server.py", "line": class })).await, of_class);
    assert_eq!(next_query(lines(matches, matches + 1)).await, format!("callers {matches}"));
    // Common names like `__init__` and `main` and the start of a file suggest no call.
    assert_eq!(next_query(lines(init, init + 1)).await, "");
    assert_eq!(next_query(lines(main, main + 1)).await, "");
    assert_eq!(next_query(json!({ "file": "setup.py" })).await, "");
    assert_eq!(next_query(json!({ "file": "server.py" })).await, "");
    // The suggestion for a hit is about its definition.
    let indexed = IndexedProject::new(app.clone(), project.clone(), repository);
    let found = indexed.search("run_engine", json!({})).await;
    let envelope = call(&app, "show_file", json!({ "hit": found["hits"][0], "project_id": project })).await;
    let mut next = envelope["_meta"]["next"].clone();
    assert_eq!(next["tool"], "navigate", "{envelope:#}");
    let found = result(&app, "navigate", next["arguments"].take()).await;
    assert_eq!(found["files"][0]["places"][0]["in"], "main", "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn following_the_next_calls_stays_with_the_found_definition_and_ends() {
    let (app, project) = (app(), project("follow-next"));
    let text = "def refresh_session(session):\n    return session\n\n\ndef encrypt_secret(text):\n    return scramble(text)\n";
    let repository = Repository::new(&[("session.py", text)]);
    index(&app, &repository, &project).await;
    let follow = async |envelope: &Value| {
        let next = &envelope["_meta"]["next"];
        let answer = call(&app, next["tool"].as_str().unwrap(), next["arguments"].clone()).await;
        assert_eq!(answer["ok"], true, "{next}: {answer:#}");
        answer
    };
    let arguments = json!({ "query": "encrypt a secret", "project_id": project });
    let found = call(&app, "search", arguments).await;
    let shown = follow(&found).await;
    assert_eq!(shown["result"]["path"], "session.py", "{shown:#}");
    assert_eq!(shown["_meta"]["next"]["tool"], "navigate", "{shown:#}");
    let callers = follow(&shown).await;
    // Nothing calls it.
    assert_eq!(callers["result"]["symbol"]["name"], "encrypt_secret", "{callers:#}");
    assert_eq!(callers["result"]["total"], 0, "{callers:#}");
    assert_eq!(callers["_meta"]["next"], Value::Null, "{callers:#}");
}
