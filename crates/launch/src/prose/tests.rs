//! Tests of self-contained sentences and their places.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::*;

fn of(text: &str) -> Vec<(String, u32, u32)> {
    let page = Page::parse("README.md", text.to_owned(), 1000);
    sentences(&page, 1000).into_iter().map(|one| (one.text, one.start_line, one.end_line)).collect()
}

fn texts(text: &str) -> Vec<String> {
    of(text).into_iter().map(|(text, _, _)| text).collect()
}

#[test]
fn sentences_have_their_lines() {
    let text = "# Shop\n\nReads orders from CSV\nfiles. Writes `a.b` e.g. Reports to disk.\n\n- Keeps a list of sales\n";
    assert_eq!(
        of(text),
        [
            ("Reads orders from CSV files.".to_owned(), 3, 4),
            ("Writes `a.b` e.g. Reports to disk.".to_owned(), 4, 4),
            ("Keeps a list of sales".to_owned(), 6, 6),
        ]
    );
}

#[test]
fn headings_above_are_known() {
    let page = Page::parse(
        "a.md",
        "# Shop\n\n## Use\n\n### Fast\n\nReads all the files.\n\n## Install\n\nRuns with one command.\n"
            .to_owned(),
        1000,
    );
    let headings: Vec<Vec<String>> =
        sentences(&page, 9).into_iter().map(|one| one.headings.to_vec()).collect();
    assert_eq!(headings, [vec!["shop", "use", "fast"], vec!["shop", "install"]]);
}

#[test]
fn links_and_emphasis_become_text() {
    assert_eq!(
        texts("It **reads** [CSV files](https://x.example/y) and *writes* [JSON][j].\n\n[j]: /j\n"),
        ["It reads CSV files and writes JSON."]
    );
}

#[test]
fn what_is_more_than_text_is_left_out() {
    for text in [
        "It is perfect. <!-- claim_id: forged -->",
        "Runs {{< shortcode >}} for you.",
        "Shows <b>bold</b> text to people.",
        "See https://x.example for more of it.",
        "Costs ${PRICE} in all shops.",
        "Has a backslash \\* in the text.",
        "Looks at an [open bracket only.",
        "> Quotes the words of another author.",
        "Hides \u{202e}something in the text.",
        "We read many kinds of files.",
        "The options are listed below.",
        "What is it for?",
        "Two words.",
        "not the beginning of a sentence.",
        "A sentence without an end",
        "Reads ~~XLSX~~ files of all kinds.",
        "Is &#110;ot made for such files.",
        "Windows is ![not](no.svg) supported by the installer.",
        "Windows is ![not][no] supported by the installer.",
        "Reads <del>all kinds. Reads XLSX files too. And</del> more.",
        "Reads <!--\nno kinds. Reads XLSX files too. Or\n--> none of them.",
        "- 1. an item in an item of a list",
    ] {
        assert!(texts(text).is_empty(), "{text}: {:?}", texts(text));
    }
    let long = format!("It {}.", "reads ".repeat(100));
    assert!(texts(&long).is_empty());
    assert!(texts("```\nReads orders from CSV files.\n```\n").is_empty());
}

#[test]
fn only_the_first_sentence_of_a_comment_counts() {
    let first = |lines: &[&str]| {
        first_sentence(lines.iter().copied().zip(4..).map(|(line, number)| (number, line)))
            .map(|sentence| (sentence.text, sentence.start_line, sentence.end_line))
    };
    assert_eq!(
        first(&["", "Parses an order", "of a customer. Fails if empty.", "", "Never read."]),
        Some(("Parses an order of a customer.".to_owned(), 5, 6))
    );
    assert_eq!(first(&["See https://x.example. Parses an order of a customer."]), None);
    assert_eq!(first(&[]), None);
}

#[test]
fn sentences_that_are_untrue_out_of_context_are_omitted() {
    for text in [
        "- [ ] Windows support for all commands\n",
        "- [ ] Commands.\n  - Runs on Windows without a shell\n",
        "## Roadmap\n\n- Windows support for all commands\n",
        "## Roadmap\n\nShopKit reads XLSX files.\n\n### Formats\n\nShopKit reads XML files.\n",
        "## Non-goals\n\n- Converts all currencies of the world\n",
        "## What ShopKit doesn’t do\n\n- Converts all currencies of the world\n",
        "## Out of scope\n\n- Converts all currencies of the world\n",
        "<h2 align=\"left\">Roadmap</h2>\n\n- Windows support for all commands\n",
        "<h2>\n<b>Roadmap</b>\n</h2>\n\n- Windows support for all commands\n",
        "**Roadmap**\n\n- Windows support for all commands\n",
        "__Planned__:\n\nShopKit reads XLSX files.\n",
        "ShopKit does not:\n\n- Send data to third parties\n",
        "ShopKit does not:\n\n- Send data to third parties\n\n  It is slow.\n\n- Keep the data of all users\n",
        "ShopKit does not:\n- Send data to third parties\n",
        "> ShopKit does not:\n\n- Send data to third parties\n",
        "<p>ShopKit does not:</p>\n\n- Send data to third parties\n",
        "## ShopKit never does this:\n\n- Send data to third parties\n",
        "The following things are left to others.\n\n- Send data to third parties\n",
        "Not supported.\n\n1. Send data to third parties\n",
        "- Does not:\n  - Send data to third parties\n",
        "- Not supported\n\n  Sends data to third parties.\n",
    ] {
        assert!(texts(text).is_empty(), "{text}: {:?}", texts(text));
    }
}

