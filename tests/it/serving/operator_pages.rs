//! Pages that change something, and those of the operator: keys, audited calls, repositories; and what pages say beside the text.

use contract::clock::iso_from_millis;
use contract::config::Required;
use reqwest::{Response, StatusCode, header};
use serde_json::json;
use tenancy::{NewKey, Projects, Scope};

use super::access::{issue_key, issue_key_with};
use super::form_page::{ONCE, Sent, TOKEN, Visitor};
use super::pages::{browser, check_markup, hidden, page, sign_in};
use super::{TestServer, send_json};
use crate::harness::{Repository, git, http, project, result};

const KEYS: &str = "/administration/keys";

fn repository() -> Repository {
    Repository::new(&[
        (
            "src/cash.py",
            "def drawer(coins):\n    return sum(coins)\n\n\ndef drawer_of(shop):\n    return drawer(shop)\n",
        ),
        ("src/run.py", "import os\n\n\ndef run(request):\n    os.system(request.args['command'])\n"),
    ])
}

/// The address of the first link with a text.
fn link(html: &str, text: &str) -> String {
    let end = html.find(&format!(">{text}</a>")).unwrap_or_else(|| panic!("no link {text}: {html}"));
    let from = html[..end].rfind("href=\"").unwrap() + "href=\"".len();
    html[from..].split('"').next().unwrap().replace("&amp;", "&")
}

