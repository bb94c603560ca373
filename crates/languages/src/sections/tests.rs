//! Documents with headings, and texts that look as if they had some.

use crate::fuzzing::covers;
use crate::{ChunkLimits, Chunked, ChunkingMethod, by_name, chunk};

/// Small, so that most sections are chunks.
const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 30,
    chars_max: 1000,
    chunks_max: 1000,
    parse_timeout: std::time::Duration::from_secs(60),
    facts: true,
    cells: false,
};

fn chunked(text: &str, language: &str, limits: &ChunkLimits) -> Chunked {
    let chunked = chunk(text, by_name(language), limits);
    assert_eq!((chunked.how, chunked.facts_missing), (ChunkingMethod::Sections, None), "{language}");
    covers(text, &chunked.chunks, language);
    chunked
}

/// The sections of a text: the line of each title, and its path.
fn sections(text: &str, language: &str) -> Vec<String> {
    let chunked = chunked(text, language, &LIMITS);
    let definitions = chunked.chunks.iter().flat_map(|chunk| &chunk.definitions);
    definitions.map(|one| format!("{} {}", one.line, one.qualified)).collect()
}

#[test]
fn styles_of_rst_are_levels_in_the_order_of_their_appearance() {
    let text = "=====\nGuide\n=====\n\nWords.\n\nInstall\n=======\n\nOn Windows\n----------\n\nRun it.\n\nUse\n===\n\nLast words.\n";
    assert_eq!(
        sections(text, "rst"),
        ["2 Guide", "7 Guide > Install", "10 Guide > Install > On Windows", "15 Guide > Use"]
    );
    let first = &chunked(text, "rst", &LIMITS).chunks[0];
    assert_eq!((first.start_line, first.kind, first.name.as_deref()), (1, "section", Some("Guide")));
}

#[test]
fn labels_belong_to_the_section_below_them() {
    let text = "Guide\n=====\n\nSome words of it.\n\n.. _install:\n\nInstall\n-------\n\nMore words of it.\n";
    let chunks = chunked(text, "rst", &LIMITS).chunks;
    assert_eq!(chunks.iter().map(|chunk| chunk.start_line).collect::<Vec<_>>(), [1, 6]);
    assert_eq!(chunks[1].line, Some(8));
}

#[test]
fn lookalikes_of_rst_titles_are_not_sections() {
    for text in [
        // Indented: the content of a directive, a literal block.
        ".. code-block:: python\n\n   Title\n   =====\n",
        "As follows::\n\n    Title\n    =====\n",
        // A quoted literal block.
        "As follows::\n\n> Title\n> =====\n>>>>>>>>>\n",
        "As follows::\n\n=====\n=x===\n",
        // A table, a transition, the end of a paragraph, a list.
        "=====  =====\nA      B\n=====  =====\n1      2\n=====  =====\n",
        "+-----+\n| A   |\n+=====+\n| B   |\n+-----+\n",
        "Words.\n\n-----\n\nMore words.\n",
        "Words that\ngo on\n=====\n",
        "As follows::\ngo on\n=====\n",
        "- item\n------\n",
        "A longer one\n==\n",
        "=====\n",
        "=====\nTitle\n-----\n",
    ] {
        assert_eq!(sections(text, "rst"), [""; 0], "{text}");
    }
}

#[test]
fn titles_of_rst_follow_markup_and_numbers() {
    for text in [
        ".. contents::\n\nTitle\n=====\n",
        ".. note::\n   Words.\n\nTitle\n=====\n",
        "Example::\n\n    code\n\nTitle\n=====\n",
        "Words.\n\n.. contents::\n\n=====\nTitle\n=====\n",
        "-----\n\nTitle\n=====\n",
    ] {
        let found = sections(text, "rst");
        assert!(matches!(found.as_slice(), [one] if one.ends_with(" Title")), "{text}: {found:?}");
    }
    assert_eq!(sections("1. First *part*\n===============\n", "rst"), ["1 1. First *part*"]);
}

#[test]
fn titles_of_asciidoc_are_marked_or_underlined() {
    let text = "= Guide\nAuthor Name\n:toc:\n\nWords.\n\n[[install]]\n== Install ==\n\n=== On Windows\n\nRun it.\n\nUse\n---\n\nWords of it.\n\nDetails\n~~~~~~~\n\n## Also a title\n";
    assert_eq!(
        sections(text, "asciidoc"),
        [
            "1 Guide",
            "8 Guide > Install",
            "10 Guide > Install > On Windows",
            "14 Guide > Use",
            "19 Guide > Use > Details",
            "22 Guide > Also a title"
        ]
    );
    let starts: Vec<u32> =
        chunked(text, "asciidoc", &LIMITS).chunks.iter().map(|one| one.start_line).collect();
    assert!(starts.contains(&7), "an anchor belongs to what is below: {starts:?}");
}

