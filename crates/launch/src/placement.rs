//! Placement of the pages of a section: below the paths that may be changed, and following the existing layout of the site.

use std::collections::{BTreeMap, BTreeSet};

use crate::claim::is_mark_of_a_run;
use crate::config::{LayoutMode, RunConfig, Section};
use crate::forms::{Folder, FrontMatterStyle, SiteContext};
use crate::gate::{FrontMatterContract, discover_contract};
use crate::site::{FrontMatter, FrontMatterFormat, Page, Site};

/// Fewest pages from which the keys that every page has can be derived.
const SAMPLE_MIN: u32 = 5;
/// Pages whose values are compared.
const SHARED_SAMPLE_MAX: usize = 50;

/// Returns the folder in which the site gets the pages of each section.
#[must_use]
pub fn site_context(site: &Site, config: &RunConfig) -> SiteContext {
    let locale = config.locale();
    let bases: BTreeMap<Section, String> =
        config.required_sections.iter().map(|section| (*section, base_of(*section, config))).collect();
    let families: BTreeMap<Section, String> =
        bases.iter().map(|(section, base)| (*section, family_folder(base, config))).collect();
    let is_localised = config.layout_mode == LayoutMode::V2
        || families.iter().any(|(section, folder)| {
            *section != Section::Blog && has_locale(site, folder, &bases, *section, locale)
        });
    let mut context = SiteContext::default();
    for (section, base) in &bases {
        let mut root = base.clone();
        if is_localised {
            let folder = families.get(section).cloned().unwrap_or_default();
            let below = if *section == Section::Blog { folder.clone() } else { format!("{folder}/{locale}") };
            let platform = platform_folder(site, &below, config);
            root = platform.as_ref().map_or_else(|| below.clone(), |platform| format!("{below}/{platform}"));
            context.folders.push(Folder { section: *section, folder, platform });
        }
        context.roots.insert(*section, with_slug(&root, &config.product_slug));
    }
    context
}

/// The folder of a section among the allowed paths: the one that is named after it, else one of its own below the first.
fn base_of(section: Section, config: &RunConfig) -> String {
    let name = section.as_str();
    let named = config.allowed_paths.iter().find(|path| is_named_after(path, section));
    let first = || config.allowed_paths.first().map(String::as_str).unwrap_or_default();
    match named {
        Some(path) => path.clone(),
        None => format!("{}/{name}", first()),
    }
}

/// Returns `true` if a path has a part that is the name of a section, or begins with it and a dot.
pub(crate) fn is_named_after(path: &str, section: Section) -> bool {
    let name = section.as_str();
    let is_named =
        |part: &str| part == name || part.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    path.split('/').any(is_named)
}

/// The folder of the product's family.
fn family_folder(base: &str, config: &RunConfig) -> String {
    match &config.family {
        Some(family) if base.split('/').all(|part| part != family) => format!("{base}/{family}"),
        _ => base.to_owned(),
    }
}

/// Returns `true` if pages of a section are in a folder of their language: those of the family or, if it is new, of another one.
fn has_locale(
    site: &Site,
    family: &str,
    bases: &BTreeMap<Section, String>,
    section: Section,
    locale: &str,
) -> bool {
    let has = |folder: &str| site.exists(&format!("{folder}/{locale}"));
    let Some(base) = bases.get(&section).filter(|base| base.as_str() != family) else { return has(family) };
    has(family)
        || site.files().iter().filter_map(|path| path.strip_prefix(base.as_str())?.strip_prefix('/')).any(
            |path| {
                let mut parts = path.split('/');
                parts.next().is_some() && parts.next() == Some(locale) && parts.next().is_some()
            },
        )
}

/// The folder of the platform, if pages have one.
fn platform_folder(site: &Site, below: &str, config: &RunConfig) -> Option<String> {
    let platform = serde_json::to_value(config.target_platform).ok()?.as_str()?.to_owned();
    let is_used = match config.layout_mode {
        LayoutMode::V1 => false,
        LayoutMode::V2 => true,
        LayoutMode::Auto => site.exists(&format!("{below}/{platform}")),
    };
    is_used.then_some(platform)
}

/// A folder for the product, unless the path has one.
fn with_slug(root: &str, slug: &str) -> String {
    if root.split('/').any(|part| part == slug) { root.to_owned() } else { format!("{root}/{slug}") }
}