#[test]
fn sentences_that_are_true_out_of_context_are_kept() {
    for (text, expected) in [
        ("# Roadmap\n\nRoadmap keeps lists of all tasks.\n", "Roadmap keeps lists of all tasks."),
        ("- [x] Windows support for all commands\n", "Windows support for all commands"),
        ("So it is.\n\n- Windows support for all of them\n", "Windows support for all of them"),
        ("**Formats**\n\n- Reads CSV files of all kinds\n", "Reads CSV files of all kinds"),
        ("## Roadmap\n\nSoon more.\n\n## Use\n\nReads CSV files.\n", "Reads CSV files."),
        ("ShopKit does not:\n\n- Send data\n\nIt reads CSV files.\n", "It reads CSV files."),
        (
            "- Import:\n  - Reads all kinds of data\n- Exports all kinds of data\n",
            "Exports all kinds of data",
        ),
        ("## Limitations\n\n- Windows support for some commands\n", "Windows support for some commands"),
    ] {
        assert_eq!(texts(text), [expected], "{text}");
    }
    let page = Page::parse("README.md", "# Shop\n\n## Not supported\n\n- Files of Windows\n".to_owned(), 9);
    let headings = sentences(&page, 9)[0].headings.to_vec();
    assert!(headings.iter().any(|heading| is_limiting(heading)) && headings.len() == 1, "{headings:?}");
}

#[test]
fn lines_that_are_too_long_join_no_others() {
    let long = "x".repeat(9 << 10);
    assert!(texts(&format!("Windows is supported\n{long}\nby the installer of ShopKit.\n")).is_empty());
    assert!(texts(&format!("- Windows is supported by\n  {long}\n")).is_empty());
    let after = format!("Reads all files.\n{long}\nWrites all files.\n\nKeeps a list of sales.\n");
    assert_eq!(texts(&after), ["Keeps a list of sales."]);
    let lines = ["Parses an order", long.as_str(), "of a customer."];
    assert_eq!(first_sentence(lines.into_iter().zip(1..).map(|(line, number)| (number, line))), None);
}

#[test]
fn a_description_is_plain_without_its_backticks() {
    assert_eq!(description("Calls `drawer` with coins.").as_deref(), Some("Calls drawer with coins."));
    for text in [
        "Renders `<script>alert(1)</script>` tags.",
        "Writes {`{`< exec >`}`} for all pages.",
        "Writes `[a](b)` into all pages.",
        "Writes `*` and `|` into all pages.",
        "Writes `&lt;` into all the pages.",
        "Says \"yes\" to all the customers.",
    ] {
        assert_eq!(description(text), None, "{text}");
    }
}

#[test]
fn sentences_share_the_headings_above_and_end_at_the_most() {
    let mut text = String::new();
    for level in 1..=6 {
        writeln!(text, "{} {}\n", "#".repeat(level), "x".repeat(1000)).unwrap();
    }
    text.push_str(&"Reads CSV files.\n\n".repeat(80_000));
    let page = Page::parse("a.md", text, 10_000);
    let found = sentences(&page, 1_000);
    assert_eq!(found.len(), 1_000);
    assert!(found.windows(2).all(|two| Arc::ptr_eq(&two[0].headings, &two[1].headings)));
}

#[test]
fn hostile_pages_are_read_in_one_pass() {
    let begin = Instant::now();
    let headings = format!("{}{}", "# A\n".repeat(10_000), "\n".repeat(950_000));
    assert!(sentences(&Page::parse("a.md", headings, 10_000), 9).is_empty());
    let stops = "A a. ".repeat(1_500) + "\n\n";
    assert!(sentences(&Page::parse("a.md", stops.repeat(100), 10_000), 9).is_empty());
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    let many = format!("{}Reads CSV files.\n", "# A\n\n".repeat(20));
    assert!(sentences(&Page::parse("a.md", many, 9), 9).is_empty(), "not all of its headings are known");
}
