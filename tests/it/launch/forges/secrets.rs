//! The token of a forge: nothing that is stored, printed, logged, counted or answered contains it, even if the forge repeats it.

use std::path::Path;
use std::process::{Command, Stdio};

use contract::config::{ForgeKind, LaunchForge};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::fake::{FakeForge, REPO, Trouble};
use super::{ForgeScene, KINDS, Scene, code, use_forge};
use crate::harness::{PROGRAM, cluster, modules, new_home, run_json};
use crate::models::wait_for;
use crate::serving::TestServer;

/// Prefixes of tokens of forges.
const BEGINNINGS: [&str; 2] = ["ghp_", "glpat-"];

/// Has the program over a home publish as the application of the scene does, and log all that it can.
fn configure(home: &Path, scene: &Scene, forge: &LaunchForge) {
    let file = home.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let more = format!(
        "[[launch.sites]]\nname = \"docs\"\nproject = \"{}\"\nrepository = \"{}\"\nallowed_paths = [\"content/docs\"]\n\
         forge = \"hub\"\nrepo = \"{REPO}\"\n[[launch.forges]]\nname = \"hub\"\nkind = \"{}\"\napi = \"{}\"\n\
         token_file = \"{}\"\nowners = [\"acme\"]\n[log]\nfilter = \"trace\"\n",
        scene.project,
        scene.site.path().display(),
        forge.kind.as_str(),
        forge.api,
        forge.token_file.display()
    );
    std::fs::write(&file, text + &more).unwrap();
}

/// All that the program prints and logs.
fn printed(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    command.arg("-v").args(arguments).env("PAIROFCLEATS_HOME", home).env_remove("DATABASE_URL");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "it logs: {log}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &log
}

fn assert_without_token(what: &str, text: &str, token: &str) {
    assert!(!text.contains(token), "{what} has the token");
    for beginning in BEGINNINGS {
        assert!(!text.contains(beginning), "{what} has {beginning}: {text}");
    }
}