#[test]
fn lookalikes_of_asciidoc_titles_are_not_sections() {
    for text in [
        "----\n== Title\n----\n",
        "....\n== Title\n....\n",
        "====\n== Title\n\n----\n====\n== Title\n----\n\n== Title\n====\n",
        "****\n== Title\n****\n",
        "```ruby\n== Title\n```\n",
        "////\n== Title\n////\n",
        "|===\n|a\n\n== Title\n|===\n",
        "--\n== Title\n--\n",
        "Words\n== Title\n",
        "[discrete]\n== Title\n",
        "[float]\n== Title\n",
        "==Title\n",
        "======= Title\n",
        "==\n",
        "A long line of words\n----\ncode\n----\n",
    ] {
        assert!(sections(text, "asciidoc").is_empty(), "{text}");
    }
    assert_eq!(sections("----\ncode\n----\n\n== Title\n", "asciidoc"), ["5 Title"]);
}

#[test]
fn pages_and_headings_of_extracted_texts_are_sections() {
    let text = "[page 1]\nWords of it.\n\n[page 2]\nMore [page 9] words.\n# no heading\n";
    for language in ["pdf", "pptx", "odp"] {
        assert_eq!(sections(text, language), ["1 page 1", "4 page 2"], "{language}");
    }
    assert_eq!(sections("[sheet Prices  2024]\nItem\tPrice\n", "xlsx"), ["1 sheet Prices 2024"]);
    let text = "# Guide\nWords of it.\n\n### Install\nMore words.\n#hashtag\n";
    assert_eq!(sections(text, "docx"), ["1 Guide", "4 Guide > Install"]);
}

#[test]
fn small_sections_stay_together_and_large_ones_are_divided() {
    let default = ChunkLimits::default();
    let small = "= Guide\n\nWords.\n\n== One\n\nWords.\n\n== Two\n\nWords.\n";
    let chunks = chunked(small, "asciidoc", &default).chunks;
    assert_eq!((chunks.len(), chunks[0].name.as_deref()), (1, Some("Guide")));
    assert_eq!(chunks[0].defines, ["Guide", "One", "Two"]);
    let paragraph = "Some words that fill a paragraph of the guide, so that it is long.\n\n".repeat(30);
    let large = format!("Preface.\n\n= Guide\n\n{paragraph}== One\n\n{paragraph}== Two\n\nWords.\n");
    let chunks = chunked(&large, "asciidoc", &default).chunks;
    assert!(chunks.len() >= 5, "{}", chunks.len());
    assert!(chunks.iter().any(|chunk| chunk.name.as_deref() == Some("Guide > One")));
    assert!(chunks.iter().all(|chunk| chunk.text.len() < 4000));
    let first = chunks.iter().find(|chunk| chunk.text.contains("== One")).unwrap();
    assert!(first.text.starts_with("== One"), "{}", first.text);
}

#[test]
fn hostile_documents_are_divided_in_linear_time() {
    let stop = crate::stop::Stop::new(std::time::Duration::from_secs(60), &|| false);
    for (language, text) in [
        ("asciidoc", "= a\n".repeat(100_000)),
        ("asciidoc", "====\n".repeat(100_001)),
        ("asciidoc", "[a]\n".repeat(100_000)),
        ("asciidoc", (0..30_000).map(|n| format!("{} a\n\n", "=".repeat(1 + n % 6))).collect()),
        ("rst", "a\n====\n\n".repeat(50_000)),
        ("rst", ".. _a:\n\n".repeat(50_000)),
        ("rst", "====\n".repeat(100_000)),
        ("rst", "a::\n\n> b\n".repeat(50_000)),
        ("pdf", "[page 1]\n".repeat(100_000)),
        ("docx", "# a\n".repeat(100_000)),
    ] {
        let limits = ChunkLimits::default();
        let before = stop.steps();
        let chunked = crate::chunking::chunk_until(&text, by_name(language), &limits, &stop);
        assert_eq!(chunked.how, ChunkingMethod::Sections, "{language} {}", &text[..20]);
        assert!(chunked.chunks.len() <= limits.chunks_max);
        let steps = stop.steps() - before;
        assert!(steps < 40 * text.len() as u64, "{language} {}: {steps}", &text[..20]);
    }
    assert!(chunk("", by_name("rst"), &LIMITS).chunks.is_empty());
}
