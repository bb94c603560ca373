//! Texts that a page could stumble over: long, wide, written from right to left, with control characters, hostile.

use serde_json::json;

use super::{Page, Shop, journey_with};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_10_000_lines_is_read_in_parts_and_every_line_is_reached() {
    let text: String = (1..=10_000)
        .map(|line| match line {
            9000 => "def far_away():  # nothing before or after this line has its name\n".to_owned(),
            _ => format!("value_{line} = {line}  # padding padding padding\n"),
        })
        .collect();
    journey_with(&[("src/long.py", &text)], json!({}), async |page, shop| {
        page.go(&shop.file("src/long.py")).await;
        assert!(page.text("main").await.contains("10000 lines"));
        page.click("a[rel=next]").await;
        page.sees("#L10000").await;
        page.click("#L10000 .n").await;
        page.sees("#L10000:target").await;
        page.click("a[rel=prev]").await;
        page.sees("#L5000").await;
        // A hit leads to its line in any part, and so does a name.
        page.go(&shop.at("/", "q=far_away&mode=exact")).await;
        page.click(".code .n").await;
        page.arrives("/-/src/long.py").await;
        page.sees("#L9000:target").await;
        page.click("#L9000 a.fn").await;
        page.sees("aside h2:has-text('far_away')").await;
        page.sees("#L9000:target").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_a_megabyte_scrolls_in_its_block_and_is_said_to_be_cut() {
    // A file with a mean line of more than 500 bytes would count as minified and not be indexed.
    let short = "count += 1;\n".repeat(1_250);
    let text = format!("{short}const table = \"{}\";\n{short}", "0123456789".repeat(100_000));
    journey_with(&[("web/table.js", &text)], json!({}), async |page, shop| {
        page.go(&shop.at("/", "q=const+table&mode=exact")).await;
        let screen = page.eval("document.documentElement.clientWidth").await;
        let width = "document.documentElement.scrollWidth";
        assert_eq!(page.eval(width).await, screen);
        page.click(".code .n").await;
        page.arrives("web/table.js?line=1251#L1251").await;
        page.sees("text=Only the beginning of the line is shown").await;
        assert_eq!(page.eval("document.querySelector('pre').scrollWidth > 100000").await, true);
        assert_eq!(page.eval(width).await, screen);
        page.click("a[rel=next]").await;
        page.sees("#L2501").await;
        page.click("a[rel=prev]").await;
        page.sees("#L1250").await;
    })
    .await;
}

/// Hebrew and Arabic, an override that turns a line around, and characters that a terminal would obey.
const UNUSUAL: &str = "# \u{5e9}\u{5dc}\u{5d5}\u{5dd} (1) \u{645}\u{631}\u{62d}\u{628}\u{627}\ndef \u{5e1}\u{5db}\u{5d5}\u{5dd}(a):\n    \
                       return a  # \u{202e}desrever\u{2066} \u{1b}[31mred\u{7}\u{8}\u{1b}[0m\n\u{feff}last = 1\n";

#[tokio::test(flavor = "multi_thread")]
async fn foreign_scripts_and_control_characters_stay_in_their_place() {
    let names = ["src/\u{5e9}\u{5dc}\u{5d5}\u{5dd}.py", "src/\u{202e}yp.ti.py", "src/a\u{7}b c.py"];
    let files = names.map(|name| (name, UNUSUAL));
    // Characters that could turn a line around, or are invisible, are shown by their numbers.
    let shown_text = ["\u{202e}", "\u{2066}", "\u{feff}"]
        .iter()
        .fold(UNUSUAL.to_owned(), |text, hidden| text.replace(hidden, &hidden.escape_unicode().to_string()));
    journey_with(&files, json!({}), async |page, shop| {
        for (part, name) in ["%D7%A9", "yp", "b%20c"].into_iter().zip(names) {
            page.go(&shop.below(&format!("find?q={part}"))).await;
            page.click(".tree a").await;
            page.sees("#L4").await;
            let line_texts = "[...document.querySelectorAll('.l')].map(line => line.textContent)";
            let shown =
                page.eval(&format!("{line_texts}.map(text => text.replace(/^\\d+/, '')).join('')")).await;
            assert_eq!(shown, shown_text, "{name:?}");
            // The numbers are on the left of every line, one below the other.
            let numbers = "[...document.querySelectorAll('.n')].map(it => it.getBoundingClientRect().left)";
            assert_eq!(page.eval(&format!("new Set({numbers}).size")).await, 1);
            page.click("#L2 a.fn").await;
            page.sees("aside h2:has-text('\u{5e1}\u{5db}\u{5d5}\u{5dd}')").await;
        }
        page.go(&shop.at("/", "q=desrever&mode=exact")).await;
        assert_eq!(page.count(".file").await, 3);
        page.sees("mark:has-text('desrever')").await;
    })
    .await;
}

fn encoded(path: &str) -> String {
    percent_encoding::utf8_percent_encode(path, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2F", "/")
        .replace("%2E", ".")
}

/// Becomes markup or a script wherever it is not escaped, and then sets `stolen`.
const HOSTILE: &str =
    "</title></pre></textarea><script>stolen=1</script>\"'><img src=x onerror=stolen=2><svg onload=stolen=3>";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_repository_or_an_address_ever_runs() {
    let text = format!("# {HOSTILE}\ndef evil():\n    return '''{HOSTILE}'''\n");
    let name = "src/<img src=x onerror=stolen=4>\" onfocus=stolen=5 x=\".py";
    let files = [("src/evil.py", text.as_str()), (name, text.as_str())];
    let shop = Shop::open(&files, |_| {}).await;
    let page = Page::open(&shop.server.url, json!({})).await;
    let hostile = encoded(HOSTILE);
    let pages = [
        shop.search("evil"),
        shop.search(&hostile),
        shop.at("/", "q=stolen&mode=regex"),
        shop.at("/", &format!("q=x&repo={hostile}")),
        shop.at("/", &format!("{hostile}=1")),
        format!("/?q=x&project={hostile}"),
        shop.file("src/evil.py"),
        shop.file("src/evil.py?at=2:5"),
        shop.file(&encoded(name)),
        shop.file(&hostile),
        shop.below("tree?path=src"),
        shop.below(&format!("find?q={hostile}")),
        shop.below("find?q=img"),
        shop.at("/symbol", "symbol=evil"),
        shop.at("/symbol", &format!("symbol={hostile}")),
        shop.at("/suggest", "q=path:src/"),
        shop.at("/repositories", ""),
        format!("/sign-in?next={hostile}"),
    ];
    for path in pages {
        page.go(&path).await;
        assert_eq!(page.eval("typeof stolen").await, "undefined", "{path}");
        assert_eq!(page.count("img, svg, script:not([src^='/assets/'])").await, 0, "{path}");
    }
    // A policy that was broken, or a dialog, would be a problem.
    page.close_despite("the server responded with a status of 4").await;
    shop.server.stop().await;
}