/// Checks every row of every table of the database.
async fn assert_stored_nowhere(home: &Path, token: &str) {
    let mut raw = PgConnection::connect_with(&cluster(home).connect_options()).await.unwrap();
    let tables = "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables \
        WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')";
    let tables = sqlx::query(tables).fetch_all(&mut raw).await.unwrap();
    let names: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
    for wanted in ["launch_events", "launch_artifacts", "launch_runs", ".jobs", ".audit"] {
        assert!(names.iter().any(|name| name.ends_with(wanted)), "{wanted}: {names:?}");
    }
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    for name in names {
        for word in [token, &hex].into_iter().chain(BEGINNINGS) {
            let count = format!("SELECT count(*) FROM {name} t WHERE position('{word}' IN t::text) > 0");
            let row = sqlx::query(AssertSqlSafe(count)).fetch_one(&mut raw).await.unwrap();
            assert_eq!(row.get::<i64, _>(0), 0, "{name} has {word}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_row_answer_log_line_or_metric_has_the_token() {
    // A database of its own, so that all of it can be searched.
    let home = new_home("launch-token");
    let forge = FakeForge::start(ForgeKind::Github).await;
    let (settings, token) = (forge.settings(), forge.token().to_owned());
    let scene = Scene::in_home(&home, |config| use_forge(config, &settings)).await;
    configure(&home, &scene, &settings);
    forge.receive(scene.site.path());
    let it = ForgeScene { scene, forge };
    let (run, branch) = it.ready().await;
    let server = TestServer::over(it.scene.app.clone(), modules().tools()).await;
    it.scene.app.start_background();
    wait_for("the audit table's writer", async || server.app.has_embedder()).await;

    // A forge that repeats the token in everything that a caller might see.
    let said =
        json!({ "message": format!("{token} is not ghp_x, nor glpat-x"), "errors": [token] }).to_string();
    let page =
        json!({ "number": 1, "html_url": format!("{}/{token}", it.forge.url()), "head": { "ref": branch } });
    let elsewhere = ("location", format!("http://127.0.0.1:9/{token}"));
    let troubles: [Box<dyn Fn() -> Trouble + Send + Sync>; 3] = [
        Box::new(move || Trouble::Answer(422, Vec::new(), said.clone())),
        Box::new(move || Trouble::Answer(302, vec![elsewhere.clone()], String::new())),
        Box::new(move || Trouble::Answer(201, Vec::new(), page.to_string())),
    ];
    for make in troubles {
        it.forge.make_trouble(move |request| request.posts("/pulls").then(&make));
        let (_, answered) = server.call(None, "launch_open_pr", it.scene.arguments(&run)).await;
        assert_eq!(code(&answered["error"]), "COMMIT_SERVICE_ERROR", "{answered:#}");
        assert_without_token("the answer", &answered.to_string(), &token);
        let printed = printed(&home, &["launch", "pr", &run, "--project", &it.scene.project]);
        assert!(printed.contains("COMMIT_SERVICE_ERROR"), "{printed}");
        assert_without_token("the log", &printed, &token);
    }
    it.forge.end_trouble();
    let printed_all = printed(&home, &["launch", "pr", &run, "--project", &it.scene.project]);
    assert!(printed_all.contains(&it.forge.page(1)), "{printed_all}");
    assert_without_token("the log", &printed_all, &token);
    let opened = it.publish(&run).await;
    it.assert_published_once(&run, &opened);

    assert_without_token("the status", &it.scene.status(&run).await.to_string(), &token);
    let metrics = it.scene.app.metrics.to_openmetrics(platform::telemetry::Gauges::default());
    assert_without_token("a metric", &metrics, &token);
    // The calls are audited once the server has stopped.
    server.stop().await;
    assert_stored_nowhere(&home, &token).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_says_whether_forges_can_be_used() {
    let home = new_home("launch-forges");
    let config = std::fs::read_to_string(home.join("config.toml")).unwrap();
    for kind in KINDS {
        let forge = FakeForge::start(kind).await;
        let site = "[[launch.sites]]\nname = \"docs\"\nrepository = \"/srv/site.git\"\nallowed_paths = [\"content\"]\nforge = \"hub\"\n";
        let settings = forge.settings();
        let listed = format!(
            "{config}{site}repo = \"{REPO}\"\n[[launch.forges]]\nname = \"hub\"\nkind = \"{}\"\napi = \"{}\"\n\
             token_file = \"{}\"\nowners = [\"acme\"]\n",
            kind.as_str(),
            settings.api,
            settings.token_file.display()
        );
        std::fs::write(home.join("config.toml"), listed).unwrap();
        let ask = || run_json(&home, &["launch", "forges"]);
        let (exit, answer) = ask();
        let hub = &answer["result"]["forges"][0];
        assert_eq!(
            (exit, &hub["reachable"], &hub["token_accepted"], &hub["repositories"][0]["may_push"]),
            (0, &json!(true), &json!(true), &json!(true)),
            "{answer:#}"
        );
        assert_eq!(hub["scopes"], if kind == ForgeKind::Github { json!(["repo"]) } else { json!(["api"]) });
        assert!(answer["result"]["sandbox"].is_array(), "{answer:#}");
        assert!(forge.take_requests().iter().all(|request| request.method == "GET"), "nothing is changed");

        let scopes = ("x-oauth-scopes", format!("repo, {}", forge.token()));
        let body = json!({ "active": true, "scopes": ["api", forge.token()] }).to_string();
        forge.make_trouble(move |request| {
            let is_about_token = request.target.ends_with("/rate_limit") || request.target.ends_with("/self");
            is_about_token.then(|| Trouble::Answer(200, vec![scopes.clone()], body.clone()))
        });
        let (_, answer) = ask();
        assert_eq!(answer["result"]["forges"][0]["scopes"].as_array().map(Vec::len), Some(1), "{answer:#}");
        assert_without_token("the answer", &answer.to_string(), forge.token());
        forge.end_trouble();

        let refused = |expected: &str| {
            let (exit, answer) = ask();
            let hub: &Value = &answer["result"]["forges"][0];
            let problem = hub["problem"].as_str().unwrap_or_default();
            assert!(exit == 1 && problem.contains(expected), "{expected}: {answer:#}");
            assert_without_token("the answer", &answer.to_string(), forge.token());
        };
        std::fs::write(forge.token_file(), "wrong\n").unwrap();
        refused("status 401");
        std::fs::write(forge.token_file(), "\n").unwrap();
        refused("no token in its first line");
        std::fs::remove_file(forge.token_file()).unwrap();
        refused("cannot be read");
    }
}
