//! The pages of the instruction catalog: each state has an address, only forms of this server change something, and no text of the
//! catalog becomes markup.

use std::sync::Arc;

use contract::config::Required;
use gate::app::App;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tenancy::Scope;

use super::TestServer;
use super::access::issue_key;
use super::form_page::Visitor;
use super::pages::{check_markup, elements, hidden, page};
use crate::harness::{app_with, app_with_model_and, modules, project, result};
use crate::instructions::{allow_writes, entry, import, sha256sum, wait_until_indexed};
use crate::upkeep::{execute_sql, schema};

/// A text that becomes markup or script if a page does not escape it.
const HOSTILE: &str = "</textarea></pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// Makes a catalog with gates, criteria and two entries, and records a use of one.
async fn catalog(app: &Arc<App>, project: &str) -> Value {
    let mut critical = entry("errors", "Say what failed and what to do.");
    (critical["requirement"], critical["rationale"]) = ("critical".into(), "Users read them.".into());
    let gates = json!({ "gates": [
        { "id": "critical", "severity": "error", "type": "count", "where": { "requirement": "critical" }, "op": ">=", "value": 1 },
        { "id": "many", "severity": "warn", "description": "Enough rules", "all": [{ "type": "count", "op": ">=", "value": 9 }] }
    ] });
    let criteria = json!({ "categories": [{ "id": "team", "rules": [
        { "id": "team/no-foo", "pattern": "\\bfoo\\b", "severity": "medium", "description": "foo", "remediation": "Say bar." }
    ] }] });
    let documents = json!({ "gates": gates, "criteria": criteria });
    let imported = import(app, project, &[critical, entry("tests", "Test each branch.")], documents).await;
    result(app, "usage_track", json!({ "id": "errors", "project_id": project })).await;
    imported
}

/// The target of the link with this text.
fn target(html: &str, text: &str) -> String {
    let before = html.split(&format!(">{text}</a>")).next().unwrap();
    let target = before.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    target.replace("&amp;", "&")
}

/// The addresses of all pages of a catalog that has the entry `errors`.
fn addresses(id: &str) -> Vec<String> {
    [
        "/catalog?project={}",
        "/catalog/entries/errors?project={}",
        "/catalog/entries/errors/remove?project={}",
        "/catalog/changes?project={}",
        "/catalog/changes?since=1&project={}",
        "/catalog/usage?project={}",
        "/catalog/gates?project={}",
        "/catalog/checks?stale=1&duplicates=1&project={}",
        "/catalog/review?project={}",
        "/catalog/review?entry=errors&project={}",
        "/catalog?q=errors&by=text&project={}",
    ]
    .iter()
    .map(|path| path.replace("{}", id))
    .collect()
}