/// Derives the contents and format of the front matter from the pages around a folder; without pages there, from those around its parent.
/// Pages that runs wrote do not count: they would set a lower standard for the next run than people's pages did for this one.
#[must_use]
pub fn front_matter_of(site: &Site, folder: &str) -> (FrontMatterContract, FrontMatterStyle) {
    let mut folder = folder;
    loop {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let counts = |page: &&Page| page.path.starts_with(&prefix) && !is_index(page) && !is_of_a_run(page);
        let pages: Vec<&Page> = site.pages().iter().filter(counts).collect();
        if !pages.is_empty() || folder.is_empty() {
            return (contract(&pages), style(&pages));
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

fn is_of_a_run(page: &Page) -> bool {
    page.comments.iter().any(|comment| is_mark_of_a_run(&comment.text))
}

/// Returns `true` if a page represents a folder; such pages have front matter of their own kind.
fn is_index(page: &Page) -> bool {
    let name = page.path.rsplit('/').next().unwrap_or(&page.path);
    name == "_index.md" || name.eq_ignore_ascii_case("readme.md")
}

fn contract(pages: &[&Page]) -> FrontMatterContract {
    let mut contract = discover_contract(pages.iter().copied());
    if contract.sample_size < SAMPLE_MIN {
        // A few pages do not show which keys all pages have; only a title is always required.
        let (title, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut contract.required).into_iter().partition(|(key, _)| key == "title");
        contract.required = title;
        contract.optional.extend(others);
    }
    contract
}

fn style(pages: &[&Page]) -> FrontMatterStyle {
    let written: Vec<_> = pages
        .iter()
        .filter_map(|page| match &page.front_matter {
            FrontMatter::Fields { format, fields } if !fields.is_empty() => Some((*format, fields)),
            _ => None,
        })
        .take(SHARED_SAMPLE_MAX)
        .collect();
    let tomls = written.iter().filter(|(format, _)| *format == FrontMatterFormat::Toml).count();
    // The majority of pages decides whether there is front matter.
    let is_usual = written.len() * 2 > pages.len().min(SHARED_SAMPLE_MAX);
    let format = match tomls * 2 > written.len() {
        true => FrontMatterFormat::Toml,
        false => FrontMatterFormat::Yaml,
    };
    let keys: BTreeSet<&String> = written.first().into_iter().flat_map(|(_, fields)| fields.keys()).collect();
    let shared = keys.into_iter().filter_map(|key| {
        let value = written.first()?.1.get(key)?;
        let is_shared = written.len() > 1 && written.iter().all(|(_, fields)| fields.get(key) == Some(value));
        is_shared.then(|| (key.clone(), value.clone()))
    });
    FrontMatterStyle { format: is_usual.then_some(format), shared: shared.collect(), date: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::site::{MemoryFiles, SiteLimits};
    use crate::worker::scene::config;

    fn site(paths: &[(&str, &str)]) -> Site {
        let files: MemoryFiles = paths.iter().copied().collect();
        Site::read(&files, None, &SiteLimits::default())
    }

    fn roots(context: &SiteContext) -> Vec<&str> {
        context.roots.values().map(String::as_str).collect()
    }

    #[test]
    fn sections_have_folders_below_the_allowed_paths() {
        let empty = site(&[]);
        let context = site_context(&empty, &config(&json!({})));
        assert_eq!(roots(&context), ["content/docs/shop", "content/docs/reference/shop"]);
        assert!(context.folders.is_empty());
        let own = config(&json!({ "allowed_paths": ["content/docs/shop"] }));
        assert_eq!(roots(&site_context(&empty, &own)), ["content/docs/shop", "content/docs/shop/reference"]);
        let hosts = config(
            &json!({ "allowed_paths": ["content/docs.example.com", "content/reference.example.com"] }),
        );
        assert_eq!(
            roots(&site_context(&empty, &hosts)),
            ["content/docs.example.com/shop", "content/reference.example.com/shop"]
        );
    }

    #[test]
    fn languages_and_platforms_are_folders_where_the_site_has_them() {
        let site =
            site(&[("content/docs/cells/en/java/a.md", "# A\n"), ("content/docs/words/en/a.md", "# A\n")]);
        let change = |mode: &str| {
            config(
                &json!({ "family": "cells", "target_platform": "java", "layout_mode": mode, "required_sections": ["docs"] }),
            )
        };
        let context = site_context(&site, &change("auto"));
        assert_eq!(roots(&context), ["content/docs/cells/en/java/shop"]);
        assert_eq!(context.folders[0].platform.as_deref(), Some("java"));
        assert_eq!(roots(&site_context(&site, &change("v1"))), ["content/docs/cells/en/shop"]);
        let new = config(&json!({ "family": "slides", "required_sections": ["docs"] }));
        assert_eq!(roots(&site_context(&site, &new)), ["content/docs/slides/en/shop"], "as other families");
    }

    #[test]
    fn front_matter_is_that_of_the_pages_around() {
        let page = |title: &str| format!("---\ntitle: {title}\ntype: docs\nauthor: A{title}\n---\n");
        let texts: Vec<String> = ["a", "b", "c", "d", "e"].iter().map(|title| page(title)).collect();
        let paths: Vec<String> = (0..5).map(|number| format!("content/docs/{number}.md")).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (contract, style) = front_matter_of(&site(&files), "content/docs/shop");
        assert_eq!(contract.required.keys().collect::<Vec<_>>(), ["author", "title", "type"]);
        assert_eq!(style.format, Some(FrontMatterFormat::Yaml));
        assert_eq!(style.shared, BTreeMap::from([("type".to_owned(), json!("docs"))]));
        let (few, _) = front_matter_of(&site(&files[..2]), "content/docs/shop");
        assert_eq!(few.required.keys().collect::<Vec<_>>(), ["title"], "two pages are too few");
        let mark = "---\ntitle: Start\n---\n\nSays it. <!-- claim_id: 1 -->\n";
        let written = [files.as_slice(), &[("content/docs/shop/start.md", mark)]].concat();
        let (after, _) = front_matter_of(&site(&written), "content/docs/shop");
        assert_eq!(after, contract, "a page of a run asks for nothing");
        let (none, style) = front_matter_of(&site(&[("content/old.md", "# Old\n")]), "content/docs/shop");
        assert_eq!((none.sample_size, style.format), (0, None));
    }
}
