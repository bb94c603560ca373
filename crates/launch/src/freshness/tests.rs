//! Tests of sentences whose cited files changed.

use super::*;
use crate::claim::{ClaimKind, claim_id, marker};
use crate::evidence::RepositoryFacts;
use crate::evidence::tests::evidence;
use crate::worker::scene::{MIT, Words};

const README: &str = "# ShopKit\n\nShopKit counts the coins in a drawer.\n\n## Formats\n\nReads sales from CSV files\nof one day.\n";
const CASH: &str =
    "def drawer(coins):\n    \"\"\"Adds the values of all coins.\"\"\"\n    return sum(coins)\n";
const READS: &str = "Reads sales from CSV files of one day.";
const COUNTS: &str = "ShopKit counts the coins in a drawer.";
const DRAWER: &str = "`drawer` is a function in `cash.py`.";
const ADDS: &str = "Adds the values of all coins.";
const LICENCE: &str = "The licence of ShopKit is MIT.";

/// Claims, each with the lines that it cites.
const CLAIMS: [(&str, &str, u32, u32); 5] = [
    (COUNTS, "README.md", 3, 3),
    (READS, "README.md", 7, 8),
    (DRAWER, "cash.py", 1, 1),
    (ADDS, "cash.py", 2, 2),
    (LICENCE, "LICENSE", 1, 3),
];

fn files() -> Vec<(&'static str, String)> {
    vec![("README.md", README.to_owned()), ("cash.py", CASH.to_owned()), ("LICENSE", MIT.to_owned())]
}

fn facts_of(files: &[(&str, String)], questions: Questions) -> RepositoryFacts {
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    // The line that the index would report.
    let code = files.iter().find(|(path, _)| *path == "cash.py").map_or("", |(_, text)| text.as_str());
    let line = code.lines().zip(1..).find(|(line, _)| line.starts_with("def drawer(")).map(|(_, line)| line);
    let definitions: Vec<(&str, u32, &str)> =
        line.into_iter().map(|line| ("cash.py", line, "drawer")).collect();
    evidence(questions, &texts, &definitions)
}

fn claims() -> BTreeMap<String, Claim> {
    let mut questions = Questions::default();
    files().iter().for_each(|(path, _)| questions.ask_text(path));
    let facts = facts_of(&files(), questions);
    let claim = |(text, path, start_line, end_line): (&str, &str, u32, u32)| {
        let lines = facts.lines(path, start_line, end_line).unwrap();
        let citation = Citation { path: path.to_owned(), start_line, end_line, sha256: span_sha256(&lines) };
        let id = claim_id(text, ClaimKind::Other, Some("ShopKit"));
        let (claim_id, text) = (id.clone(), text.to_owned());
        (id, Claim { claim_id, text, kind: ClaimKind::Other, citations: vec![citation], replaced_by: None })
    };
    CLAIMS.into_iter().map(claim).collect()
}

/// Compares a page that makes all claims, and whose cited lines are kept, with these files.
fn compared(files: &[(&str, String)]) -> Freshness {
    let claims = claims();
    let mut text = "# Page\n\n".to_owned();
    for (said, ..) in CLAIMS {
        text.push_str(&format!("{said} {}\n\n", marker(&claim_id(said, ClaimKind::Other, Some("ShopKit")))));
    }
    let sentences = claimed_sentences(marked_sentences("docs/a.md", text), &claims, "ShopKit");
    assert_eq!(sentences.len(), CLAIMS.len());
    let cited = {
        let mut questions = Questions::default();
        self::files().iter().for_each(|(path, _)| questions.ask_text(path));
        let all: Vec<Claim> = claims.values().cloned().collect();
        cited_lines(&all, &facts_of(&self::files(), questions), &Words)
    };
    let paths: BTreeSet<String> = cited_files(&sentences, &claims).into_keys().map(str::to_owned).collect();
    assert_eq!(paths.len(), 3);
    let facts = facts_of(files, questions(&paths, &claims));
    compare(&Comparison {
        sentences: &sentences,
        claims: &claims,
        cited: &cited,
        product_name: "ShopKit",
        paths: &paths,
        evidence: &facts,
        secrets: &Words,
    })
}