/// An address, the status of its answer, and parts of the page.
type ExpectedPage<'a> = (String, StatusCode, &'a [&'a str]);

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_entries_show_what_the_tools_answer() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rule-pages");
    let imported = catalog(&server.app, &id).await;
    let hash = imported["hash"].as_str().unwrap();
    let errors_hash = sha256sum("Say what failed and what to do.");
    let pages: &[ExpectedPage<'_>] = &[
        (
            format!("/catalog?project={id}"),
            StatusCode::OK,
            &[
                "2 entries",
                "Title of errors",
                "critical",
                "category=test",
                "aria-current=\"page\">Instructions</a>",
            ],
        ),
        (
            format!("/catalog?project={id}&category=test"),
            StatusCode::OK,
            &["2 entries in the category", "all entries"],
        ),
        (format!("/catalog?project={id}&category=none"), StatusCode::OK, &["0 entries in the category"]),
        (
            format!("/catalog?project={id}&after=errors"),
            StatusCode::OK,
            &["Title of tests", "From the beginning"],
        ),
        (format!("/catalog?project={id}&q=branch&by=text"), StatusCode::OK, &["1 entry", "Title of tests"]),
        (
            format!("/catalog?project={id}&q=branch&category=test"),
            StatusCode::BAD_REQUEST,
            &["leave <code>category</code>"],
        ),
        (
            format!("/catalog?project={id}&q=a&by=smell"),
            StatusCode::BAD_REQUEST,
            &["<code>meaning</code> or <code>text</code>"],
        ),
        (format!("/catalog?project={id}&nonsense=1"), StatusCode::BAD_REQUEST, &["<code>nonsense</code>"]),
        (format!("/catalog?project={}", project("absent")), StatusCode::OK, &["import-agents PATH"]),
        (
            format!("/catalog/entries/errors?project={id}"),
            StatusCode::OK,
            &["Say what failed", "Users read them.", &errors_hash, hash, "1 ×, last", "Remove this entry"],
        ),
        (
            format!("/catalog/entries/none?project={id}"),
            StatusCode::NOT_FOUND,
            &["no entry <code>none</code>"],
        ),
        (format!("/catalog/entries/%FF?project={id}"), StatusCode::NOT_FOUND, &["role=\"alert\""]),
        (
            format!("/catalog/entries/errors/remove?project={id}"),
            StatusCode::OK,
            &["Remove it", "Keep it", "Say what failed"],
        ),
    ];
    check_pages(&server, pages).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_whole_catalog_show_what_the_tools_answer() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rule-overviews");
    let imported = catalog(&server.app, &id).await;
    let (hash, revision) = (imported["hash"].as_str().unwrap(), &imported["revision"]);
    let pages: &[ExpectedPage<'_>] = &[
        (format!("/catalog/changes?project={id}"), StatusCode::OK, &["2 entries", hash, "name=\"known\""]),
        (format!("/catalog/changes?project={id}&since={revision}"), StatusCode::OK, &["Nothing changed."]),
        (format!("/catalog/changes?project={id}&hash={hash}"), StatusCode::OK, &["Nothing changed."]),
        (
            format!("/catalog/changes?project={id}&hash=1234"),
            StatusCode::OK,
            &["so these are all", "Title of errors", "value=\"1234\""],
        ),
        (
            format!("/catalog/changes?project={id}&since=x"),
            StatusCode::BAD_REQUEST,
            &["whole number", "value=\"x\""],
        ),
        (
            format!("/catalog/changes?project={id}&since=99"),
            StatusCode::CONFLICT,
            &["ILLEGAL_STATE", "value=\"99\""],
        ),
        (
            format!("/catalog/usage?project={id}"),
            StatusCode::OK,
            &["<meter min=\"0\" max=\"1\" value=\"1\"", ">errors</a>", "<code>usage/track</code>"],
        ),
        (
            format!("/catalog/gates?project={id}"),
            StatusCode::OK,
            &[
                "2 gates: 0 failed, 1 with a warning",
                "Enough rules",
                "passed",
                "does not hold",
                "&quot;requirement&quot;",
            ],
        ),
        (format!("/catalog/checks?project={id}"), StatusCode::OK, &["intact", "all 2 entries"]),
        (
            format!("/catalog/checks?project={id}&stale=1&duplicates=1"),
            StatusCode::OK,
            &[
                "Not checked: no repository is indexed.",
                "Pairs that say nearly the same",
                "name=\"stale\" value=\"1\" checked",
            ],
        ),
        (format!("/catalog/review?project={id}"), StatusCode::OK, &["<textarea", "team/no-foo"]),
        (
            format!("/catalog/review?project={id}&entry=errors"),
            StatusCode::OK,
            &["31 characters", ">Say what failed"],
        ),
        (
            format!("/catalog/review?project={id}&entry=none"),
            StatusCode::NOT_FOUND,
            &["no entry <code>none</code>"],
        ),
    ];
    check_pages(&server, pages).await;
    server.stop().await;
}