/// The key that a page shows.
fn shown_key(html: &str) -> String {
    let from = html.find("poc_").unwrap_or_else(|| panic!("no key: {html}"));
    html[from..].chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_creates_a_key_that_works_and_revokes_it() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (id, repository) = (project("page-keys"), repository());
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let (_, operator) = issue_key(&server.app, &[], &[Scope::Admin, Scope::Search]).await;
    let visitor = Visitor::signed_in(&server, &operator).await;

    let fields = [("name", "agent of ann"), ("projects", &id), ("scope_search", "1"), ("expires", "30d")];
    let Sent { status, html, .. } = visitor.submit(KEYS, &fields).await;
    assert_eq!(status, StatusCode::OK, "{html}");
    check_markup(KEYS, &html);
    let key = shown_key(&html);
    let search = async || {
        let arguments = json!({ "query": "coins", "project_id": id });
        send_json(http().post(server.url_of("/search")).bearer_auth(&key).json(&arguments)).await.0
    };
    assert_eq!(search().await, StatusCode::OK);
    let (_, html) = visitor.get(KEYS).await;
    assert!(html.contains("agent of ann") && !html.contains(&key), "{html}");

    // A form with a scope that cannot be granted, or with an empty field, is refused, and keeps its input.
    for (fields, said) in [
        (
            &[("name", "b"), ("all_projects", "1"), ("scope_triage", "1"), ("expires", "30d")][..],
            "scope <code>triage</code>",
        ),
        (&[("name", "b"), ("projects", ""), ("scope_search", "1"), ("expires", "30d")], "Name the projects"),
        (&[("name", " "), ("all_projects", "1"), ("scope_search", "1"), ("expires", "30d")], "1 to 100"),
        (
            &[("name", "kept name"), ("all_projects", "1"), ("scope_search", "1"), ("expires", "1y")],
            "value=\"kept name\"",
        ),
    ] {
        let Sent { status, html, .. } = visitor.submit(KEYS, fields).await;
        assert!(status.is_client_error() && html.contains(said), "{said}: {status} {html}");
        assert!(!html.contains("poc_"), "{html}");
    }

    let key_id = key.split('_').nth(1).unwrap();
    let Sent { status, .. } = visitor.submit(KEYS, &[("revoke", key_id)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(visitor.get(KEYS).await.1.contains("revoked"));
    let mut answered = search().await;
    for _ in 0..100 {
        if answered == StatusCode::UNAUTHORIZED {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answered = search().await;
    }
    assert_eq!(answered, StatusCode::UNAUTHORIZED);
    let Sent { status, html, .. } = visitor.submit(KEYS, &[("revoke", key_id)]).await;
    assert!(status == StatusCode::NOT_FOUND && html.contains("revoked before"), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_shown_although_the_keys_cannot_be_listed() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (_, operator) = issue_key_with(&server.app, &[], &[Scope::Admin, Scope::Search], |new| {
        new.calls_per_minute = Some(3);
    })
    .await;
    let visitor = Visitor::signed_in(&server, &operator).await;
    // One call to open the session, one for the page with the form, one to create the key; the fourth one, for the list, is refused.
    let fields = [("name", "shown"), ("all_projects", "1"), ("scope_search", "1"), ("expires", "30d")];
    let Sent { status, html, .. } = visitor.submit(KEYS, &fields).await;
    assert!(status == StatusCode::OK && html.contains("RATE_LIMITED"), "{status} {html}");
    check_markup(KEYS, &html);
    let key = shown_key(&html);
    let keys = tenancy::list_keys(server.app.store().await.unwrap()).await.unwrap();
    let id = key.split('_').nth(1).unwrap();
    assert!(keys.iter().any(|known| known.id == id && known.name == "shown"), "{keys:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_again_creates_no_second_key() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (_, operator) = issue_key(&server.app, &[], &[Scope::Admin, Scope::Search]).await;
    let visitor = Visitor::signed_in(&server, &operator).await;
    let named = async |name: &str| {
        let keys = tenancy::list_keys(server.app.store().await.unwrap()).await.unwrap();
        keys.iter().filter(|key| key.name == name).count()
    };
    let html = visitor.page(KEYS).await;
    let (token, once) = (hidden(&html, TOKEN), hidden(&html, ONCE));
    let send = async |once: &str, name: &str| {
        let typed = [("name", name), ("all_projects", "1"), ("scope_search", "1"), ("expires", "30d")];
        visitor.send(KEYS, &[&typed[..], &[(TOKEN, token.as_str()), (ONCE, once)]].concat()).await
    };
    // A form that was refused created nothing, so it may be sent again.
    let refused = send(&once, " ").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.html);
    let first = send(&once, "reloaded").await;
    assert!(first.status == StatusCode::OK && first.html.contains("poc_"), "{}", first.html);
    for name in ["reloaded", "changed"] {
        let again = send(&once, name).await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.html);
        check_markup(KEYS, &again.html);
        assert!(again.html.contains("The key was created already"), "{}", again.html);
        assert!(again.html.contains("revoke it and create another"), "{}", again.html);
        assert!(!again.html.contains("poc_") && hidden(&again.html, ONCE) != once, "{}", again.html);
    }
    assert_eq!((named("reloaded").await, named("changed").await), (1, 0));

    // Of two that are sent at once, one is carried out.
    let once = hidden(&visitor.page(KEYS).await, ONCE);
    let (one, other) = tokio::join!(send(&once, "twice"), send(&once, "twice"));
    let mut answered = [one.status.as_u16(), other.status.as_u16()];
    answered.sort_unstable();
    assert_eq!((answered, named("twice").await), ([200, 409], 1));

    // The value belongs to the session, and without one nothing is created.
    let other = Visitor::signed_in(&server, &operator).await;
    let theirs = other.token(KEYS).await;
    let fields = [
        ("name", "theirs"),
        ("all_projects", "1"),
        ("scope_search", "1"),
        ("expires", "30d"),
        (TOKEN, theirs.as_str()),
    ];
    let Sent { status, html, .. } = other.send(KEYS, &fields).await;
    assert!(status == StatusCode::BAD_REQUEST && html.contains("not complete"), "{html}");
    let Sent { status, html, .. } = other.send(KEYS, &[&fields[..], &[(ONCE, once.as_str())]].concat()).await;
    assert_eq!((status, named("theirs").await), (StatusCode::OK, 1), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_changes_no_keys_although_the_server_still_has_it_in_its_cache() {
    let server = TestServer::start(|config| {
        config.access.required = Required::Always;
        config.access.key_cache_ms = 600_000;
    })
    .await;
    let (id, operator) = issue_key(&server.app, &[], &[Scope::Admin, Scope::Search]).await;
    let (other, _) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let visitor = Visitor::signed_in(&server, &operator).await;
    let new = [("name", "lasting"), ("all_projects", "1"), ("scope_search", "1"), ("expires", "30d")];
    let store = server.app.store().await.unwrap();
    tenancy::revoke_key(store, &id, server.app.clock.now().as_millisecond()).await.unwrap();
    for fields in [&new[..], &[("revoke", other.as_str())], &[("revoke", id.as_str())]] {
        let Sent { status, html, .. } = visitor.submit(KEYS, fields).await;
        assert!(status == StatusCode::UNAUTHORIZED && html.contains("was revoked or has expired"), "{html}");
    }
    let keys = tenancy::list_keys(store).await.unwrap();
    assert!(keys.iter().all(|key| key.name != "lasting"), "{keys:?}");
    assert!(keys.iter().any(|key| key.id == other && key.live), "{keys:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_creates_none_that_outlives_it_and_may_revoke_itself() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let now_ms = server.app.clock.now().as_millisecond();
    let expires_ms = now_ms + 86_400_000;
    let new = NewKey {
        name: "for a day".to_owned(),
        projects: Projects::All,
        scopes: [Scope::Admin, Scope::Search].into(),
        calls_per_minute: None,
        roots: None,
        expires_ms: Some(expires_ms),
    };
    let operator = tenancy::issue_key(server.app.store().await.unwrap(), new, now_ms).await.unwrap();
    let visitor = Visitor::signed_in(&server, &operator.secret).await;
    let create = async |expires: &str| {
        let fields = [("name", "x"), ("all_projects", "1"), ("scope_search", "1"), ("expires", expires)];
        visitor.submit(KEYS, &fields).await
    };
    for expires in ["never", "2d"] {
        let Sent { status, html, .. } = create(expires).await;
        let hint = format!("your key expires at {}", iso_from_millis(expires_ms));
        assert!(status == StatusCode::BAD_REQUEST && html.contains(&hint), "{expires}: {status} {html}");
        assert!(!html.contains("poc_"), "{html}");
    }
    let Sent { status, html, .. } = create("12h").await;
    assert!(status == StatusCode::OK && html.contains("poc_"), "{status} {html}");
    let Sent { status, html, .. } = visitor.submit(KEYS, &[("revoke", &operator.id)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_again_ends_the_session_of_before() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (_, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let cookie = |response: &Response| {
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    };
    let first = cookie(&sign_in(&server, &key, "/").await);
    let port = server.url.rsplit(':').next().unwrap().trim_end_matches('/');
    assert!(first.starts_with(&format!("pairofcleats_session_{port}=")), "{first}");
    let is_signed_in = async |cookie: &str| {
        let asked = browser().get(server.url_of("/repositories")).header(header::COOKIE, cookie);
        asked.send().await.unwrap().status() != StatusCode::SEE_OTHER
    };
    assert!(is_signed_in(&first).await);
    let again = browser().post(server.url_of("/sign-in")).header(header::COOKIE, &first);
    let again = again.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let second = cookie(&again.body(format!("key={key}&next=%2F")).send().await.unwrap());
    assert!(is_signed_in(&second).await && !is_signed_in(&first).await, "{second}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_needs_the_token_of_its_session() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (_, operator) = issue_key(&server.app, &[], &Scope::ALL).await;
    let (one, other) =
        (Visitor::signed_in(&server, &operator).await, Visitor::signed_in(&server, &operator).await);
    let fields = [("name", "x"), ("all_projects", "1"), ("scope_search", "1"), ("expires", "30d")];
    let foreign = other.token(KEYS).await;
    for token in [&[][..], &[(TOKEN, "")], &[(TOKEN, foreign.as_str())]] {
        let Sent { status, html, .. } = one.send(KEYS, &[&fields[..], token].concat()).await;
        assert!(status == StatusCode::FORBIDDEN && html.contains("another session"), "{html}");
    }
    // Without a session it leads to the sign-in, and a key in a header is not enough.
    assert_eq!(Visitor::without_key(&server).send(KEYS, &fields).await.status, StatusCode::SEE_OTHER);
    let by_key = browser().post(server.url_of(KEYS)).bearer_auth(&operator);
    let by_key = by_key.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    assert_eq!(
        by_key.body("name=x&all_projects=1&scope_search=1&expires=30d").send().await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
    let keys = tenancy::list_keys(server.app.store().await.unwrap()).await.unwrap();
    assert!(keys.iter().all(|key| key.name != "x"), "{keys:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_operator_are_for_the_operator() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let id = project("page-operator");
    let (_, reader) = issue_key(&server.app, &[&id], &[Scope::Search]).await;
    let (_, of_project) = issue_key(&server.app, &[&id], &[Scope::Search, Scope::Admin]).await;
    let (_, operator) = issue_key(&server.app, &[], &[Scope::Search, Scope::Admin]).await;
    let (reader, of_project, operator) = (
        Visitor::signed_in(&server, &reader).await,
        Visitor::signed_in(&server, &of_project).await,
        Visitor::signed_in(&server, &operator).await,
    );
    assert!(!reader.get("/").await.1.contains("Administration"));
    assert!(operator.get("/").await.1.contains("Administration"));
    for path in [KEYS, "/administration/audit"] {
        for visitor in [&reader, &of_project] {
            let (status, html) = visitor.get(path).await;
            assert!(status == StatusCode::FORBIDDEN && !html.contains("poc_"), "{path}: {status}");
        }
        assert_eq!(operator.get(path).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(reader.get("/administration").await.0, StatusCode::FORBIDDEN);
    let (status, html) = of_project.get(&format!("/administration?project={id}")).await;
    assert!(status == StatusCode::OK && !html.contains(KEYS), "{html}");
    let (status, html) = operator.get("/administration").await;
    assert!(status == StatusCode::OK && html.contains("PostgreSQL") && html.contains(KEYS), "{html}");
    check_markup("/administration", &html);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn audited_calls_are_listed_and_filtered() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    server.app.start_background();
    // Entries are recorded once the writer runs; it starts with the embedder.
    super::fixtures::wait_until("the audit table's writer", || server.app.has_embedder()).await;
    let (_, operator) = issue_key(&server.app, &[], &[Scope::Search, Scope::Admin]).await;
    let visitor = Visitor::signed_in(&server, &operator).await;
    let arguments = json!({ "query": "x", "project_id": "page-audit" });
    send_json(http().post(server.url_of("/search")).bearer_auth(&operator).json(&arguments)).await;
    let mut html = String::new();
    for _ in 0..100 {
        html = visitor.get("/administration/audit?tool=search&outcome=failed").await.1;
        if html.contains("NO_INDEX") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(html.contains("NO_INDEX") && html.contains("value=\"failed\""), "{html}");
    let none = visitor.get("/administration/audit?tool=search&outcome=ok&project=none").await.1;
    assert!(none.contains("No call matches"), "{none}");
    for bad in ["before=x", "nonsense=1"] {
        assert_eq!(visitor.get(&format!("/administration/audit?{bad}")).await.0, StatusCode::BAD_REQUEST);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_indexed_refreshed_and_removed_from_the_page() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("page-index"), repository());
    let visitor = Visitor::without_key(&server);
    let path = format!("/repositories?project={id}");
    let Sent { status, html, .. } =
        visitor.submit("/repositories", &[("index", &repository.root()), ("project", &id)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{html}");
    let settled = async |part: &str| {
        for _ in 0..300 {
            let html = visitor.get(&path).await.1;
            if html.contains(part) && !html.contains("In progress") {
                return html;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("never {part}: {}", visitor.get(&path).await.1);
    };
    let html = settled("2 files").await;
    check_markup(&path, &html);
    let status = result(&server.app, "index_status", json!({ "project_id": id })).await;
    let name = status["repositories"][0]["name"].as_str().unwrap().to_owned();

    repository.write("src/more.py", "def more():\n    pass\n");
    assert_eq!(
        visitor.submit("/repositories", &[("index", &name), ("project", &id)]).await.status,
        StatusCode::SEE_OTHER
    );
    settled("3 files").await;

    let Sent { status, html, .. } =
        visitor.submit("/repositories", &[("index", "/does/not/exist"), ("project", &id)]).await;
    assert!(status.is_client_error() && html.contains("value=\"/does/not/exist\""), "{status} {html}");
    let Sent { status, html, .. } = visitor.submit("/repositories", &[("project", &id)]).await;
    assert!(status == StatusCode::BAD_REQUEST && html.contains("Type the path"), "{html}");

    assert_eq!(
        visitor.submit("/repositories", &[("remove", &name), ("project", &id)]).await.status,
        StatusCode::SEE_OTHER
    );
    settled("0 files").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_word_of_a_query_is_completed() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("page-suggest"), repository());
    repository.write(
        "src/till.py",
        "class Till:\n    def count(self):\n        return 1\n\n    def close(self):\n        return 2\n",
    );
    git(repository.path(), &["init", "-q"]);
    git(repository.path(), &["add", "-A"]);
    git(repository.path(), &["commit", "-qm", "first"]);
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let status = result(&server.app, "index_status", json!({ "project_id": id })).await;
    let indexed = &status["repositories"][0];
    let by_name = format!("data-query=\"open repo:{}\"", indexed["name"].as_str().unwrap());
    let all_chunks = format!("{} chunks<", indexed["chunks"]);
    for (query, parts) in [
        ("open+lan", &["data-query=\"open lang:\"", "Language by name"][..]),
        ("lang%3Apy", &["data-query=\"lang:python\"", "chunks"]),
        ("draw", &["data-query=\"drawer\"", "1 definition<", "drawer_of"]),
        ("path%3Acash", &["data-query=\"path:src/cash.py\""]),
        ("type%3Afun", &["data-query=\"type:function\""]),
        ("calls%3Adraw", &["data-query=\"calls:drawer\""]),
        ("open+Till.c", &["data-query=\"open Till.count\"", "1 definition<", "Till.close"]),
        ("till%3A%3ACO", &["data-query=\"Till.count\""]),
        ("open+rep", &["data-query=\"open repo:\"", "Only this repository"]),
        ("open+repo%3A", &[by_name.as_str(), all_chunks.as_str()]),
        ("author%3Aad", &["data-query=\"author:Ada\"", all_chunks.as_str()]),
    ] {
        let (status, html) = page(&server, &format!("/suggest?project={id}&q={query}")).await;
        assert_eq!(status, StatusCode::OK);
        check_markup(query, &html);
        assert!(parts.iter().all(|part| html.contains(part)), "{query}: {html}");
    }
    for nothing in ["", "%22draw", "qwrtz", "nothing%3Ax"] {
        let html = page(&server, &format!("/suggest?project={id}&q={nothing}")).await.1;
        assert!(!html.contains("<li"), "{nothing}: {html}");
    }
    let other = page(&server, &format!("/suggest?project={}&q=draw", project("absent"))).await;
    assert_eq!((other.0, other.1.contains("drawer")), (StatusCode::OK, false));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_its_text_its_risks_and_a_drawing_of_its_symbols() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("page-beside"), repository());
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let status = result(&server.app, "index_status", json!({ "project_id": id })).await;
    let name = status["repositories"][0]["name"].as_str().unwrap();
    let html = page(&server, &format!("/p/{id}/r/{name}/-/src/run.py")).await.1;
    assert!(html.contains("risk: ") && html.contains("/raw/src/run.py"), "{html}");

    let raw = browser().get(server.url_of(&format!("/p/{id}/r/{name}/raw/src/run.py"))).send().await.unwrap();
    assert_eq!(raw.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(raw.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert!(raw.text().await.unwrap().starts_with("import os\n"));
    assert_eq!(page(&server, &format!("/p/{id}/r/{name}/raw/none.py")).await.0, StatusCode::NOT_FOUND);

    let html = page(&server, &format!("/symbol?project={id}&symbol=drawer")).await.1;
    assert!(html.contains("<svg") && html.contains("<title>drawer_of</title>"), "{html}");
    check_markup("symbol", &html);
    let similar = link(&html, "Similar code");
    let (status, found) = page(&server, &similar).await;
    assert_eq!(status, StatusCode::OK, "{similar}");
    assert!(found.contains("src/run.py") && link(&found, "similar").contains("q=chunk%3A"), "{found}");
    assert!(!html.contains("Permalink") && !html.contains("written by"), "no commit, no author: {html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_the_author_of_a_symbol_and_the_commit_of_a_link() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("page-commit"), repository());
    let commit = |message: &str| {
        git(repository.path(), &["add", "-A"]);
        git(repository.path(), &["commit", "-qm", message]);
    };
    let index = json!({ "repoPath": repository.root(), "project_id": id });
    git(repository.path(), &["init", "-q"]);
    commit("first");
    result(&server.app, "build_index", index.clone()).await;
    let status = result(&server.app, "index_status", json!({ "project_id": id })).await;
    let name = status["repositories"][0]["name"].as_str().unwrap();
    let symbol = page(&server, &format!("/symbol?project={id}&symbol=drawer")).await.1;
    assert!(symbol.contains("written by <bdi>Ada</bdi>"), "{symbol}");
    assert!(symbol.contains("file last changed by <bdi>Ada</bdi>"), "{symbol}");

    let file = format!("/p/{id}/r/{name}/-/src/cash.py");
    let permalink = link(&page(&server, &file).await.1, "Permalink");
    let is_other = async || page(&server, &permalink).await.1.contains("The link is of commit");
    assert!(permalink.contains("?commit=") && !is_other().await, "{permalink}");
    repository.write("src/cash.py", "def drawer(coins):\n    return len(coins)\n");
    commit("second");
    result(&server.app, "build_index", index).await;
    assert!(is_other().await);
    for wrong in ["xyz", "abc", &"a".repeat(65), "0123456789%3Cb%3E"] {
        let (status, html) = page(&server, &format!("{file}?commit={wrong}")).await;
        assert!(status == StatusCode::BAD_REQUEST && html.contains("<code>commit</code>"), "{wrong}: {html}");
    }
    server.stop().await;
}
