//! Signing in, and what happens when the key is revoked meanwhile.

use contract::config::Required;
use serde_json::json;
use tenancy::Scope;

use super::{Page, Shop};
use crate::serving::issue_key;

async fn sign_in(page: &Page, key: &str) {
    page.sees("label:has-text('API key')").await;
    page.call("fill", json!(["#key", key])).await;
    page.press(&["Enter"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_leads_to_the_form_and_a_new_key_back_to_the_page() {
    let shop = Shop::open(&[], |config| config.access.required = Required::Always).await;
    let app = &shop.server.app;
    let (first, key) = issue_key(app, &[&shop.project], &[Scope::Search]).await;
    let page = Page::open(&shop.server.url, json!({})).await;
    page.go(&shop.file("src/cash.py?at=8:5")).await;
    page.arrives("/sign-in").await;
    sign_in(&page, "poc_wrong").await;
    page.sees("[role=alert]").await;
    sign_in(&page, &key).await;
    page.arrives("/-/src/cash.py?at=8:5").await;
    page.sees("aside h2:has-text('drawer')").await;

    let store = app.store().await.unwrap();
    tenancy::revoke_key(store, &first, app.clock.now().as_millisecond()).await.unwrap();
    // The server notices within a moment; until then the page is shown.
    for _ in 0..100 {
        page.call("reload", json!([])).await;
        if page.count("#key").await == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    page.arrives("/sign-in?next=").await;
    let (_, key) = issue_key(app, &[&shop.project], &[Scope::Search]).await;
    sign_in(&page, &key).await;
    page.arrives("/-/src/cash.py?at=8:5").await;
    page.click("text=Sign out").await;
    page.arrives("/sign-in").await;
    page.call("goBack", json!([])).await;
    // The browser does not keep content that only the key may see.
    page.arrives("/sign-in").await;
    page.close_despite("the server responded with a status of 401").await;
    shop.server.stop().await;
}
