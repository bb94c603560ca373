//! Every page and state, light and dark, against the rules of axe-core for WCAG 2.2, levels A and AA.

use serde_json::json;

use super::{Page, Shop};
use crate::harness::{commit_all, result};
use crate::instructions::{entry, import};
use crate::triage::ingest;
use crate::valid_arguments::ABSENT_RUN;

/// Files that [`furnished`] shows beside those of the shop.
const FILES: &[(&str, &str)] = &[("src/empty.py", ""), ("docs/a & <b>.md", "# A & B\n\nText.\n")];

/// A name for messages, and an address.
type Row = (&'static str, String);

/// A shop with something for each page to show, and every page in every state.
pub(super) async fn furnished() -> (Shop, Vec<Row>) {
    let shop = Shop::open(FILES, |_| {}).await;
    let (findings, rules) = (pages_of_findings(&shop).await, pages_of_instructions(&shop).await);
    let pages = [pages(&shop), pages_of_authors(&shop).await, findings, rules].concat();
    (shop, pages)
}

/// The pages that need nothing but the shop. A new page gets its rows here, or in a function of its own like those below.
fn pages(shop: &Shop) -> Vec<Row> {
    vec![
        ("search: beginning", shop.at("/", "")),
        ("search: hits", shop.search("coins")),
        ("search: hits and their scores", shop.at("/", "q=coins&explain=1")),
        ("search: nothing", shop.search("qwrtzpsdfg")),
        ("search: matching lines", shop.at("/", "q=coins|bell&mode=regex")),
        ("search: error", shop.at("/", "q=(&mode=regex")),
        ("search: unknown project", "/?project=absent&q=x".to_owned()),
        ("search: unknown repository", shop.at("/", "q=x&repo=absent")),
        ("no such page", "/nowhere".to_owned()),
        ("file", shop.file("src/cash.py")),
        ("file: prose", shop.file("docs/hours.md")),
        ("file: part", shop.file("src/cash.py?from=2")),
        ("file: empty", shop.file("src/empty.py")),
        ("file: a name", shop.file("src/cash.py?at=8:5")),
        ("file: nothing at the place", shop.file("src/cash.py?at=3:1")),
        ("file: missing", shop.file("none.py")),
        ("folder", shop.below("tree")),
        ("folder: inner", shop.below("tree?path=src")),
        ("folder: missing", shop.below("tree?path=none")),
        ("finder", shop.below("find")),
        ("finder: hits", shop.below("find?q=src")),
        ("symbol: uses", shop.at("/symbol", "symbol=drawer")),
        ("symbol: callers", shop.at("/symbol", "symbol=drawer&relation=callers")),
        ("symbol: unknown", shop.at("/symbol", "symbol=none")),
        ("repositories", shop.at("/repositories", "")),
        ("repositories: none", "/repositories?project=absent".to_owned()),
        ("runs: none yet", shop.at("/runs", "")),
        ("runs: none pass", shop.at("/runs", "state=DONE")),
        ("runs: error", shop.at("/runs", "state=none")),
        ("run: missing", shop.at(&format!("/runs/{ABSENT_RUN}"), "")),
        ("administration", shop.at("/administration", "")),
        ("administration: keys", shop.at("/administration/keys", "")),
        ("administration: audit", shop.at("/administration/audit", "")),
        ("administration: audit, filtered", shop.at("/administration/audit", "tool=search&outcome=failed")),
        ("sign-in", "/sign-in".to_owned()),
        ("sign-in: error", "/sign-in?next=/&next=/".to_owned()),
    ]
}

/// The pages that say who wrote the lines of a file, which it commits but for one line.
async fn pages_of_authors(shop: &Shop) -> Vec<Row> {
    commit_all(shop.repository.path());
    let path = "src/cash.py";
    let text = std::fs::read_to_string(shop.repository.path().join(path)).unwrap();
    shop.repository.write(path, &format!("{text}# Not committed.\n"));
    let arguments = json!({ "repoPath": shop.repository.root(), "project_id": shop.project });
    result(&shop.server.app, "build_index", arguments).await;
    vec![("file: authors", shop.file("src/cash.py?authors=1"))]
}

/// The pages of findings. Ingests two findings and decides on one of them.
async fn pages_of_findings(shop: &Shop) -> Vec<Row> {
    let report = r#"[
        { "stableKey": "a", "vulnId": "CVE-2030-0001", "title": "The drawer stays open", "severity": "critical", "service": "till",
          "description": "It opens.", "package": { "name": "drawer", "fixedVersion": "2.0" }, "exposure": { "internetExposed": true },
          "references": ["https://example.com/advisory"], "locations": [{ "path": "src/cash.py", "startLine": 8 }] },
        { "stableKey": "b", "title": "The bell is quiet", "severity": "low" }
    ]"#;
    let answer = ingest(&shop.server.app, &shop.project, "generic", report, json!({})).await;
    let id = |at: usize| answer["recordIds"][at].as_str().unwrap().to_owned();
    let decision = json!({
        "finding": id(0), "status": "defer", "expires": "2999-12-31", "reviewer": "ada", "justification": "After the sale.",
        "codes": ["later"], "evidence": ["https://example.com/review"], "project_id": shop.project,
    });
    result(&shop.server.app, "triage_decision", decision).await;
    vec![
        ("findings", shop.at("/triage", "")),
        ("findings: one status", shop.at("/triage", "status=open&severity=low")),
        ("findings: none pass", shop.at("/triage", "q=nothing")),
        ("findings: none yet", "/triage?project=absent".to_owned()),
        ("findings: error", shop.at("/triage", "status=none")),
        ("finding: decided", shop.at("/triage/finding", &format!("id={}", id(0)))),
        ("finding: open", shop.at("/triage/finding", &format!("id={}", id(1)))),
        ("finding: missing", shop.at("/triage/finding", &format!("id={}", "0".repeat(40)))),
    ]
}

