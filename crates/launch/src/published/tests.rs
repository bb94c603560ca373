//! Tests of whether people own a page, or a run may write it again.

use super::*;
use crate::claim::PAGE_MARK;
use crate::site::MemoryFiles;

const START: &str = "docs/start.md";
const API: &str = "docs/api.md";

fn run(id: &str, pages: &[(&str, &str)]) -> PublishedRun {
    let pages = pages.iter().map(|(path, text)| ((*path).to_owned(), page_sha256(text)));
    PublishedRun { run_id: id.to_owned(), pages: pages.collect() }
}

/// The files, and the earlier contents of removed ones.
struct Site(MemoryFiles, BTreeMap<&'static str, &'static str>);

impl SiteFiles for Site {
    fn paths(&self) -> Vec<String> {
        self.0.paths()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.read(path)
    }

    fn last_version(&self, path: &str) -> Option<Vec<u8>> {
        self.1.get(path).map(|text| text.as_bytes().to_vec())
    }
}

fn files(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().copied().collect()
}

fn reason(
    site: &dyn SiteFiles,
    published: &PublishedPages,
    path: &str,
) -> Option<(KeptReason, Option<String>)> {
    reason_to_keep(site, &site.paths(), published, path)
}

#[test]
fn what_programs_change_on_the_way_is_no_edit() {
    let text = "---\ntitle: A\n---\n\nSays a.  \nThen b.\n\n```\ncode\n```\n";
    for same in [
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        text.trim_end().to_owned(),
        format!("{text}\n\n"),
        text.replace("code", "code \t"),
        text.replace("a.  ", "a.   "),
    ] {
        assert_eq!(page_sha256(&same), page_sha256(text), "{same:?}");
        assert_eq!(refreshed(&same, text), None);
    }
    for other in [
        text.replace("title: A", "title: A\nweight: 1"),
        text.replace("title: A", "title: A # mine"),
        text.replace("a.  ", "a."),
        text.replace("b.", "b.  "),
        text.replace("code", "  code"),
        text.replace("\n\n```", "\n```"),
    ] {
        assert_ne!(page_sha256(&other), page_sha256(text), "{other:?}");
    }
}

#[test]
fn a_page_keeps_its_line_ends() {
    assert_eq!(refreshed("a\r\nb\r\n", "a\nc\n").as_deref(), Some("a\r\nc\r\n"));
    assert_eq!(refreshed("\u{feff}a\n", "b\n").as_deref(), Some("\u{feff}b\n"));
    assert_eq!(refreshed("a\nb\nc\r\n", "a\n").as_deref(), Some("a\n"));
}

#[test]
fn only_what_a_run_published_is_written_again() {
    let runs = [run("2", &[(START, "# New\n")]), run("1", &[(START, "# Old\n"), (API, "# Api\n")])];
    let site = files(&[(START, "# Old\r\n"), (API, "# Api, as we say\n"), ("docs/mine.md", "# Mine\n")]);
    let published = PublishedPages::of(&runs, &[], &site);
    assert_eq!(published.unchanged.keys().collect::<Vec<_>>(), [START]);
    assert_eq!(reason(&site, &published, START), None, "an earlier version is a version");
    assert_eq!(reason(&site, &published, API), Some((KeptReason::Edited, None)));
    assert_eq!(reason(&site, &published, "docs/mine.md"), Some((KeptReason::Foreign, None)));
    assert_eq!(reason(&site, &published, "docs/new.md"), None);
    // The base may change after the run started.
    let later = files(&[(START, "# Ours\n")]);
    assert_eq!(reason(&later, &published, START), Some((KeptReason::Edited, None)));
    // A page with marks was written by a run, even if there is no record of that run.
    let marked = files(&[(START, &format!("# Old\n\n{PAGE_MARK}\n"))]);
    assert_eq!(reason(&marked, &PublishedPages::default(), START), Some((KeptReason::Edited, None)));
    // The record of a run outlives the runs that it was derived from.
    let again = PublishedPages::of(&[], std::slice::from_ref(&published), &site);
    assert_eq!(again, published);
}

#[test]
fn a_page_at_the_same_address_stays() {
    for other in [
        "docs/start/index.md", "docs/start/_index.md", "docs/Start.md", "docs/start.markdown",
        "docs/start.mdx",
    ] {
        let site = files(&[(other, "# Mine\n")]);
        let expected = Some((KeptReason::AddressTaken, Some(other.to_owned())));
        assert_eq!(reason(&site, &PublishedPages::default(), START), expected, "{other}");
        let marked = files(&[(other, &format!("# Start\n\n{PAGE_MARK}\n"))]);
        let expected = Some((KeptReason::Moved, Some(other.to_owned())));
        assert_eq!(reason(&marked, &PublishedPages::default(), START), expected, "{other}");
    }
    for other in ["docs/start.png", "docs/start/more.md", "docs/restart.md"] {
        assert_eq!(reason(&files(&[(other, "x")]), &PublishedPages::default(), START), None, "{other}");
    }
}

#[test]
fn what_people_removed_or_moved_is_not_written_again() {
    const TEXT: &str =
        "# S\n\nA. <!-- claim_id: a -->\n\nB. <!-- claim_id: b -->\n\nC. <!-- claim_id: c -->\n";
    let known = PublishedPages::default();
    let site = |there: &[(&str, &str)]| {
        Site(files(there), BTreeMap::from([(START, TEXT), ("docs/mine.md", "# Mine\n")]))
    };
    assert_eq!(reason(&site(&[]), &known, START), Some((KeptReason::Removed, None)));
    assert_eq!(reason(&site(&[]), &known, "docs/mine.md"), None, "a run never wrote that");
    let moved = |text: &str| {
        reason(&site(&[("guide/s.md", text), (API, "# Api\n\nA. <!-- claim_id: a -->\n")]), &known, START)
    };
    let there = Some((KeptReason::Moved, Some("guide/s.md".to_owned())));
    assert_eq!(moved(TEXT), there);
    assert_eq!(moved(&format!("{TEXT}\nAnd more.\n")), there);
    assert_eq!(moved("# Other\n"), Some((KeptReason::Removed, None)));
}

#[test]
fn what_people_did_not_take_over_is_not_proposed_again() {
    let first = run("1", &[(START, "# Start\n"), (API, "# Api\n")]);
    let site = files(&[(START, "# Start\n")]);
    let published = PublishedPages::of(std::slice::from_ref(&first), &[], &site);
    assert_eq!(reason(&site, &published, API), Some((KeptReason::Removed, None)));
    // Also after another run, which no longer proposed it.
    let runs = [run("2", &[(START, "# Later\n")]), first.clone()];
    let later = PublishedPages::of(&runs[..1], std::slice::from_ref(&published), &site);
    assert!(later.declined.contains(API));
    // A run that waits for review does not show what people want.
    let waiting = [run("2", &[(START, "# Later\n"), (API, "# Api\n")]), run("1", &[(START, "# Start\n")])];
    assert_eq!(PublishedPages::of(&waiting, &[], &site).declined, BTreeSet::new());
    assert_eq!(
        PublishedPages::of(&[first], &[], &files(&[])),
        PublishedPages::default(),
        "nothing was merged"
    );
}