/// Returns the files with a change in one of them.
fn with(path: &str, change: impl FnOnce(String) -> String) -> Vec<(&'static str, String)> {
    let mut files = files();
    let file = files.iter_mut().find(|file| file.0 == path).unwrap();
    file.1 = change(std::mem::take(&mut file.1));
    files
}

/// Returns text and verdict of the stale sentences.
fn verdicts(freshness: &Freshness) -> Vec<(&str, Verdict)> {
    freshness.stale.iter().map(|stale| (stale.text.as_str(), stale.verdict)).collect()
}

#[test]
fn what_is_said_elsewhere_or_in_other_lines_is_fresh() {
    assert_eq!(compared(&files()), Freshness::default());
    for changed in [
        with("README.md", |text| text.replace("# ShopKit\n", "# ShopKit\n\nAll about coins and sales.\n")),
        with("README.md", |text| text.replace("files\nof one day.", "files of\none day.")),
        with("README.md", |text| text.replace('\n', "\r\n")),
        with("cash.py", |text| format!("import os\n\n\n{text}")),
        with("cash.py", |text| text.replace("(coins)", "(coins, notes=())")),
        with("LICENSE", |text| format!("MIT License\n\n{text}")),
    ] {
        assert_eq!(compared(&changed), Freshness::default(), "{changed:?}");
    }
}

#[test]
fn a_changed_word_is_shown_side_by_side() {
    let freshness = compared(&with("README.md", |text| {
        text.replace("# ShopKit\n", "# ShopKit\n\nNew here.\n").replace("from CSV", "from TSV")
    }));
    assert_eq!(verdicts(&freshness), [(READS, Verdict::Stale)]);
    assert_eq!(freshness.stale_count, 1);
    assert_eq!(freshness.stale_paths, BTreeSet::from(["README.md".to_owned()]));
    let stale = &freshness.stale[0];
    assert_eq!((stale.page.as_str(), stale.line, stale.path.as_str()), ("docs/a.md", 5, "README.md"));
    let shown = |lines: &ShownLines| (lines.start_line, lines.lines.join("|"));
    assert_eq!(shown(&stale.old), (7, "Reads sales from CSV files|of one day.".to_owned()));
    assert_eq!(shown(stale.new.as_ref().unwrap()), (9, "Reads sales from TSV files|of one day.".to_owned()));
}

#[test]
fn what_is_gone_has_no_new_lines() {
    let shorter = compared(&with("README.md", |text| text.split("## Formats").next().unwrap().to_owned()));
    assert_eq!(verdicts(&shorter), [(READS, Verdict::Gone)]);
    assert_eq!(shorter.stale[0].new, None);
    // A renamed file is another file: its citations lead nowhere.
    let mut renamed = files();
    renamed[0].0 = "INTRO.md";
    assert_eq!(verdicts(&compared(&renamed)), [(COUNTS, Verdict::Gone), (READS, Verdict::Gone)]);
    let mut deleted = files();
    deleted.remove(1);
    assert_eq!(verdicts(&compared(&deleted)), [(DRAWER, Verdict::Gone), (ADDS, Verdict::Gone)]);
}

#[test]
fn definitions_comments_and_licences_are_looked_for_as_what_they_are() {
    let renamed = compared(&with("cash.py", |text| text.replace("def drawer(coins)", "def till(coins)")));
    assert_eq!(verdicts(&renamed), [(DRAWER, Verdict::Stale)]);
    assert_eq!(renamed.stale[0].new.as_ref().unwrap().lines, ["def till(coins):"]);
    // The sentence is still there, but no longer belongs to a definition.
    let moved =
        compared(&with("cash.py", |text| text.replace("    \"\"\"Adds", "    x = 1\n    \"\"\"Adds")));
    assert_eq!(verdicts(&moved), [(ADDS, Verdict::Stale)]);
    let apache = compared(&with("LICENSE", |_| "Apache License\nVersion 2.0, January 2004\n".to_owned()));
    assert_eq!(verdicts(&apache), [(LICENCE, Verdict::Gone)]);
}

