//! Every page and state, light and dark, against the rules of axe-core for WCAG 2.2, levels A and AA.

use serde_json::json;

use super::{Page, Shop};

/// Files that [`pages`] shows beside those of the shop.
pub(super) const FILES: &[(&str, &str)] = &[("src/empty.py", ""), ("docs/a & <b>.md", "# A & B\n\nText.\n")];

/// Every page in every state, with a name for messages. A new page gets its rows here.
pub(super) fn pages(shop: &Shop) -> Vec<(&'static str, String)> {
    vec![
        ("search: beginning", shop.at("/", "")),
        ("search: hits", shop.search("coins")),
        ("search: hits and their scores", shop.at("/", "q=coins&explain=1")),
        ("search: nothing", shop.search("qwrtzpsdfg")),
        ("search: matching lines", shop.at("/", "q=coins|bell&mode=regex")),
        ("search: error", shop.at("/", "q=(&mode=regex")),
        ("search: unindexed project", "/?project=absent&q=x".to_owned()),
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
        ("sign-in", "/sign-in".to_owned()),
        ("sign-in: error", "/sign-in?next=/&next=/".to_owned()),
    ]
}

async fn assert_accessible(colour_scheme: &str) {
    let shop = Shop::open(FILES, |_| {}).await;
    let page = Page::open(&shop.server.url, json!({ "colorScheme": colour_scheme })).await;
    let mut broken = Vec::new();
    for (name, path) in pages(&shop) {
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
