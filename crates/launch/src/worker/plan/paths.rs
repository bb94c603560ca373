//! Paths of planned pages, none of which takes the place of a page that people wrote.

use crate::claim::is_mark_of_a_run;
use crate::config::{LOCALE_DEFAULT, RunConfig, Section};
use crate::forms::{PagePlan, SiteContext};
use crate::render::ruleset::PageRule;
use crate::site::{PAGE_ITEMS_MAX, Page};
use crate::worker::{WorkItem, WorkerError};

/// The path of a page in the site.
pub(super) fn output_path(rule: &PageRule, context: &SiteContext, config: &RunConfig) -> String {
    let root = context.roots.get(&rule.section).map(String::as_str).unwrap_or_default();
    let file = rule.file.replace("{slug}", &config.product_slug);
    // The language of a page of the blog is part of its name where that of others is a folder.
    let locale = Some(config.locale()).filter(|locale| {
        rule.section == Section::Blog && *locale != LOCALE_DEFAULT && !context.folders.is_empty()
    });
    match locale {
        Some(locale) => format!("{root}/{file}.{locale}.md"),
        None => format!("{root}/{file}.md"),
    }
}

/// Refuses a plan with a page at the address of another one. Pages of an earlier run are written again.
pub(super) fn check_paths(item: &WorkItem<'_>, plan: &PagePlan) -> Result<(), WorkerError> {
    let existing = item.site.paths();
    for page in &plan.pages {
        let path = &page.output_path;
        let neighbour = existing.iter().find(|other| *other != path && has_same_address(other, path));
        let is_foreign = || existing.contains(path) && !is_of_a_run(item, path);
        let taken = neighbour.or_else(|| is_foreign().then_some(path));
        if let Some(taken) = taken {
            let message =
                format!("The page `{path}` would take the address of `{taken}`, which no run wrote.");
            return Err(WorkerError::new("URL_COLLISION", message));
        }
    }
    Ok(())
}

/// Whether a page has a mark of a run.
fn is_of_a_run(item: &WorkItem<'_>, path: &str) -> bool {
    item.site_text(path).is_some_and(|text| {
        let page = Page::parse(path, text, PAGE_ITEMS_MAX);
        page.comments.iter().any(|comment| is_mark_of_a_run(&comment.text))
    })
}

/// Whether two paths are served at one address: a page, or the index of a folder of its name.
fn has_same_address(one: &str, other: &str) -> bool {
    let address = |path: &str| {
        let (stem, extension) = path.rsplit_once('.')?;
        let is_page = ["md", "markdown"].iter().any(|known| extension.eq_ignore_ascii_case(known));
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let address = if matches!(name, "index" | "_index") { folder } else { stem };
        is_page.then(|| address.to_lowercase())
    };
    address(one).is_some_and(|one| Some(one) == address(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_and_the_index_of_its_folder_have_one_address() {
        for (one, other) in
            [("a/b.md", "a/b/index.md"), ("a/b.md", "a/b/_index.md"), ("a/B.md", "a/b.markdown")]
        {
            assert!(has_same_address(one, other) && has_same_address(other, one), "{one} {other}");
        }
        for (one, other) in
            [("a/b.md", "a/c.md"), ("a/b.md", "a/b.png"), ("a/b", "a/b.md"), ("a/b.md", "a/b/c.md")]
        {
            assert!(!has_same_address(one, other), "{one} {other}");
        }
    }
}