#[test]
fn a_sentence_below_a_roadmap_is_not_so() {
    let changed = with("README.md", |text| text.replace("## Formats", "## Roadmap"));
    let freshness = compared(&changed);
    assert_eq!(verdicts(&freshness), [(READS, Verdict::Stale)]);
    assert_eq!(freshness.stale[0].old.lines, freshness.stale[0].new.as_ref().unwrap().lines);
}

#[test]
fn huge_lines_are_bounded_and_secrets_are_hidden() {
    let long = compared(&with("README.md", |text| {
        text.replace(
            "Reads sales from CSV files\n",
            &format!("Reads sales from CSV files {}\n", "x".repeat(3 << 20)),
        )
    }));
    let listed = serde_json::to_string(&long.stale).unwrap();
    assert_eq!((verdicts(&long)[0].0, long.stale_count), (READS, 1));
    assert!(listed.len() < 4_000, "{}", listed.len());
    // A file above the size limit has no lines at all.
    let huge = compared(&with("README.md", |text| format!("{}{text}", "x".repeat(5 << 20))));
    assert_eq!(verdicts(&huge), [(COUNTS, Verdict::Gone), (READS, Verdict::Gone)]);
    let secret = compared(&with("README.md", |text| text.replace("from CSV", "with TOPSECRETTOKEN")));
    let new = secret.stale[0].new.as_ref().unwrap();
    assert_eq!((new.start_line, new.lines.len(), new.truncated), (7, 0, true), "{secret:?}");
}

#[test]
fn what_people_wrote_into_a_page_is_theirs() {
    let claims = claims();
    let mark = |said: &str| marker(&claim_id(said, ClaimKind::Other, Some("ShopKit")));
    let page = format!(
        "---\ntitle: {}\n---\n# Page\n\nIt reads everything. {}\n\n- SHOPKIT counts  the coins in a drawer. {}\n\n```\n{READS} {}\n```\n\nForged. {}\n",
        mark(ADDS),
        mark(READS),
        mark(COUNTS),
        mark(READS),
        marker("forged")
    );
    let sentences = claimed_sentences(marked_sentences("a.md", page), &claims, "ShopKit");
    let found: Vec<(u32, &str)> =
        sentences.iter().map(|one| (one.line, claims[&one.claim_id].text.as_str())).collect();
    assert_eq!(found, [(8, COUNTS)]);
}

#[test]
fn many_stale_sentences_are_counted_and_not_all_listed() {
    let claims = claims();
    let id = claim_id(READS, ClaimKind::Other, Some("ShopKit"));
    let sentence =
        |line| MarkedSentence { page: "a.md".to_owned(), line, claim_id: id.clone(), says: READS.to_owned() };
    let sentences: Vec<MarkedSentence> = (1..=200).map(sentence).collect();
    let (facts, cited) = (facts_of(&[], Questions::default()), CitedLines::default());
    let compare_with = |paths: &BTreeSet<String>| {
        compare(&Comparison {
            sentences: &sentences,
            claims: &claims,
            cited: &cited,
            product_name: "ShopKit",
            paths,
            evidence: &facts,
            secrets: &Words,
        })
    };
    let freshness = compare_with(&BTreeSet::from(["README.md".to_owned()]));
    assert_eq!((freshness.stale.len(), freshness.stale_count), (LISTED_MAX, 200));
    let unknown = ShownLines { start_line: 7, ..ShownLines::default() };
    assert_eq!(freshness.stale[0].old, unknown, "the lines were not kept");
    assert_eq!(compare_with(&BTreeSet::new()), Freshness::default(), "all other files are as they were");
}