/// The pages of the instruction catalog, into which it imports two entries.
async fn pages_of_instructions(shop: &Shop) -> Vec<Row> {
    let (app, project) = (&shop.server.app, shop.project.as_str());
    let gates = json!({ "gates": [
        { "id": "critical", "severity": "error",
          "all": [{ "type": "count", "where": { "requirement": "critical" }, "op": ">=", "value": 1 }] },
        { "id": "few", "severity": "warn", "description": "Few rules", "type": "count", "op": "<", "value": 1000 }
    ] });
    let mut drawer =
        entry("drawer", "Count the coins in `src/gone.py`, again and again, before the drawer is closed.");
    drawer["rationale"] = "Coins get lost.".into();
    let twin =
        entry("twin", "Count the coins in `src/gone.py`, again and again, before the drawer is closed.");
    import(app, project, &[drawer, twin], json!({ "gates": gates })).await;
    result(app, "usage_track", json!({ "id": "drawer", "project_id": project })).await;
    vec![
        ("instructions", shop.at("/catalog", "")),
        ("instructions: a category", shop.at("/catalog", "category=test")),
        ("instructions: containing a text", shop.at("/catalog", "q=coins&by=text")),
        ("instructions: nothing", shop.at("/catalog", "q=nothing&by=text")),
        ("instructions: none yet", "/catalog?project=absent".to_owned()),
        ("instructions: error", shop.at("/catalog", "q=a&category=b")),
        ("instruction", shop.at("/catalog/entries/drawer", "")),
        ("instruction: missing", shop.at("/catalog/entries/none", "")),
        ("instruction: question", shop.at("/catalog/entries/drawer/remove", "")),
        ("changes", shop.at("/catalog/changes", "")),
        ("changes: since a revision", shop.at("/catalog/changes", "since=0")),
        ("changes: error", shop.at("/catalog/changes", "since=x")),
        ("usage", shop.at("/catalog/usage", "")),
        ("gates", shop.at("/catalog/gates", "")),
        ("checks", shop.at("/catalog/checks", "stale=1&duplicates=1")),
        ("review", shop.at("/catalog/review", "")),
        ("review: an entry", shop.at("/catalog/review", "entry=drawer")),
    ]
}

async fn assert_accessible(colour_scheme: &str) {
    let (shop, pages) = furnished().await;
    let page = Page::open(&shop.server.url, json!({ "colorScheme": colour_scheme })).await;
    let mut broken = Vec::new();
    for (name, path) in pages {
        page.go(&path).await;
        // Focus shows what else is hidden, such as the link to the content.
        page.press(&["Tab"]).await;
        broken.extend(page.violations().await.iter().map(|rule| format!("{name} ({path}): {rule}")));
    }
    assert!(broken.is_empty(), "{colour_scheme}:\n{}", broken.join("\n"));
    page.close_despite("the server responded with a status of 4").await;
    shop.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_breaks_a_rule_on_a_light_screen() {
    assert_accessible("light").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_breaks_a_rule_on_a_dark_screen() {
    assert_accessible("dark").await;
}
