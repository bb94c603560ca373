//! Journeys through files, names and folders.

use serde_json::json;

use super::{journey, journey_with};

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_a_name_shows_where_it_is_defined_and_used() {
    journey(async |page, shop| {
        page.go(&shop.file("src/shop.py")).await;
        page.sees("aside:has-text('Outline')").await;
        page.click("#L5 a.fn:text-is('drawer')").await;
        page.arrives("?at=5:12").await;
        page.sees("aside h2:has-text('drawer')").await;
        page.sees("aside pre:has-text('def drawer(coins)')").await;
        assert!(page.text("aside .files").await.contains("src/cash.py"));
        page.click("aside a:text-is('Callers')").await;
        page.arrives("relation=callers").await;
        page.sees(".use:has-text('open_shop')").await;
        page.click(".file:has-text('src/shop.py') .use a.n").await;
        page.arrives("/-/src/shop.py#L5").await;
        page.sees("#L5:target").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_finder_opens_with_a_key_and_a_folder_leads_up_and_down() {
    journey(async |page, shop| {
        page.go(&shop.file("src/shop.py")).await;
        page.press(&["t"]).await;
        page.arrives("/find").await;
        page.has_focus("q").await;
        page.type_text("bell").await;
        page.press(&["Enter"]).await;
        page.arrives("find?q=bell").await;
        page.click("text=web/bell.js").await;
        page.arrives("/-/web/bell.js").await;
        page.click("h1 a:has-text('web')").await;
        page.arrives("tree?path=web").await;
        page.click("h1 a").await;
        page.click("a.folder:has-text('docs')").await;
        page.click("text=hours.md").await;
        page.sees("pre:has-text('The shop opens at nine')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_lines_is_chosen_with_shift_and_kept_in_the_address() {
    journey(async |page, shop| {
        let chosen = "[...document.querySelectorAll('.chosen')].map(line => line.id).join(' ')";
        page.go(&shop.file("src/cash.py")).await;
        page.click("#L8 .n").await;
        page.waits_until("location.hash === '#L8'").await;
        page.sees("#L8:target").await;
        page.call("click", json!(["#L10 .n", { "modifiers": ["Shift"] }])).await;
        page.waits_until("location.hash === '#L8-L10'").await;
        assert_eq!(page.eval(chosen).await, "L8 L9 L10");
        page.call("reload", json!([])).await;
        assert_eq!(page.eval(chosen).await, "L8 L9 L10");
        // From the end to the beginning as well.
        page.click("#L5 .n").await;
        page.call("click", json!(["#L4 .n", { "modifiers": ["Shift"] }])).await;
        assert_eq!(page.eval(chosen).await, "L4 L5");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_copies_the_path() {
    let may_copy = json!({ "permissions": ["clipboard-read", "clipboard-write"] });
    journey_with(&[], may_copy, async |page, shop| {
        for address in [shop.file("docs/hours.md"), shop.search("opening+hours")] {
            page.go(&address).await;
            page.click("button:has-text('Copy path')").await;
            page.sees("button:has-text('Copied')").await;
            assert_eq!(page.call("readClipboard", json!([])).await, "docs/hours.md");
            page.eval("navigator.clipboard.writeText('')").await;
        }
    })
    .await;
}
