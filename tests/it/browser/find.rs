//! Journeys from the search box to what was looked for.

use serde_json::json;

use super::{journey, journey_with};

#[tokio::test(flavor = "multi_thread")]
async fn typing_and_enter_lead_to_hits_and_a_hit_to_its_line() {
    journey(async |page, shop| {
        page.go(&shop.at("/", "")).await;
        page.has_focus("q").await;
        page.type_text("counts the coins").await;
        page.press(&["Enter"]).await;
        page.arrives("q=counts+the+coins").await;
        assert_eq!(page.eval("document.getElementById('q').value").await, "counts the coins");
        assert_eq!(page.eval("document.title").await, "counts the coins · PairOfCleats");
        page.sees(".hit mark:has-text('coins')").await;
        page.click(".file:has-text('src/cash.py') .hit h3 a").await;
        page.arrives("/-/src/cash.py#L").await;
        page.sees(".l:target").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_alone_find_and_open_a_hit() {
    journey(async |page, shop| {
        page.go(&shop.search("drawer")).await;
        let focus = "document.activeElement.textContent";
        page.press(&["/"]).await;
        page.has_focus("q").await;
        // The key selects what the box contains, so that typing replaces it, and it is typed no second time.
        page.type_text("coins j/k").await;
        assert_eq!(page.eval("document.getElementById('q').value").await, "coins j/k");
        page.press(&["Escape", "/"]).await;
        page.type_text("coins").await;
        page.press(&["Enter"]).await;
        page.arrives("q=coins").await;
        page.press(&["j"]).await;
        let first = page.eval(focus).await;
        page.press(&["j"]).await;
        assert_ne!(page.eval(focus).await, first);
        page.press(&["k"]).await;
        assert_eq!(page.eval(focus).await, first);
        page.press(&["k", "j", "j"]).await;
        page.press(&["Enter"]).await;
        page.arrives("/-/").await;
    })
    .await;
}

/// Presses Tab until the element that has the focus fulfils a condition on `it`; each element on the way shows that it has it.
async fn tab_to(page: &super::Page, condition: &str) {
    for _ in 0..60 {
        page.press(&["Tab"]).await;
        let outline = page.eval("getComputedStyle(document.activeElement).outlineStyle").await;
        assert_ne!(outline, "none", "{}", page.eval("document.activeElement.outerHTML").await);
        if page.eval(&format!("(it => {condition})(document.activeElement)")).await == true {
            return;
        }
    }
    panic!("Tab does not lead to {condition}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tab_key_reaches_everything_and_shows_where_it_is() {
    journey(async |page, shop| {
        page.go(&shop.search("drawer")).await;
        page.press(&["Tab"]).await;
        assert_eq!(page.eval("document.activeElement.textContent").await, "Skip to the content");
        page.press(&["Enter"]).await;
        tab_to(page, "it.name === 'q'").await;
        tab_to(page, "it.name === 'mode'").await;
        page.type_text("exact").await;
        tab_to(page, "it.name === 'case'").await;
        page.press(&["Space", "Enter"]).await;
        page.arrives("mode=exact&case=1").await;
        tab_to(page, "it.matches('.file h2 a:last-of-type') && it.textContent === 'src/cash.py'").await;
        page.press(&["Enter"]).await;
        page.arrives("/-/src/cash.py").await;
        tab_to(page, "it.matches('a.fn') && it.textContent === 'drawer'").await;
        page.press(&["Enter"]).await;
        page.sees("aside h2:has-text('drawer')").await;
        tab_to(page, "it.textContent === 'Callers'").await;
        page.press(&["Enter"]).await;
        page.sees("main:has-text('open_shop')").await;
        // A long line scrolls by keys: the block is focusable.
        assert!(page.count("[tabindex='0']").await > 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_narrow_one_after_another() {
    journey(async |page, shop| {
        page.go(&shop.search("coins")).await;
        let all = page.count(".file").await;
        page.click(".facet bdi:text-is('python')").await;
        page.arrives("lang%3Apython").await;
        assert_eq!(page.eval("document.getElementById('q').value").await, "coins lang:python");
        assert!(page.count(".file").await < all);
        assert_eq!(page.count(".file h2 a[href$='.js']").await, 0);
        page.click(".facet:has-text('kind') a").await;
        page.arrives("type%3A").await;
        assert!(page.count(".file").await > 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_have_pages_and_the_back_button_returns_to_them() {
    let texts: Vec<(String, String)> = (0..45)
        .map(|at| {
            (format!("parcels/parcel_{at}.py"), format!("def parcel_{at}():\n    return 'parcel {at}'\n"))
        })
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    journey_with(&files, json!({}), async |page, shop| {
        let first_hit = "document.querySelector('.hit h3 a').href";
        page.go(&shop.search("parcel")).await;
        let first = page.eval(first_hit).await;
        page.click("a[rel=next]").await;
        page.arrives("offset=20").await;
        let second = page.eval(first_hit).await;
        assert_ne!(second, first);
        assert_eq!(page.eval("document.getElementById('q').value").await, "parcel");
        page.click(".hit h3 a").await;
        page.arrives("/-/parcels/").await;
        page.call("goBack", json!([])).await;
        page.arrives("offset=20").await;
        assert_eq!(page.eval(first_hit).await, second);
        page.click("a[rel=prev]").await;
        page.waits_until("!location.href.includes('offset')").await;
        assert_eq!(page.eval(first_hit).await, first);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_and_case_stay_chosen_and_change_what_is_found() {
    journey(async |page, shop| {
        page.go(&shop.at("/", "")).await;
        page.has_focus("q").await;
        page.type_text(r"def \w+\(coins\)").await;
        page.call("selectOption", json!(["select[name=mode]", "regex"])).await;
        page.press(&["Tab"]).await;
        page.click("button:has-text('Search')").await;
        page.arrives("mode=regex").await;
        assert!(page.text(".summary").await.starts_with("1 matching line in 1 file "));
        page.sees("mark:text-is('drawer')").await;
        assert_eq!(page.eval("document.querySelector('select[name=mode]').value").await, "regex");

        page.call("fill", json!(["#q", "COINS"])).await;
        page.call("selectOption", json!(["select[name=mode]", "exact"])).await;
        page.click("button:has-text('Search')").await;
        page.arrives("mode=exact").await;
        page.sees("mark").await;
        page.click("text=match case").await;
        page.click("button:has-text('Search')").await;
        page.arrives("case=1").await;
        assert!(page.text(".summary").await.starts_with("0 matching lines"));
        assert_eq!(page.eval("document.querySelector('[name=case]').checked").await, true);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_are_chosen_with_keys_and_never_in_the_way() {
    journey(async |page, shop| {
        page.go(&shop.at("/", "")).await;
        page.has_focus("q").await;
        page.type_text("lang:py").await;
        page.sees("#suggestions li:has-text('python')").await;
        assert_eq!(page.violations().await, [""; 0]);
        page.press(&["ArrowDown", "Enter"]).await;
        page.waits_until("document.getElementById('q').value.trim() === 'lang:python'").await;
        page.type_text(" coins").await;
        page.press(&["Enter"]).await;
        page.arrives("lang%3Apython").await;
        page.sees(".hit mark:has-text('coins')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_nothing_or_errs_keeps_the_query_and_learns_why() {
    journey(async |page, shop| {
        page.go(&shop.search("drawwer")).await;
        page.click(".note a:text-is('drawer')").await;
        page.arrives("q=drawer").await;
        page.sees(".hit").await;
        assert_eq!(page.go(&shop.at("/", "q=(&mode=regex")).await, 400);
        page.sees("[role=alert]").await;
        assert_eq!(page.eval("document.getElementById('q').value").await, "(");
        page.call("fill", json!(["#q", "coins"])).await;
        page.call("selectOption", json!(["select[name=mode]", ""])).await;
        page.press(&["Tab"]).await;
        page.click("button:has-text('Search')").await;
        page.sees(".hit").await;
        page.forgive(Some("the server responded with a status of 400")).await;
    })
    .await;
}
