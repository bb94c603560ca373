//! Renders the page as HTML. It loads nothing and needs no JavaScript.

use std::collections::BTreeMap;

use super::html::Page;
use super::load::{
    Contents, Entries, Entry, GateResult, GateResults, HotEntries, Integrity, PageRequest, Part,
};

/// Number of digits of a hash that are shown.
const HASH_DIGITS: usize = 12;
/// Maximum number of changed entries that are named.
const ISSUES_NAMED_MAX: usize = 20;

/// Renders the page of a catalog.
pub(super) fn catalog(asked: &PageRequest, contents: &Contents, nonce: &str) -> String {
    let mut page = begin(asked, nonce);
    let entries = &contents.entries;
    page.markup("<p class=\"quiet\">");
    match entries.count {
        1 => page.text("1 entry"),
        count => page.text(format_args!("{count} entries")),
    };
    if let Some(category) = &asked.category {
        page.text(format_args!(" in {category} · ")).link(&[("project", project(asked))], "all entries");
    }
    page.markup(" · catalog <code title=\"").text(&entries.hash).markup("\">").text(short(&entries.hash));
    page.markup("</code></p><div class=\"cards\">");
    card(&mut page, "Gates", &contents.gates, gates);
    card(&mut page, "Integrity", &contents.integrity, integrity);
    card(&mut page, "Hot entries", &contents.hot, |page, hot| hot_entries(page, hot, entries));
    page.markup("</div>");
    let groups = groups(asked, entries);
    if groups.len() > 1 {
        page.markup("<nav aria-label=\"Categories\">");
        for (number, (name, members)) in groups.iter().enumerate() {
            page.markup("<a href=\"#group-").text(number).markup("\">").text(name).markup("</a>&nbsp;");
            page.text(members.len()).markup(" ");
        }
        page.markup("</nav>");
    }
    for (number, (name, members)) in groups.iter().enumerate() {
        page.markup("<section class=\"group\" id=\"group-")
            .text(number)
            .markup("\"><h2>")
            .text(name)
            .markup("</h2>");
        members.iter().for_each(|member| entry(&mut page, asked, member));
        page.markup("</section>");
    }
    paging(&mut page, asked, entries);
    end(page)
}

/// Renders the page that replaces a catalog that cannot be shown.
pub(super) fn failure(asked: &PageRequest, message: &str, nonce: &str) -> String {
    let mut page = begin(asked, nonce);
    page.markup("<div class=\"card failure\"><h2>The catalog cannot be shown</h2><p>")
        .text(message)
        .markup("</p></div>");
    end(page)
}

fn begin(asked: &PageRequest, nonce: &str) -> Page {
    let mut page = Page::default();
    page.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n").markup(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Instructions",
    );
    if let Some(project) = &asked.project {
        page.text(format_args!(" of {project}"));
    }
    page.markup("</title>\n<style nonce=\"").text(nonce).markup("\">\n").markup(include_str!("page.css"));
    page.markup("</style>\n</head>\n<body>\n<header><h1>Instructions</h1><form action=\"/\"><label>Project ")
        .markup("<input name=\"project\" placeholder=\"default workspace\" value=\"")
        .text(project(asked).unwrap_or_default())
        .markup("\"></label><button>Show</button></form></header>\n<main>\n");
    page
}

fn end(mut page: Page) -> String {
    page.markup("</main>\n<footer>PairOfCleats. This page only reads; <a href=\"/tools.json\">tools.json</a> lists the methods of the ")
        .markup("catalog.</footer>\n</body>\n</html>\n");
    page.finish()
}

fn project(asked: &PageRequest) -> Option<&str> {
    asked.project.as_deref()
}

