//! The pages: each answers plain GET, shows what the gate answers, and takes nothing from a repository for markup.

use std::sync::Arc;

use contract::config::Required;
use gate::app::App;
use html5gum::{Token, Tokenizer};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method, Response, StatusCode, header, redirect};
use serde_json::json;
use tenancy::Scope;

use super::access::issue_key;
use super::{TestServer, send_json};
use crate::blocked_embedder::BlockedEmbedder;
use crate::harness::{Repository, app_without_embedder, http, modules, project, result};

/// A text that becomes markup or script if a page does not escape it.
const HOSTILE: &str = "</pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

fn repository() -> Repository {
    Repository::new(&[
        ("src/cash.py", "def drawer(coins):\n    \"\"\"Counts the coins.\"\"\"\n    return sum(coins)\n"),
        ("src/shop.py", "from cash import drawer\n\n\ndef open_shop():\n    return drawer([1, 2, 5])\n"),
        ("docs/a & <b>\"c\".md", "# Opening hours\n\nThe shop opens at nine.\n"),
        ("src/evil.py", &format!("# {HOSTILE}\ndef evil():\n    return '''{HOSTILE}'''\n")),
    ])
}

pub(super) async fn page(server: &TestServer, path: &str) -> (StatusCode, String) {
    let response = browser().get(server.url_of(path)).send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

/// A client that follows no redirects, so that tests see them.
pub(super) fn browser() -> Client {
    // Installs the cryptography that every client needs.
    drop(http());
    Client::builder().redirect(redirect::Policy::none()).build().unwrap()
}

/// The elements of a page, and the values of their attributes.
pub(super) fn elements(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut found = Vec::new();
    for token in Tokenizer::new(html) {
        let Ok(Token::StartTag(tag)) = token else { continue };
        let attributes =
            tag.attributes.iter().map(|(name, value)| (text(name), text(&value.value))).collect();
        found.push((text(&tag.name), attributes));
    }
    found
}

/// Checks that a page has only the markup of the program: one script of its own, no handlers, headings in order, and no addresses
/// elsewhere but links of findings, which say nothing about the page.
pub(super) fn check_markup(path: &str, html: &str) {
    let mut level = 0;
    for (element, attributes) in elements(html) {
        let value =
            |name: &str| attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_ne!(element, "img", "{path}");
        if element == "script" {
            assert!(value("src").is_some_and(|src| src.starts_with("/assets/")), "{path}: {attributes:?}");
        }
        if let Some(heading) = element.strip_prefix('h').and_then(|level| level.parse::<u32>().ok()) {
            assert!(heading <= level + 1, "{path}: h{heading} below h{level}");
            level = heading;
        }
        for (name, address) in &attributes {
            assert!(!name.starts_with("on") && name != "style", "{path}: {element} {name}");
            if !matches!(name.as_str(), "href" | "src" | "action") {
                continue;
            }
            if value("class") == Some("external") {
                assert!(
                    address.starts_with("https://") || address.starts_with("http://"),
                    "{path}: {address}"
                );
                assert_eq!(value("rel"), Some("noopener noreferrer nofollow"), "{path}: {address}");
            } else {
                assert!(
                    address.starts_with(['/', '#', '?']) && !address.starts_with("//"),
                    "{path}: {address}"
                );
            }
        }
    }
}

/// The value of a field of a page, such as the token of its forms.
pub(super) fn hidden(html: &str, field: &str) -> String {
    hidden_if_any(html, field).unwrap_or_else(|| panic!("no field {field}: {html}"))
}

/// The same of a field that a page may not have.
pub(super) fn hidden_if_any(html: &str, field: &str) -> Option<String> {
    elements(html).into_iter().find_map(|(_, attributes)| {
        let value =
            |name: &str| attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        (value("name").as_deref() == Some(field)).then(|| value("value").unwrap())
    })
}

async fn indexed(server: &TestServer, project: &str) -> Repository {
    let repository = repository();
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    repository
}

/// The name of the only repository of a project.
async fn repository_name(app: &Arc<App>, project: &str) -> String {
    let status = result(app, "index_status", json!({ "project_id": project })).await;
    status["repositories"][0]["name"].as_str().unwrap().to_owned()
}

/// Checks that each page answers with a status, contains some texts, and keeps to the policy.
async fn check_pages(server: &TestServer, pages: &[(String, StatusCode, &[&str])]) {
    let mut wrong = Vec::new();
    for (path, status, parts) in pages {
        let response = browser().get(server.url_of(path)).send().await.unwrap();
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        let answered = response.status();
        let html = response.text().await.unwrap();
        let missing: Vec<_> = parts.iter().filter(|part| !html.contains(**part)).collect();
        if answered != *status || !missing.is_empty() {
            wrong.push(format!("{path}: {answered}, without {missing:?}\n{html}"));
        }
        check_markup(path, &html);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_shows_what_was_indexed() {
    let server = TestServer::start(|_| {}).await;
    let id = project("pages");
    let _repository = indexed(&server, &id).await;
    let name = repository_name(&server.app, &id).await;
    let file = format!("/p/{id}/r/{name}/-/src/cash.py");
    let pages: &[(String, StatusCode, &[&str])] = &[
        (format!("/?project={id}"), StatusCode::OK, &["What you can ask", &name]),
        (
            format!("/?project={id}&q=coins"),
            StatusCode::OK,
            &["<mark>coins</mark>", "src/cash.py", "hits, the best first", "language: "],
        ),
        (
            format!("/?project={id}&q=def+%5Cw%2B&mode=regex"),
            StatusCode::OK,
            &["3 matching lines in 3 files", "<mark>drawer</mark>"],
        ),
        (format!("/?project={id}&q=coins&explain=1"), StatusCode::OK, &["<dt>lexical</dt>"]),
        (format!("/?project={id}&q=qwrtzpsdfg"), StatusCode::OK, &["search"]),
        (
            format!("/?project={id}&q=lang:nonsense:x("),
            StatusCode::BAD_REQUEST,
            &["INVALID_REQUEST", "value=\"lang:nonsense:x(\""],
        ),
        (format!("/?project={id}&q=(&mode=regex"), StatusCode::BAD_REQUEST, &["role=\"alert\""]),
        (
            file.clone(),
            StatusCode::OK,
            &["id=\"L3\"", "<span class=\"kw\">def</span>", "3 lines", ">drawer</a>", "Outline"],
        ),
        (format!("{file}?at=1:5"), StatusCode::OK, &["src/shop.py", "resolved", "Callers"]),
        (format!("{file}?from=2"), StatusCode::OK, &["lines 2 to 3 are shown", "← Earlier lines"]),
        (format!("{file}?at=x"), StatusCode::BAD_REQUEST, &["<code>at</code>"]),
        (format!("/p/{id}/r/{name}/tree"), StatusCode::OK, &[">src</bdi>/", ">docs</bdi>/"]),
        (format!("/p/{id}/r/{name}/tree?path=src"), StatusCode::OK, &["cash.py", "shop.py"]),
        (format!("/p/{id}/r/{name}/tree?path=../.."), StatusCode::BAD_REQUEST, &["role=\"alert\""]),
        (format!("/p/{id}/r/{name}/tree?path=none"), StatusCode::NOT_FOUND, &["no folder"]),
        (
            format!("/symbol?project={id}&symbol=drawer&relation=callers"),
            StatusCode::OK,
            &["open_shop", "src/shop.py"],
        ),
        (format!("/p/{id}/r/{name}/find?q=shop"), StatusCode::OK, &["1 file<", "src/shop.py"]),
        (format!("/p/{id}/r/{name}/find?q=shoppy"), StatusCode::OK, &["1 file<", "src/shop.py"]),
        (format!("/p/{id}/r/none/find?q=shop"), StatusCode::NOT_FOUND, &["no such repository"]),
        (format!("/symbol?project={id}"), StatusCode::BAD_REQUEST, &["No symbol is named"]),
        (format!("/repositories?project={id}"), StatusCode::OK, &["4 files", &name, "ready"]),
        (format!("/p/{id}/r/none/-/x.py"), StatusCode::NOT_FOUND, &["role=\"alert\""]),
        (format!("/p/{id}/r/{name}/-/none.py"), StatusCode::NOT_FOUND, &["role=\"alert\""]),
        (
            format!("/?project={}&q=x", project("absent")),
            StatusCode::NOT_FOUND,
            &["There is no project", "See what is indexed"],
        ),
        (format!("/?project={}", project("absent")), StatusCode::OK, &["There is no project"]),
        (
            format!("/?project={id}&q=x&repo=none"),
            StatusCode::NOT_FOUND,
            &["no index of <code>none</code>", "See what is indexed"],
        ),
        (format!("/?project={id}&nonsense=1"), StatusCode::BAD_REQUEST, &["nonsense"]),
        (format!("/?project={id}&q=a&q=b"), StatusCode::BAD_REQUEST, &["more than once"]),
        (format!("/triage?project={id}&q=%00"), StatusCode::BAD_REQUEST, &["NUL character"]),
        ("/sign-in".to_owned(), StatusCode::OK, &["API key"]),
    ];
    check_pages(&server, pages).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outline_lists_each_definition_once_below_its_container() {
    let server = TestServer::start(|_| {}).await;
    let id = project("pages-outline");
    let till = "LIMIT = 3\n\n\nclass Till:\n    def open(self):\n        return 1\n\n    def close(self):\n        \
                return 2\n\n    def count(self):\n        return 3\n\n\ndef drawer():\n    return LIMIT\n";
    let repository =
        Repository::new(&[("src/till.py", till), ("docs/hours.md", "# Opening hours\n\nAt nine.\n")]);
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let name = repository_name(&server.app, &id).await;
    let file = format!("/p/{id}/r/{name}/-/src/till.py");
    let (_, html) = page(&server, &file).await;
    let outline = html.split("<h2>Outline</h2>").nth(1).unwrap();
    let entry = |class: &str, line: u32, name: &str, kind: &str| {
        format!("<li{class}><a href=\"#L{line}\">{name}</a> <span class=\"dim\">{kind}</span></li>")
    };
    let inner = " class=\"in1\"";
    let expected = [
        entry("", 1, "LIMIT", "variable"),
        entry("", 4, "Till", "class"),
        entry(inner, 5, "open", "method"),
        entry(inner, 8, "close", "method"),
        entry(inner, 11, "count", "method"),
        entry("", 15, "drawer", "function"),
    ];
    assert!(outline.contains(&expected.concat()), "{outline}");
    assert_eq!(outline.matches("<li").count(), expected.len(), "{outline}");
    // A definition in another part of the file is a link to that part.
    let (_, html) = page(&server, &format!("{file}?from=8")).await;
    assert!(html.contains(&format!("href=\"{file}?line=5#L5\"")) && html.contains("href=\"#L8\""), "{html}");
    // Prose has no definitions, but parts with names.
    let (_, html) = page(&server, &format!("/p/{id}/r/{name}/-/docs/hours.md")).await;
    assert!(html.contains(&entry("", 1, "Opening hours", "section")), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_whose_definition_is_not_known_is_not_said_to_have_several() {
    let server = TestServer::start(|_| {}).await;
    let id = project("pages-unresolved");
    let class = |name: &str| format!("class {name}:\n    def weigh(self):\n        return 1\n");
    let repository = Repository::new(&[
        ("src/till.py", &class("Till")),
        ("src/bag.py", &class("Bag")),
        ("src/shop.py", "def total(thing):\n    return thing.weigh()\n"),
    ]);
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let name = repository_name(&server.app, &id).await;
    let (_, panel) = page(&server, &format!("/p/{id}/r/{name}/-/src/shop.py?at=2:18")).await;
    assert!(panel.contains("is meant here is not known. With this name there are:"), "{panel}");
    assert!(panel.contains("class=\"beside named\""), "{panel}");
    let (_, symbol) = page(&server, &format!("/symbol?project={id}&symbol=weigh")).await;
    assert!(symbol.contains("The name has 2 definitions:"), "{symbol}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_box_of_the_head_stays_in_the_repository() {
    let server = TestServer::start(|_| {}).await;
    let id = project("pages-box");
    let _repository = indexed(&server, &id).await;
    let name = repository_name(&server.app, &id).await;
    let root = format!("/p/{id}/r/{name}");
    for path in ["/tree", "/tree?path=src", "/find?q=shop", "/-/src/cash.py"] {
        let (_, html) = page(&server, &format!("{root}{path}")).await;
        assert_eq!(hidden(&html, "repo"), name, "{path}");
        assert!(html.contains(&format!("placeholder=\"Search in {name}\"")), "{path}: {html}");
    }
    let (_, html) = page(&server, &format!("/repositories?project={id}")).await;
    assert!(!html.contains("name=\"repo\"") && html.contains("placeholder=\"Search code\""), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_page_a_browser_gets_one_that_says_so_and_a_program_json() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (_, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let signed_in = sign_in(&server, &key, "/").await;
    let cookie =
        signed_in.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let ask = async |method: Method, path: &str, headers: &[(header::HeaderName, &str)]| {
        let request = browser().request(method, server.url_of(path));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
        let response = request.send().await.unwrap();
        let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let policy = response.headers().contains_key(header::CONTENT_SECURITY_POLICY);
        (response.status(), kind, policy, response.text().await.unwrap())
    };
    let html = (header::ACCEPT, "text/html,*/*;q=0.8");
    let bearer = format!("Bearer {key}");
    let by_key = (header::AUTHORIZATION, bearer.as_str());
    let by_session = (header::COOKIE, cookie.as_str());
    for known in [by_key.clone(), by_session] {
        let (status, kind, policy, text) = ask(Method::GET, "/nowhere", &[html.clone(), known]).await;
        assert!(status == StatusCode::NOT_FOUND && kind.starts_with("text/html") && policy, "{kind}: {text}");
        assert!(text.contains("There is no such page") && text.contains("href=\"/repositories\""), "{text}");
        check_markup("/nowhere", &text);
    }
    let put = ask(Method::PUT, "/repositories", &[html.clone(), by_key.clone()]).await;
    assert!(put.0 == StatusCode::METHOD_NOT_ALLOWED && put.1.starts_with("text/html") && put.2, "{put:?}");
    // Programs, methods that browsers do not use for reading, and unauthenticated callers.
    let json = (header::ACCEPT, "application/json");
    for (method, path, headers, expected) in [
        (Method::GET, "/nowhere", &[json.clone(), by_key.clone()][..], StatusCode::NOT_FOUND),
        (Method::POST, "/nowhere", &[html.clone(), by_key.clone()], StatusCode::NOT_FOUND),
        (Method::PUT, "/repositories", &[json, by_key.clone()], StatusCode::METHOD_NOT_ALLOWED),
        (Method::PUT, "/search", &[html.clone(), by_key], StatusCode::METHOD_NOT_ALLOWED),
        (Method::GET, "/nowhere", std::slice::from_ref(&html), StatusCode::UNAUTHORIZED),
        (Method::GET, "/.well-known/nowhere", std::slice::from_ref(&html), StatusCode::NOT_FOUND),
    ] {
        let (status, kind, _, text) = ask(method, path, headers).await;
        assert!(status == expected && kind == "application/json", "{path}: {status} {kind} {text}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_from_a_repository_becomes_markup() {
    let server = TestServer::start(|_| {}).await;
    let id = project("pages-hostile");
    let _repository = indexed(&server, &id).await;
    let name = repository_name(&server.app, &id).await;
    let found = page(&server, &format!("/?project={id}&q=alert")).await.1;
    let file = page(&server, &format!("/p/{id}/r/{name}/-/src/evil.py")).await.1;
    let folder = page(&server, &format!("/p/{id}/r/{name}/tree?path=docs")).await.1;
    let query =
        page(&server, &format!("/?project={id}&q=%3C/title%3E%3Cscript%3Ealert(3)%3C/script%3E%22")).await.1;
    for (what, html) in [("search", &found), ("file", &file), ("folder", &folder), ("query", &query)] {
        check_markup(what, html);
        let scripts = elements(html).iter().filter(|(element, _)| element == "script").count();
        assert_eq!(scripts, 1, "{what}: {html}");
    }
    assert!(file.contains("&lt;script&gt;") && found.contains("<mark>alert</mark>"), "{file}");
    // The link of a file with an odd name leads to that file.
    let link = elements(&folder)
        .into_iter()
        .flat_map(|(_, attributes)| attributes)
        .find(|(name, value)| name == "href" && value.ends_with(".md"))
        .unwrap();
    let (status, html) = page(&server, &link.1).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains("The shop opens at nine."), "{html}");
    server.stop().await;
}

pub(super) async fn sign_in(server: &TestServer, key: &str, next: &str) -> Response {
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    let form = format!("key={}&next={}", encoded(key), encoded(next));
    let request = browser().post(server.url_of("/sign-in"));
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(form).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_signs_in_with_a_key_and_sees_only_its_projects() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (ours, theirs) = (project("pages-ours"), project("pages-theirs"));
    let (_one, _other) = (indexed(&server, &ours).await, indexed(&server, &theirs).await);
    let (name, hidden) =
        (repository_name(&server.app, &ours).await, repository_name(&server.app, &theirs).await);
    let (id, key) = issue_key(&server.app, &[&ours], &[Scope::Search]).await;

    // Without a key, a page leads to the form, and the form back to the page.
    let asked = format!("/p/{ours}/r/{name}/-/src/cash.py?from=1");
    let sent_away = browser().get(server.url_of(&asked)).send().await.unwrap();
    assert_eq!(sent_away.status(), StatusCode::SEE_OTHER);
    let form = sent_away.headers()[header::LOCATION].to_str().unwrap().to_owned();
    let (status, html) = page(&server, &form).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains(&format!("value=\"{asked}\"")), "{html}");
    for wrong in ["", "poc_wrong", "x"] {
        assert!(sign_in(&server, wrong, "/").await.status().is_client_error(), "{wrong}");
    }
    let elsewhere = sign_in(&server, &key, "//evil.example/").await;
    assert_eq!(elsewhere.headers()[header::LOCATION], "/");
    let signed_in = sign_in(&server, &key, &asked).await;
    assert_eq!(signed_in.headers()[header::LOCATION], asked.as_str());
    let cookie = signed_in.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();

    let get = async |path: &str| {
        let response =
            browser().get(server.url_of(path)).header(header::COOKIE, &cookie).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    let (status, html) = get(&asked).await;
    assert_eq!(status, StatusCode::OK);
    assert!(html.contains("drawer") && html.contains("Sign out"), "{html}");
    // Other projects do not exist: each page answers as for an absent one.
    let absent = project("absent");
    for path in [
        "/?project={}&q=coins".to_owned(),
        "/?project={}".to_owned(),
        format!("/p/{{}}/r/{hidden}/-/src/cash.py"),
        format!("/p/{{}}/r/{hidden}/tree"),
        format!("/p/{{}}/r/{hidden}/find?q=cash"),
        "/symbol?project={}&symbol=drawer".to_owned(),
        "/repositories?project={}".to_owned(),
    ] {
        let (of_theirs, theirs_html) = get(&path.replace("{}", &theirs)).await;
        let (of_absent, absent_html) = get(&path.replace("{}", &absent)).await;
        assert_eq!(of_theirs, of_absent, "{path}");
        assert_eq!(theirs_html.replace(&theirs, "ID"), absent_html.replace(&absent, "ID"), "{path}");
        assert!(!theirs_html.contains("coins)"), "{theirs_html}");
    }
    // The cookie is for pages that read; the API does not know it.
    let arguments = json!({ "query": "coins", "project_id": ours });
    let call = http().post(server.url_of("/search")).header(header::COOKIE, &cookie).json(&arguments);
    assert_eq!(send_json(call).await.0, StatusCode::UNAUTHORIZED);

    // Signing out ends the session, and so does revoking the key.
    let second = sign_in(&server, &key, "/").await;
    let second = second.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let out =
        browser().post(server.url_of("/sign-out")).header(header::COOKIE, &second).send().await.unwrap();
    assert_eq!(out.status(), StatusCode::SEE_OTHER);
    let after = browser().get(server.url_of("/")).header(header::COOKIE, &second).send().await.unwrap();
    assert_eq!(after.status(), StatusCode::SEE_OTHER);
    let store = server.app.store().await.unwrap();
    tenancy::revoke_key(store, &id, server.app.clock.now().as_millisecond()).await.unwrap();
    for _ in 0..100 {
        if get(&asked).await.0 == StatusCode::SEE_OTHER {
            server.stop().await;
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the session outlives its key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_progress_is_shown_and_the_page_reloads() {
    let embedder = BlockedEmbedder::closed();
    let app = app_without_embedder(|config| config.server.port = 0).with_embedder(embedder.clone());
    let server = TestServer::over(Arc::new(app), modules().tools()).await;
    let (id, repository) = (project("pages-run"), repository());
    let arguments = json!({ "repoPath": repository.root(), "project_id": id, "wait": false });
    result(&server.app, "build_index", arguments).await;
    let path = format!("/repositories?project={id}");
    let mut html = String::new();
    for _ in 0..200 {
        html = page(&server, &path).await.1;
        if html.contains("<progress") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(html.contains("In progress") && html.contains("http-equiv=\"refresh\""), "{html}");
    // The page that reloads is this one, even if another address was the answer to a form.
    for part in [format!("data-live=\"{path}\""), format!("content=\"3; url={path}\"")] {
        assert!(html.contains(&part), "{part}: {html}");
    }
    embedder.set_open(true);
    for _ in 0..200 {
        html = page(&server, &path).await.1;
        if html.contains("Last runs") && !html.contains("In progress") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!html.contains("http-equiv=\"refresh\"") && html.contains("succeeded"), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_kept_by_browsers_and_change_their_address_with_their_content() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let html = page(&server, "/sign-in").await.1;
    let assets: Vec<String> = elements(&html)
        .into_iter()
        .flat_map(|(_, attributes)| attributes)
        .filter(|(_, value)| value.starts_with("/assets/"))
        .map(|(_, value)| value)
        .collect();
    assert_eq!(assets.len(), 3, "{html}");
    for asset in assets {
        let response = browser().get(server.url_of(&asset)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{asset}");
        assert!(response.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        let stale = asset.replacen('-', "-0", 1);
        assert_eq!(page(&server, &stale).await.0, StatusCode::NOT_FOUND, "{stale}");
    }
    server.stop().await;
}