/// Checks pages, and that each has only markup of the program, labels and headings in order.
async fn check_pages(server: &TestServer, pages: &[ExpectedPage<'_>]) {
    let mut wrong = Vec::new();
    for (path, status, parts) in pages {
        let (answered, html) = page(server, path).await;
        let missing: Vec<_> = parts.iter().filter(|part| !html.contains(**part)).collect();
        if answered != *status || !missing.is_empty() {
            wrong.push(format!("{path}: {answered}, without {missing:?}\n{html}"));
        }
        check_markup(path, &html);
        check_labels(path, &html);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks that each field has a name for those who do not see it, and that headings skip no level.
fn check_labels(path: &str, html: &str) {
    let (mut labelled, mut ids, mut level) = (Vec::new(), Vec::new(), 0);
    for (element, attributes) in elements(html) {
        let value =
            |name: &str| attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        match element.as_str() {
            "label" => labelled.extend(value("for")),
            "input" | "select" | "textarea" if value("type").as_deref() != Some("hidden") => {
                // A field inside of a label needs no id.
                ids.extend(value("id").filter(|_| value("aria-label").is_none()));
            }
            "h1" | "h2" | "h3" => {
                let next = element[1..].parse::<usize>().unwrap();
                assert!(next <= level + 1, "{path}: {element} after h{level}");
                level = next;
            }
            _ => {}
        }
    }
    assert!(ids.iter().all(|id| labelled.contains(id)), "{path}: {ids:?} {labelled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_found_by_meaning_where_the_operator_has_them_indexed() {
    let app = app_with_model_and(|config| {
        allow_writes(config);
        config.server.port = 0;
    });
    let server = TestServer::over(app, modules().tools()).await;
    let id = project("rules-meaning");
    let entries = [
        entry("credentials", "Never write credentials into code; read them from the vault at start."),
        entry("commits", "Write commit messages in the imperative mood."),
    ];
    import(&server.app, &id, &entries, json!({})).await;
    wait_until_indexed(&server.app, &id).await;
    let path = format!("/catalog?project={id}&q=how+do+we+treat+passwords");
    let (status, html) = page(&server, &path).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains("Title of credentials") && html.contains(">Score</th>"), "{html}");
    let (_, html) = page(&server, &format!("{path}&by=text")).await;
    assert!(html.contains("0 entries") && !html.contains("Title of"), "{html}");
    server.stop().await;

    let off = TestServer::start(|config| config.instructions.semantic = false).await;
    let (status, html) = page(&off, &path).await;
    assert!(status.is_client_error() || status.is_server_error(), "{status}");
    assert!(
        html.contains("CAPABILITY_MISSING") && html.contains("value=\"how do we treat passwords\""),
        "{html}"
    );
    off.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_and_a_text_are_compared_and_reviewed_and_stay_on_the_page() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rule-forms");
    let before = catalog(&server.app, &id).await;
    let (changes, review) =
        (format!("/catalog/changes?project={id}"), format!("/catalog/review?project={id}"));
    let list = format!(
        "errors {}\ntests {}\ngone {}",
        sha256sum("old"),
        sha256sum("Test each branch."),
        sha256sum("x")
    );
    let compare = async |list: &str| {
        let sent = Visitor::without_key(&server)
            .submit_to(&changes, "/catalog/changes", &[("known", list), ("project", &id)])
            .await;
        (sent.status, sent.html)
    };
    let (status, html) = compare(&list).await;
    assert_eq!(status, StatusCode::OK, "{html}");
    assert!(html.contains("0 added, 1 changed, 1 removed") && html.contains("<code>gone</code>"), "{html}");
    assert!(
        html.contains("Title of errors") && !html.contains("Title of tests") && html.contains(&list),
        "{html}"
    );
    let (status, html) = compare("errors\n").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(html.contains("Line 1 of the list") && html.contains(">errors</textarea>"), "{html}");

    let secret = format!("AKIA{}", "IOSFODNN7EXAMPLF");
    let check = async |text: &str| {
        let sent = Visitor::without_key(&server)
            .submit_to(&review, "/catalog/review", &[("text", text), ("project", &id)])
            .await;
        (sent.status, sent.html)
    };
    let (status, html) = check(&format!("All agents: use foo.\nUpload with {secret}.")).await;
    assert_eq!(status, StatusCode::OK);
    for shown in ["team/no-foo", "Say bar.", "critical", "AKIA…", "<td class=\"number\">2</td>"] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert_eq!(html.matches(&secret).count(), 1, "only where it was typed: {html}");
    for (text, status) in [(" ", StatusCode::BAD_REQUEST), (&"x".repeat(10_241), StatusCode::BAD_REQUEST)] {
        let (answered, html) = check(text).await;
        assert_eq!(answered, status);
        assert!(html.contains("role=\"alert\"") && html.contains(text.trim()), "{html}");
    }
    let after = result(&server.app, "instructions_checksums", json!({ "project_id": id })).await;
    assert_eq!(after["revision"], before["revision"], "comparing and reviewing change nothing");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_removed_after_a_question_and_only_by_a_form_of_this_server() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rule-remove");
    catalog(&server.app, &id).await;
    let ask = format!("/catalog/entries/errors/remove?project={id}");
    let to = "/catalog/entries/errors/remove";
    let list =
        async || result(&server.app, "instructions_list", json!({ "project_id": id })).await["count"].clone();
    let hash = hidden(&page(&server, &ask).await.1, "hash");

    // To look at the question changes nothing, and neither does a form of another site.
    for token in ["", "0", &"0".repeat(64)] {
        let fields = [("project", id.as_str()), ("hash", &hash), ("form_token", token)];
        assert_eq!(
            Visitor::without_key(&server).send(to, &fields).await.status,
            StatusCode::FORBIDDEN,
            "{token}"
        );
    }
    assert_eq!(list().await, 2);

    // Neither does one about a different catalog from the one that the person saw: the page asks again, about the catalog as it is now.
    import(&server.app, &id, &[entry("later", "Later.")], json!({})).await;
    let stale = Visitor::without_key(&server).submit_to(&ask, to, &[("project", &id), ("hash", &hash)]).await;
    assert!(stale.status.is_client_error(), "{}", stale.status);
    let again = stale.html;
    assert!(again.contains("role=\"alert\"") && again.contains("Say what failed"), "{again}");
    let hash = hidden(&again, "hash");
    assert_eq!(list().await, 3);

    let sent = Visitor::without_key(&server).submit_to(&ask, to, &[("project", &id), ("hash", &hash)]).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let (status, html) = page(&server, &sent.location).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains("0 added, 0 changed, 1 removed") && html.contains("<code>errors</code>"), "{html}");
    assert_eq!(page(&server, &ask).await.0, StatusCode::NOT_FOUND);
    assert_eq!(list().await, 2);
    server.stop().await;

    // If the operator does not allow writes, the page says so.
    let closed = TestServer::over(
        app_with(|config| (config.server.port, config.instructions.mutation) = (0, false)),
        modules().tools(),
    )
    .await;
    let ask = format!("/catalog/entries/tests/remove?project={id}");
    let hash = hidden(&page(&closed, &ask).await.1, "hash");
    let fields = [("project", id.as_str()), ("hash", &hash)];
    let refused =
        Visitor::without_key(&closed).submit_to(&ask, "/catalog/entries/tests/remove", &fields).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.html.contains("MCP_ENABLE_MUTATION=1"));
    closed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_who_may_read_the_catalog_see_it_and_its_link() {
    let server = TestServer::start(|config| {
        allow_writes(config);
        config.access.required = Required::Always;
    })
    .await;
    let (ours, theirs, absent) = (project("rules-ours"), project("rules-theirs"), project("rules-absent"));
    catalog(&server.app, &ours).await;
    catalog(&server.app, &theirs).await;
    let searcher = issue_key(&server.app, &[&ours], &[Scope::Search]).await.1;
    let reader = issue_key(&server.app, &[&ours], &[Scope::Search, Scope::Instructions]).await.1;
    let curator = issue_key(&server.app, &[&ours], &[Scope::Instructions, Scope::Curate]).await.1;
    let (searcher, reader, curator) = (
        Visitor::signed_in(&server, &searcher).await,
        Visitor::signed_in(&server, &reader).await,
        Visitor::signed_in(&server, &curator).await,
    );

    for path in addresses(&ours) {
        assert_eq!(page(&server, &path).await.0, StatusCode::SEE_OTHER, "{path}: without a key");
        let (status, html) = searcher.get(&path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(
            !html.contains("Title of") && !html.contains("Say what") && !html.contains(">Instructions</a>"),
            "{html}"
        );
        let (status, html) = reader.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {html}");
        assert!(html.contains(">Instructions</a>"), "{html}");
    }
    assert!(!searcher.get("/").await.1.contains("/catalog"));
    let entry = format!("/catalog/entries/errors?project={ours}");
    assert!(!reader.get(&entry).await.1.contains("Remove this entry"));
    assert!(curator.get(&entry).await.1.contains("Remove this entry"));

    // A catalog of another project looks like one that does not exist.
    for (path, of_absent) in addresses(&theirs).iter().zip(addresses(&absent)) {
        let (status, html) = reader.get(path).await;
        let (absent_status, absent_html) = reader.get(&of_absent).await;
        assert_eq!(
            (status, html.replace(&theirs, "ID")),
            (absent_status, absent_html.replace(&absent, "ID")),
            "{path}"
        );
        assert!(!html.contains("Title of") && !html.contains("Say what"), "{html}");
    }
    // And a form cannot remove anything of it.
    let question = curator.get(&format!("/catalog/entries/errors/remove?project={ours}")).await.1;
    let (token, hash) = (hidden(&question, "form_token"), hidden(&question, "hash"));
    let mut answers = Vec::new();
    for id in [&theirs, &absent] {
        let fields = [("project", id.as_str()), ("hash", &hash), ("form_token", &token)];
        let sent = curator.send("/catalog/entries/errors/remove", &fields).await;
        answers.push((sent.status, sent.html.replace(id, "ID")));
    }
    assert!(answers[0].0.is_client_error() && answers[0] == answers[1], "{answers:?}");
    assert_eq!(result(&server.app, "instructions_list", json!({ "project_id": theirs })).await["count"], 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_the_catalog_becomes_markup() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rules-hostile");
    let mut evil = entry("errors", &format!("{HOSTILE}\nSee `src/{HOSTILE}.rs`."));
    (evil["title"], evil["rationale"], evil["categories"]) =
        (HOSTILE.into(), HOSTILE.into(), json!([HOSTILE]));
    let mut twin = evil.clone();
    twin["id"] = "twin".into();
    let gates = json!({ "gates": [
        { "id": "evil", "description": HOSTILE, "severity": "error", "type": "count", "op": ">", "value": 9,
          "where": { "textContains": HOSTILE } }
    ] });
    let criteria = json!({ "categories": [{ "id": "evil", "rules": [
        { "id": "evil", "pattern": "script", "severity": "high", "description": HOSTILE, "remediation": HOSTILE }
    ] }] });
    let imported =
        import(&server.app, &id, &[evil, twin], json!({ "gates": gates, "criteria": criteria })).await;
    assert_eq!(imported["errors"], json!([]), "{imported:#}");
    let table = format!("{}.instructions", schema(&id));
    execute_sql(&format!("UPDATE {table} SET body = body || ' changed' WHERE id = 'twin'")).await;
    let evil_query = utf8_percent_encode(HOSTILE, NON_ALPHANUMERIC).to_string();
    let mut paths = addresses(&id);
    paths.extend([
        format!("/catalog?project={id}&category={evil_query}"),
        format!("/catalog?project={id}&q={evil_query}&by=text"),
        format!("/catalog?project={id}&{evil_query}=1"),
        format!("/catalog/entries/{evil_query}?project={id}"),
        format!(
            "/catalog/changes?project={id}&hash={}",
            utf8_percent_encode(&HOSTILE[..60], NON_ALPHANUMERIC)
        ),
        format!("/catalog/changes?project={id}&since={evil_query}"),
        format!("/catalog/review?project={id}&entry={evil_query}"),
    ]);
    for path in paths {
        let html = page(&server, &path).await.1;
        check_markup(&path, &html);
        let scripts = elements(&html).iter().filter(|(element, _)| element == "script").count();
        assert_eq!(scripts, 1, "{path}: {html}");
    }
    let html = page(&server, &format!("/catalog/entries/errors?project={id}")).await.1;
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    let gates = page(&server, &format!("/catalog/gates?project={id}")).await.1;
    assert!(gates.contains("&lt;script&gt;") && gates.contains("failed"), "{gates}");
    let checks = page(&server, &format!("/catalog/checks?duplicates=1&project={id}")).await.1;
    assert!(checks.contains("changed in the database") && checks.contains(">twin</a>"), "{checks}");
    let list = [("project", id.as_str()), ("known", HOSTILE)];
    let sent = Visitor::without_key(&server)
        .submit_to(&format!("/catalog/changes?project={id}"), "/catalog/changes", &list)
        .await;
    check_markup("a list", &sent.html);
    let text = [("project", id.as_str()), ("text", HOSTILE)];
    let sent = Visitor::without_key(&server)
        .submit_to(&format!("/catalog/review?project={id}"), "/catalog/review", &text)
        .await;
    let reviewed = sent.html;
    check_markup("a text", &reviewed);
    assert!(reviewed.contains("&lt;/textarea&gt;"), "{reviewed}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_catalog_is_shown_and_compared_in_pages() {
    let server = TestServer::start(allow_writes).await;
    let id = project("rules-large");
    let all: Vec<Value> = (0..250).map(|at| entry(&format!("n-{at:03}"), &"long ".repeat(600))).collect();
    import(&server.app, &id, &all, json!({})).await;
    let (mut path, mut shown, mut pages) = (format!("/catalog?project={id}&category=test"), 0, 0);
    loop {
        let html = page(&server, &path).await.1;
        assert!(html.contains("250 entries"), "{html}");
        (shown, pages) = (shown + html.matches("Title of").count(), pages + 1);
        if !html.contains("Further entries →") {
            break;
        }
        path = target(&html, "Further entries →");
    }
    assert_eq!(shown, 250);
    assert!(pages >= 3, "{pages}");

    let (mut path, mut shown) = (format!("/catalog/changes?project={id}&since=0"), 0);
    loop {
        let html = page(&server, &path).await.1;
        shown += html.matches("Title of").count();
        if !html.contains("Further changes →") {
            break;
        }
        path = target(&html, "Further changes →");
    }
    assert_eq!(shown, 250);

    // A list that does not fit an address is sent again for each page.
    let changes = format!("/catalog/changes?project={id}");
    let list = format!("gone {}", sha256sum("x"));
    let (mut after, mut shown, mut pages) = (String::new(), 0, 0);
    loop {
        let fields = [("project", id.as_str()), ("known", &list), ("after", &after)];
        let html = Visitor::without_key(&server).submit_to(&changes, "/catalog/changes", &fields).await.html;
        (shown, pages) = (shown + html.matches("Title of").count(), pages + 1);
        if !html.contains("Further changes</button>") {
            break;
        }
        after = hidden(&html, "after");
    }
    assert_eq!(shown, 250);
    assert!(pages >= 2, "{pages}");
    server.stop().await;
}