fn short(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

/// Renders a part of the overview, or the reason why it is missing.
fn card<T>(page: &mut Page, title: &'static str, part: &Part<T>, render: impl FnOnce(&mut Page, &T)) {
    page.markup("<section class=\"card\"><h2>").markup(title).markup("</h2>");
    match part {
        Ok(contents) => render(page, contents),
        Err(message) => {
            page.markup("<p class=\"warn\">").text(message).markup("</p>");
        }
    }
    page.markup("</section>");
}

fn gates(page: &mut Page, gates: &GateResults) {
    if gates.results.is_empty() {
        page.markup("<p class=\"quiet\">The catalog has no gates.</p>");
        return;
    }
    page.markup("<ul>");
    for gate in &gates.results {
        page.markup("<li>").markup(verdict(gate)).markup(" <code>").text(&gate.id).markup("</code> ");
        if let Some(description) = &gate.description {
            page.text(description).markup(" ");
        }
        let GateResult { count, op, value, .. } = gate;
        page.markup("<span class=\"quiet\">");
        match op.as_str() {
            "all" | "any" | "not" => page.text(format_args!("{op}: {count} of {value}")),
            _ => page.text(format_args!("{count} {op} {value}")),
        };
        page.markup("</span></li>");
    }
    page.markup("</ul>");
}

fn verdict(gate: &GateResult) -> &'static str {
    match (gate.passed, gate.severity.as_str()) {
        (true, _) => "<span class=\"good\">passed</span>",
        (false, "warn") => "<span class=\"warn\">warning</span>",
        (false, _) => "<span class=\"bad\">failed</span>",
    }
}

fn integrity(page: &mut Page, integrity: &Integrity) {
    if integrity.issues.is_empty() && integrity.catalog_hash.is_none() {
        page.markup("<p><span class=\"good\">intact</span> All ").text(integrity.count);
        page.markup(" entries have their stored hash.</p>");
        return;
    }
    page.markup("<p class=\"bad\">Changed behind the server’s back:</p><ul>");
    for issue in integrity.issues.iter().take(ISSUES_NAMED_MAX) {
        page.markup("<li><code>").text(&issue.id).markup("</code> ");
        hashes(page, &issue.expected, &issue.actual);
        page.markup("</li>");
    }
    if integrity.issues.len() > ISSUES_NAMED_MAX {
        page.markup("<li>and ").text(integrity.issues.len() - ISSUES_NAMED_MAX).markup(" more</li>");
    }
    if let Some(mismatch) = &integrity.catalog_hash {
        page.markup("<li>the catalog ");
        hashes(page, &mismatch.expected, &mismatch.actual);
        page.markup("</li>");
    }
    page.markup("</ul>");
}

fn hashes(page: &mut Page, expected: &str, actual: &str) {
    page.markup("<span class=\"quiet\">expected <code>").text(short(expected));
    page.markup("</code>, is <code>").text(short(actual)).markup("</code></span>");
}

fn hot_entries(page: &mut Page, hot: &HotEntries, shown: &Entries) {
    if hot.items.is_empty() {
        page.markup("<p class=\"quiet\">No entry was used yet.</p>");
        return;
    }
    page.markup("<ol>");
    for entry in &hot.items {
        page.markup("<li>");
        match shown.items.iter().any(|shown| shown.id == entry.id) {
            true => {
                page.markup("<a href=\"#entry-").text(&entry.id).markup("\">").text(&entry.id).markup("</a>")
            }
            false => page.text(&entry.id),
        };
        page.markup(" <span class=\"quiet\" title=\"last used ").text(&entry.last_used_at).markup("\">");
        page.text(entry.usage_count).markup(" ×</span></li>");
    }
    page.markup("</ol>");
}

