//! The pages of findings: the board, a finding, and decisions about it. What scanners write stays text.

use std::sync::Arc;

use contract::clock::FixedClock;
use contract::config::Required;
use html5gum::{Token, Tokenizer};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tenancy::Scope;

use super::TestServer;
use super::access::issue_key;
use super::form_page::{ONCE, TOKEN, Visitor};
use super::pages::{check_markup, elements, hidden};
use crate::harness::{Repository, app_at, modules, project, result};
use crate::triage::ingest;

/// A text that becomes markup or script if a page does not escape it.
const HOSTILE: &str = "</title></textarea></pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

fn findings(count: usize) -> Vec<Value> {
    let one = |at: usize| json!({ "stableKey": format!("k{at}"), "title": format!("Problem {at}"), "severity": "low", "service": "bulk" });
    (0..count).map(one).collect()
}

async fn ingested(server: &TestServer, project: &str, items: &[Value]) -> Vec<String> {
    let answer = ingest(&server.app, project, "generic", &json!(items).to_string(), json!({})).await;
    answer["recordIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

async fn decide(server: &TestServer, project: &str, finding: &str, status: &str, extra: Value) {
    let mut arguments = json!({ "finding": finding, "status": status, "project_id": project });
    arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    result(&server.app, "triage_decision", arguments).await;
}

/// The text of a page without markup, in one line.
fn text(html: &str) -> String {
    let mut all = String::new();
    for token in Tokenizer::new(html) {
        match token {
            Ok(Token::String(text)) => all.push_str(std::str::from_utf8(&text).unwrap()),
            Ok(_) => all.push(' '),
        }
    }
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_groups_counts_and_filters() {
    let clock = Arc::new(FixedClock::at_millis(1_900_000_000_000));
    let server = TestServer::over(app_at(clock.clone()), modules().tools()).await;
    let (browser, id) = (Visitor::without_key(&server), project("board"));
    let board = |query: &str| format!("/triage?project={id}{query}");
    let empty = browser.page(&board("")).await;
    let command = format!("pairofcleats triage ingest dependabot alerts.json --project {id}");
    assert!(empty.contains("There are no findings yet") && empty.contains(&command), "{empty}");

    let items = [
        json!({ "stableKey": "a", "vulnId": "CVE-2030-0001", "title": "Padding", "severity": "High", "service": "Shop", "env": "prod",
            "package": { "name": "LeftPad", "installedVersion": "1.2.0" } }),
        json!({ "stableKey": "b", "vulnId": "CVE-2030-0002", "title": "Overflow", "severity": "critical", "service": "shop" }),
        json!({ "stableKey": "c", "title": "Odd", "severity": "made up", "service": "mail" }),
        json!({ "stableKey": "d", "title": "Silence", "service": "mail" }),
    ];
    let ids = ingested(&server, &id, &items).await;
    clock.advance_millis(3 * 86_400_000);
    decide(&server, &id, &ids[3], "defer", json!({ "expires": "2030-04-01" })).await;
    decide(&server, &id, &ids[2], "fix", json!({})).await;

    let all = text(&browser.page(&board("")).await);
    for part in [
        "All 4 Open 2 To be fixed 1 Deferred 1 Accepted 0 Not affected 0 False positive 0",
        "critical 1 high 1 unknown 1 other 1",
        "Open 2 Overflow critical CVE-2030-0002 shop · 3 days old Padding high CVE-2030-0001 · LeftPad 1.2.0",
        "Shop / prod",
        "To be fixed 1 Odd made up",
        "Deferred 1 Silence unknown mail · 3 days old · expires in 12 days",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    // A filter of one kind changes the counts of the others and not its own.
    for (query, shown, counts) in [
        ("&status=open", &["Overflow", "Padding"][..], "All 4 Open 2 To be fixed 1"),
        ("&severity=high", &["Padding"], "All 1 Open 1 To be fixed 0"),
        ("&severity=other", &["Odd"], "All 1 Open 0 To be fixed 1"),
        ("&service=SHOP", &["Overflow", "Padding"], "All 2 Open 2"),
        ("&q=leftpad", &["Padding"], "All 1 Open 1"),
        ("&q=cve-2030-0002", &["Overflow"], "critical 1"),
        ("&q=silen", &["Silence"], "Deferred 1"),
        ("&source=generic", &["Overflow", "Padding", "Odd", "Silence"], "All 4"),
        ("&source=sarif", &[], "No finding passes these filters. Show all findings"),
        ("&status=fix&severity=high", &[], "All 1 Open 1 To be fixed 0"),
        ("&status=&severity=&q=&service=&source=", &["Overflow", "Padding", "Odd", "Silence"], "All 4"),
    ] {
        let html = text(&browser.page(&board(query)).await);
        for title in ["Overflow", "Padding", "Odd", "Silence"] {
            assert_eq!(html.contains(title), shown.contains(&title), "{query}: {title}: {html}");
        }
        assert!(html.contains(counts), "{query}: {counts}: {html}");
    }
    for query in ["&status=none", "&severity=none", "&offset=x", "&nonsense=1", "&q=a&q=b"] {
        assert_eq!(browser.get(&board(query)).await.0, StatusCode::BAD_REQUEST, "{query}");
    }
    // The decision holds no longer.
    clock.advance_millis(30 * 86_400_000);
    let later = text(&browser.page(&board("")).await);
    assert!(later.contains("Open 3 To be fixed 1 Deferred 0"), "{later}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_board_has_pages() {
    let server = TestServer::start(|_| {}).await;
    let (browser, id) = (Visitor::without_key(&server), project("board-pages"));
    ingested(&server, &id, &findings(53)).await;
    let links = async |query: &str| {
        let html = browser.page(&format!("/triage?project={id}{query}")).await;
        let links = elements(&html)
            .into_iter()
            .flat_map(|(_, attributes)| attributes)
            .filter(|(name, _)| name == "href");
        links.map(|(_, address)| address).collect::<Vec<_>>()
    };
    let count = |links: &[String]| links.iter().filter(|link| link.starts_with("/triage/finding?")).count();
    let (all, first, last) =
        (links("").await, links("&status=open").await, links("&status=open&offset=50").await);
    assert_eq!([count(&all), count(&first), count(&last)], [10, 50, 3]);
    let next = format!("/triage?project={id}&status=open&offset=50");
    assert!(first.contains(&next) && !last.contains(&next) && !all.contains(&next), "{first:?}");
    let both: std::collections::BTreeSet<&String> =
        first.iter().chain(&last).filter(|link| link.starts_with("/triage/finding?")).collect();
    assert_eq!(both.len(), 53, "each finding is on one page");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_has_its_facts_its_places_and_its_decisions() {
    let clock = Arc::new(FixedClock::at_millis(1_900_000_000_000));
    let server = TestServer::over(app_at(clock.clone()), modules().tools()).await;
    let (browser, id) = (Visitor::without_key(&server), project("finding"));
    let repository =
        Repository::new(&[("zoo/web/pad.js", "import leftpad from 'leftpad';\nleftpad('a', 9);\n")]);
    let root = format!("{}/zoo", repository.root());
    result(&server.app, "build_index", json!({ "repoPath": root, "project_id": id })).await;
    let item = json!({
        "stableKey": "a", "vulnId": "CVE-2030-0001", "title": "Padding without end", "severity": "high",
        "service": "shop", "description": "First line.\nSecond line.", "references": ["https://example.com/advisory"],
        "cvss": { "score": 7.5, "vector": "CVSS:3.1/AV:N" }, "package": { "name": "leftpad", "fixedVersion": "1.3.0" },
        "exposure": { "internetExposed": true, "publicEndpoint": "https://shop.example.com/pay" },
        "locations": [{ "path": "web/pad.js", "startLine": 2 }], "meta": { "ticket": "T-1" },
    });
    let finding = ingested(&server, &id, &[item]).await.remove(0);
    let path = format!("/triage/finding?project={id}&id={finding}");
    let before = text(&browser.page(&path).await);
    assert!(before.contains("There are no decisions yet.") && before.contains("high Open"), "{before}");
    decide(&server, &id, &finding, "accept", json!({ "reviewer": "ada" })).await;
    clock.advance_millis(1000);
    let extra = json!({ "expires": "2030-03-20", "justification": "Later.", "evidence": ["https://example.com/review"] });
    decide(&server, &id, &finding, "defer", extra).await;

    let html = browser.page(&path).await;
    let shown = text(&html);
    for part in [
        "high Deferred until 2030-03-21 00:00 UTC",
        "CVSS 7.5 · CVSS:3.1/AV:N",
        "Reachable from the internet yes",
        "Public endpoint https://shop.example.com/pay",
        "Fixed in 1.3.0",
        "First line. Second line.",
        "Service shop",
        "ticket T-1",
        "Deferred in force",
        "All places that name it",
        "web/pad.js",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (defer, accept) = (shown.find("Deferred in force").unwrap(), shown.rfind("Accepted").unwrap());
    assert!(defer < accept && shown[accept..].contains("ada"), "the latest comes first: {shown}");
    let links: Vec<String> = elements(&html)
        .into_iter()
        .flat_map(|(_, attributes)| attributes)
        .filter(|(name, _)| name == "href")
        .map(|(_, address)| address)
        .collect();
    for link in ["https://example.com/advisory", "https://example.com/review"] {
        assert!(links.iter().any(|known| known == link), "{link}: {links:?}");
    }
    assert!(!links.iter().any(|link| link.contains("shop.example.com")), "an endpoint is no link: {links:?}");
    // The places of the scanner and of the search lead to the file, and so do the hits of a search beside records.
    let file = format!("/p/{id}/r/zoo/-/web/pad.js");
    assert!(links.contains(&format!("{file}#L2")), "{links:?}");
    assert!(links.contains(&file), "{links:?}");
    assert_eq!(browser.get(&file).await.0, StatusCode::OK);
    let hits = browser.get(&format!("/?project={id}&q=leftpad")).await.1;
    assert!(hits.contains(&format!("href=\"{file}\"")), "{hits}");
    // A decision that ended is marked, and the one before holds again.
    clock.advance_millis(30 * 86_400_000);
    let later = text(&browser.page(&path).await);
    assert!(later.contains("Deferred expired") && later.contains("Accepted in force"), "{later}");
    let decided = json!({ "mode": "records", "query": "NOT lang:rust", "meta": "recordType=decision", "project_id": id });
    let found = result(&server.app, "search", decided).await;
    let decision = found["hits"][0]["file"].as_str().unwrap().trim_start_matches("triage/records/");
    let decision = decision.trim_end_matches(".md");
    for (id, status) in [("", 400), ("x", 400), (decision, 400), (&"0".repeat(40), 404)] {
        let (answered, html) = browser.get(&path.replace(&finding, id)).await;
        assert_eq!(answered.as_u16(), status, "{id}: {html}");
        check_markup(id, &html);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_sent_by_a_form_of_this_session_only() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let id = project("decide");
    let finding = ingested(&server, &id, &findings(1)).await.remove(0);
    let (_, key) = issue_key(&server.app, &[&id], &[Scope::Search, Scope::Triage]).await;
    let (browser, other) = (Visitor::signed_in(&server, &key).await, Visitor::signed_in(&server, &key).await);
    let path = format!("/triage/finding?project={id}&id={finding}");
    let html = browser.page(&path).await;
    let (token, once) = (hidden(&html, TOKEN), hidden(&html, ONCE));
    let foreign = hidden(&other.page(&path).await, TOKEN);
    assert_eq!((hidden(&html, "id"), hidden(&html, "project")), (finding.clone(), id.clone()));
    let fields = |token: &str, changed: &[(&'static str, &str)]| {
        let mut fields = vec![
            ("project", id.clone()),
            ("id", finding.clone()),
            ("status", "not_affected".to_owned()),
            ("justification", "The form <b>bounds</b> it.\r\nSurely.".to_owned()),
            ("reviewer", "grace".to_owned()),
            ("expires", "2999-12-31".to_owned()),
            ("codes", "code_not_present, other".to_owned()),
            ("evidence", "https://example.com/1\r\nnotes.md".to_owned()),
            (ONCE, once.clone()),
        ];
        fields.extend(Some((TOKEN, token.to_owned())).filter(|_| !token.is_empty()));
        for (name, value) in changed {
            fields.iter_mut().find(|(known, _)| known == name).unwrap().1 = (*value).to_owned();
        }
        fields
    };
    let send = async |browser: &Visitor<'_>, token: &str, changed: &[(&'static str, &str)]| {
        let fields = fields(token, changed);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.send("/triage/finding", &fields).await
    };
    for wrong in ["", "x", &foreign, &"0".repeat(64)] {
        assert_eq!(send(&browser, wrong, &[]).await.status, StatusCode::FORBIDDEN, "{wrong}");
    }
    // Without a session nothing is decided: the browser is asked to sign in.
    let unknown = send(&Visitor::without_key(&server), &token, &[]).await;
    assert_eq!((unknown.status, unknown.location.starts_with("/sign-in")), (StatusCode::SEE_OTHER, true));
    assert!(text(&browser.page(&path).await).contains("There are no decisions yet."));
    // The input stays when the decision is refused.
    for changed in [("expires", "2001-01-01"), ("status", "perhaps")] {
        let refused = send(&browser, &token, &[changed]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{changed:?}");
        check_markup("refused", &refused.html);
        for part in [
            "role=\"alert\"", "INVALID_REQUEST", "&lt;b&gt;bounds&lt;/b&gt;", "value=\"grace\"", "notes.md",
            "code_not_present, other",
        ] {
            assert!(refused.html.contains(part), "{changed:?}: {part}");
        }
        assert!(refused.html.contains("There are no decisions yet."));
    }
    let stored = send(&browser, &token, &[]).await;
    assert_eq!(stored.status, StatusCode::SEE_OTHER, "{}", stored.html);
    assert_eq!(stored.location, format!("{path}#decisions"));
    let html = browser.page(&path).await;
    for part in [
        "Not affected in force",
        "grace",
        "The form <b>bounds</b> it. Surely.",
        "code_not_present",
        "notes.md",
    ] {
        assert!(text(&html).contains(part), "{part}: {html}");
    }
    assert!(text(&browser.page(&format!("/triage?project={id}")).await).contains("Not affected 1"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_again_records_no_second_decision() {
    let server = TestServer::start(|_| {}).await;
    let (browser, id) = (Visitor::without_key(&server), project("decide-once"));
    let finding = ingested(&server, &id, &findings(1)).await.remove(0);
    let path = format!("/triage/finding?project={id}&id={finding}");
    let html = browser.page(&path).await;
    let (token, once) = (hidden(&html, TOKEN), hidden(&html, ONCE));
    let send = async |reviewer: &str, expires: &str| {
        let typed = [("status", "fix"), ("reviewer", reviewer), ("expires", expires)];
        let form = [("project", id.as_str()), ("id", &finding), (TOKEN, &token), (ONCE, &once)];
        browser.send("/triage/finding", &[&typed[..], &form[..]].concat()).await
    };
    // A refused form was not recorded, so it may be sent again.
    assert_eq!(send("grace", "2001-01-01").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(send("grace", "2999-12-31").await.status, StatusCode::SEE_OTHER);
    for reviewer in ["grace", "ada"] {
        let again = send(reviewer, "2999-12-31").await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.html);
        check_markup("sent again", &again.html);
        assert!(again.html.contains("The decision was recorded already."), "{}", again.html);
    }
    let html = text(&browser.page(&path).await);
    assert_eq!(html.matches("· holds until").count(), 1, "there is one decision: {html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_of_other_projects_do_not_exist_and_the_scope_counts() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (ours, theirs, absent) = (project("ours"), project("theirs"), project("absent"));
    let own = ingested(&server, &ours, &findings(1)).await.remove(0);
    let secret = json!({ "stableKey": "secret", "title": "Their secret" });
    let foreign = ingested(&server, &theirs, &[secret]).await.remove(0);
    let (_, key) = issue_key(&server.app, &[&ours], &[Scope::Search, Scope::Triage]).await;
    let browser = Visitor::signed_in(&server, &key).await;
    let none = "0".repeat(40);
    let address = |project: &str, id: &str| format!("/triage/finding?project={project}&id={id}");
    // Their finding, in our project and in theirs, looks like one that does not exist.
    for (one, other) in [
        (address(&ours, &foreign), address(&ours, &none)),
        (address(&theirs, &foreign), address(&absent, &none)),
    ] {
        let ((of_one, one_html), (of_other, other_html)) =
            (browser.get(&one).await, browser.get(&other).await);
        assert_eq!((of_one, of_other), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND), "{one_html}");
        let plain = |html: &str| {
            html.replace(&foreign, "ID").replace(&none, "ID").replace(&theirs, "P").replace(&absent, "P")
        };
        assert_eq!(plain(&one_html), plain(&other_html));
    }
    let board = async |id: &str| browser.page(&format!("/triage?project={id}")).await.replace(id, "P");
    assert_eq!(board(&theirs).await, board(&absent).await);
    assert!(!board(&theirs).await.contains("Their secret") && board(&ours).await.contains("Problem 0"));
    // Nor can it be decided.
    let page = address(&ours, &own);
    let decided = async |project: &str, id: &str| {
        let fields = [("project", project), ("id", id), ("status", "fix")];
        browser.submit_to(&page, "/triage/finding", &fields).await.status
    };
    assert_eq!(decided(&ours, &foreign).await, StatusCode::NOT_FOUND);
    assert_eq!(decided(&theirs, &foreign).await, decided(&absent, &none).await);
    let count = json!({ "mode": "records", "query": "NOT lang:rust", "meta": "recordType=decision", "project_id": theirs });
    assert_eq!(result(&server.app, "search", count).await["hits"], json!([]));

    // A caller without the scope for triage sees neither the link nor the pages.
    let has_link = |html: &str| {
        elements(html).iter().any(|(_, attributes)| {
            attributes.iter().any(|(name, value)| name == "href" && value.starts_with("/triage"))
        })
    };
    assert!(has_link(&browser.page(&format!("/repositories?project={ours}")).await));
    let (_, key) = issue_key(&server.app, &[&ours], &[Scope::Search]).await;
    let reader = Visitor::signed_in(&server, &key).await;
    assert!(!has_link(&reader.page(&format!("/repositories?project={ours}")).await));
    assert!(!has_link(&Visitor::without_key(&server).page("/sign-in").await));
    for path in [format!("/triage?project={ours}"), address(&ours, &own)] {
        let (status, html) = reader.get(&path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(
            html.contains("needs a key with the scope <code>triage</code>") && !html.contains("Problem 0"),
            "{html}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_finding_becomes_markup() {
    let server = TestServer::start(|_| {}).await;
    let (browser, id) = (Visitor::without_key(&server), project("hostile"));
    let item = json!({
        "stableKey": "a", "vulnId": HOSTILE, "title": HOSTILE, "severity": HOSTILE, "service": HOSTILE, "env": HOSTILE,
        "description": HOSTILE, "package": { "name": HOSTILE, "installedVersion": HOSTILE, "importName": HOSTILE },
        "asset": { "assetId": HOSTILE, "tags": { HOSTILE: HOSTILE } },
        "exposure": { "publicEndpoint": HOSTILE, "compensatingControls": [HOSTILE] },
        "references": ["javascript:alert(3)", "//evil.example", format!("https://example.com/{HOSTILE}"), "https://example.com/a\"onclick=x"],
        "locations": [{ "path": format!("../{HOSTILE}"), "startLine": 1 }], "meta": { HOSTILE: HOSTILE },
    });
    let finding = ingested(&server, &id, &[item]).await.remove(0);
    let extra = json!({
        "justification": HOSTILE, "reviewer": HOSTILE, "codes": [HOSTILE],
        "evidence": ["javascript:alert(4)", HOSTILE],
    });
    decide(&server, &id, &finding, "fix", extra).await;
    let encoded = utf8_percent_encode(HOSTILE, NON_ALPHANUMERIC);
    for path in [
        format!("/triage?project={id}"),
        format!("/triage?project={id}&q={encoded}"),
        format!("/triage?project={id}&service={encoded}"),
        format!("/triage/finding?project={id}&id={finding}"),
    ] {
        let html = browser.page(&path).await;
        let scripts = elements(&html).iter().filter(|(element, _)| element == "script").count();
        assert_eq!(scripts, 1, "{path}: {html}");
        assert!(html.contains("&lt;script&gt;alert(1)"), "{path}: {html}");
        let external = elements(&html)
            .into_iter()
            .filter(|(_, attributes)| attributes.contains(&("class".to_owned(), "external".to_owned())));
        let addresses: Vec<_> = external.map(|(_, attributes)| attributes[1].1.clone()).collect();
        let expected = if path.contains("finding") {
            vec!["https://example.com/a\"onclick=x".to_owned()]
        } else {
            vec![]
        };
        assert_eq!(addresses, expected, "{path}");
    }
    // Input in the form stays text as well.
    let page = format!("/triage/finding?project={id}&id={finding}");
    let fields = [
        ("project", id.as_str()),
        ("id", &finding),
        ("status", "fix"),
        ("justification", HOSTILE),
        ("reviewer", HOSTILE),
        ("expires", HOSTILE),
        ("codes", HOSTILE),
        ("evidence", HOSTILE),
    ];
    let refused = browser.submit_to(&page, "/triage/finding", &fields).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    check_markup("refused", &refused.html);
    assert!(refused.html.contains("&lt;/textarea&gt;"), "{}", refused.html);
    server.stop().await;
}
