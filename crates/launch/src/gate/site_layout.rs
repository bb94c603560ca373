//! Gate `site_layout`: pages are in the folders of their sections, and no two have the same address.

use std::collections::BTreeMap;

use super::{Checked, Found, Gate, GateInput, Layout, RunInput};
use crate::config::Section;
use crate::issue::{Rule, Severity, quote};
use crate::site::Page;

pub(super) const GATE: Gate = Gate {
    name: "site_layout",
    about: "Pages are where their sections are, and no two have one address.",
    rules: &[DUPLICATE_ADDRESS, CASE_COLLISION, OUTSIDE_LAYOUT],
    check,
};

const DUPLICATE_ADDRESS: Rule = Rule::new("duplicate_address", "Two pages have the same address");
const CASE_COLLISION: Rule = Rule::new("case_collision", "Two paths differ only in case");
pub(super) const OUTSIDE_LAYOUT: Rule = Rule::new("outside_layout", "A page is not where its section is");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    addresses(input, found);
    case_collisions(input, found);
    if let Some(run) = input.run
        && let Some(layout) = run.layout
    {
        layout_of_run(run, layout, found);
    }
    Checked::Done
}

/// Compares the addresses of all pages, because a new page may take that of an old one. Conflicts of old pages are not reported in a run.
fn addresses(input: &GateInput<'_>, found: &mut Found) {
    let scope = input.scope();
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for page in input.site.pages() {
        let address = address(page);
        let Some(other) = taken.get(&address) else {
            taken.insert(address, &page.path);
            continue;
        };
        if let Some((path, other)) = scope.one_of(&page.path, other) {
            let severity = input.severity(Severity::Blocker, Severity::Warning);
            let message = format!("{} has the same address, {}.", quote(other), quote(&address));
            found.add_to_file(&DUPLICATE_ADDRESS, severity, path, &address, message);
        }
    }
}

/// Returns the address of a page: that of its front matter, or else its path without extension. A README does not conflict with the page of
/// its folder, because it is meant for readers of the repository.
fn address(page: &Page) -> String {
    let given = page.front_matter.text("url").or_else(|| page.front_matter.text("permalink"));
    if let Some(url) = given {
        return url.trim_end_matches('/').to_owned();
    }
    let stem = page.path.rsplit_once('.').map_or(page.path.as_str(), |(stem, _)| stem);
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    match name {
        "index" | "_index" => format!("/{folder}").trim_end_matches('/').to_owned(),
        _ => format!("/{stem}"),
    }
}

/// Finds paths that are one file on systems that ignore case.
fn case_collisions(input: &GateInput<'_>, found: &mut Found) {
    let scope = input.scope();
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for path in input.site.files() {
        let other = taken.insert(path.to_lowercase(), path);
        if let Some((path, other)) = other.and_then(|other| scope.one_of(path, other)) {
            let severity = input.severity(Severity::Error, Severity::Warning);
            let message = format!("{} differs only in case.", quote(other));
            found.add_to_file(&CASE_COLLISION, severity, path, other, message);
        }
    }
}

/// Compares the planned pages with the layout.
fn layout_of_run(run: &RunInput<'_>, layout: &Layout, found: &mut Found) {
    for page in run.pages {
        let Some(folder) = layout.folders.iter().find(|folder| folder.section == page.section) else {
            let message = format!("The site has no folder for the section `{}`.", page.section.as_str());
            found.add_to_file(&OUTSIDE_LAYOUT, Severity::Blocker, &page.path, "section", message);
            continue;
        };
        let platform = folder.platform.as_ref().map(|platform| format!("{platform}/")).unwrap_or_default();
        // The language of a page of the blog is part of its file name.
        let expected: Vec<String> = match page.section {
            Section::Blog => vec![format!("{}/{platform}", folder.folder)],
            _ => {
                layout.locales.iter().map(|locale| format!("{}/{locale}/{platform}", folder.folder)).collect()
            }
        };
        if !expected.iter().any(|prefix| page.path.starts_with(prefix.as_str())) {
            let message = format!("The page must be below {}.", quote(&expected.join(" or ")));
            found.add_to_file(&OUTSIDE_LAYOUT, Severity::Blocker, &page.path, "folder", message);
        }
    }
}