/// Groups the entries by category: each once, below the first of its categories, or below the requested one.
fn groups<'a>(asked: &'a PageRequest, entries: &'a Entries) -> Vec<(&'a str, Vec<&'a Entry>)> {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    let mut without = Vec::new();
    for entry in &entries.items {
        match asked.category.as_ref().or(entry.categories.first()) {
            Some(category) => groups.entry(category).or_default().push(entry),
            None => without.push(entry),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    if !without.is_empty() {
        groups.push(("Without a category", without));
    }
    groups
}

fn entry(page: &mut Page, asked: &PageRequest, entry: &Entry) {
    page.markup("<details id=\"entry-").text(&entry.id).markup("\"><summary><span class=\"level ");
    page.text(&entry.requirement).markup("\">").text(&entry.requirement).markup("</span> <strong>");
    page.text(&entry.title).markup("</strong> <code class=\"quiet\">").text(&entry.id);
    page.markup("</code></summary><div class=\"entry\"><pre>").text(&entry.body).markup("</pre><dl>");
    row(page, "Priority", entry.priority);
    row(page, "Audience", &entry.audience);
    if !entry.categories.is_empty() {
        page.markup("<dt>Categories</dt><dd>");
        for category in &entry.categories {
            page.link(&[("project", project(asked)), ("category", Some(category))], category).markup(" ");
        }
        page.markup("</dd>");
    }
    if let Some(rationale) = &entry.rationale {
        row(page, "Rationale", rationale);
    }
    if let Some(id) = &entry.deprecated_by {
        row(page, "Replaced by", id);
    }
    row(page, "Changed", &entry.updated_at);
    if let Some(count) = entry.usage_count {
        row(page, "Used", format_args!("{count} ×"));
    }
    row(page, "SHA-256", &entry.source_hash);
    page.markup("</dl></div></details>");
}

fn row(page: &mut Page, name: &'static str, value: impl std::fmt::Display) {
    page.markup("<dt>").markup(name).markup("</dt><dd>").text(value).markup("</dd>");
}

fn paging(page: &mut Page, asked: &PageRequest, entries: &Entries) {
    if entries.items.is_empty() {
        page.markup("<p class=\"quiet\">There are no entries here.</p>");
    }
    if asked.after.is_none() && entries.next_cursor.is_none() {
        return;
    }
    let same = [("project", project(asked)), ("category", asked.category.as_deref())];
    page.markup("<nav aria-label=\"Pages\">");
    if asked.after.is_some() {
        page.link(&same, "From the beginning");
    }
    if let Some(last) = &entries.next_cursor {
        page.link(&[same[0], same[1], ("after", Some(last))], "Further entries");
    }
    page.markup("</nav>");
}

#[cfg(test)]
mod tests {
    use super::super::load::{HotEntry, Issue};
    use super::*;

    const EVIL: &str = "\"><script>alert('x')</script>";

    fn evil_entry(id: &str) -> Entry {
        let evil = || EVIL.to_owned();
        Entry {
            id: id.to_owned(),
            title: evil(),
            body: evil(),
            rationale: Some(evil()),
            requirement: evil(),
            categories: vec![evil(), "z".to_owned()],
            deprecated_by: Some(evil()),
            ..Entry::default()
        }
    }

    fn contents(items: Vec<Entry>) -> Contents {
        let gate = GateResult {
            id: EVIL.into(),
            description: Some(EVIL.into()),
            op: EVIL.into(),
            ..GateResult::default()
        };
        let issue = Issue { id: EVIL.into(), ..Issue::default() };
        Contents {
            entries: Entries {
                hash: "a".repeat(64),
                count: items.len(),
                items,
                next_cursor: Some(EVIL.into()),
            },
            hot: Ok(HotEntries { items: vec![HotEntry { id: EVIL.into(), ..HotEntry::default() }] }),
            gates: Ok(GateResults { results: vec![gate] }),
            integrity: Ok(Integrity { issues: vec![issue], ..Integrity::default() }),
        }
    }

    #[test]
    fn nothing_that_people_wrote_becomes_markup() {
        let asked = PageRequest { project: Some(EVIL.into()), category: None, after: Some(EVIL.into()) };
        let whole = catalog(&asked, &contents(vec![evil_entry("a"), evil_entry(EVIL)]), "n0");
        let failed = failure(&asked, EVIL, "n0");
        let unloaded = Contents { gates: Err(EVIL.into()), ..contents(Vec::new()) };
        for page in [whole, failed, catalog(&asked, &unloaded, "n0")] {
            assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
            assert_eq!(page.matches("<style nonce=\"n0\">").count(), 1);
            assert!(!page.contains("://") && !page.contains("src="), "it loads nothing");
        }
    }

    #[test]
    fn entries_are_shown_once_by_category() {
        let entry = |id: &str, categories: &[&str]| Entry {
            id: id.into(),
            categories: categories.iter().map(|name| (*name).to_owned()).collect(),
            ..Entry::default()
        };
        let items = vec![entry("a", &["x", "y"]), entry("b", &[]), entry("c", &["w"]), entry("d", &["x"])];
        let entries = Entries { items, ..Entries::default() };
        let ids = |asked: &PageRequest| {
            let named = |(name, members): (&str, Vec<&Entry>)| {
                let ids: Vec<&str> = members.iter().map(|member| member.id.as_str()).collect();
                format!("{name}: {}", ids.join(" "))
            };
            groups(asked, &entries).into_iter().map(named).collect::<Vec<_>>()
        };
        assert_eq!(ids(&PageRequest::default()), ["w: c", "x: a d", "Without a category: b"]);
        let filtered = PageRequest { category: Some("y".into()), ..PageRequest::default() };
        assert_eq!(ids(&filtered), ["y: a b c d"]);
    }
}
