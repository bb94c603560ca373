//! Paths of planned pages.

use crate::config::{LOCALE_DEFAULT, RunConfig, Section};
use crate::forms::SiteContext;
use crate::render::ruleset::PageRule;

/// The path of a page in the site.
pub(super) fn output_path(rule: &PageRule, context: &SiteContext, config: &RunConfig) -> String {
    let root = context.roots.get(&rule.section).map(String::as_str).unwrap_or_default();
    let file = rule.file.replace("{slug}", &config.product_slug);
    // A blog page has its language in its name where other pages have it as a folder.
    let locale = Some(config.locale()).filter(|locale| {
        rule.section == Section::Blog && *locale != LOCALE_DEFAULT && !context.folders.is_empty()
    });
    match locale {
        Some(locale) => format!("{root}/{file}.{locale}.md"),
        None => format!("{root}/{file}.md"),
    }
}
