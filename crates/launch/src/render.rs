//! Writes pages from plans: our own templates, in which every line is a claim with its mark, or a line that states nothing.

mod front_matter;
mod markdown;
pub mod ruleset;

use std::collections::{BTreeMap, BTreeSet};

pub use front_matter::{FieldsOfPage, fields, front_matter, kept_fields};
pub(crate) use front_matter::{delimiter, field_line};
pub use markdown::{escaped, fenced, relative_link};

use crate::claim::{Claim, PAGE_MARK, line_sha256, marker};
use crate::forms::{CatalogSnippet, PlanBlock, PlanItem, PlanPage};
use crate::gate::misspelt;

/// The claims and snippets that plans refer to.
pub struct Sources<'a> {
    /// The claims by id.
    pub claims: &'a BTreeMap<String, Claim>,
    /// The snippets by hash.
    pub snippets: &'a BTreeMap<String, CatalogSnippet>,
    /// The product as pages name it.
    pub product_name: &'a str,
}

/// A missing claim or snippet that a plan refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

/// A written page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenPage {
    /// Its text.
    pub text: String,
    /// Hashes of the lines that state nothing.
    pub template_lines: BTreeSet<String>,
}

/// Writes a page.
///
/// # Errors
/// [`Missing`] if the plan refers to a claim or a snippet that is not there.
pub fn page(plan: &PlanPage, sources: &Sources<'_>) -> Result<WrittenPage, Missing> {
    let mut page = WrittenPage::default();
    if let Some(format) = plan.format {
        page.text.push_str(&front_matter(format, &plan.front_matter));
        page.text.push('\n');
    }
    if !plan.front_matter.contains_key("title") {
        add_heading(&mut page, 1, &escaped(&plan.title));
    }
    for part in &plan.blocks {
        add_block(&mut page, part, &plan.output_path, sources)?;
    }
    let mut items = plan.blocks.iter().flat_map(|block| &block.items);
    if !items.any(|item| matches!(item, PlanItem::Paragraph { .. } | PlanItem::Entry { .. })) {
        page.template_lines.insert(line_sha256(PAGE_MARK));
        page.text.push_str(PAGE_MARK);
    }
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    Ok(page)
}

/// Writes one part of a page that lies at a path.
///
/// # Errors
/// As [`page`].
pub fn block(part: &PlanBlock, path: &str, sources: &Sources<'_>) -> Result<WrittenPage, Missing> {
    let mut page = WrittenPage::default();
    add_block(&mut page, part, path, sources)?;
    Ok(page)
}

/// The line of a claim, with its mark.
#[must_use]
pub fn claim_line(claim: &Claim, product_name: &str) -> String {
    format!("{} {}", escaped(&spelt(&claim.text, product_name)), marker(&claim.claim_id))
}

/// Spells the product in a text as pages do. Code between backticks is unchanged.
#[must_use]
pub fn spelt(text: &str, product_name: &str) -> String {
    let plain = |(at, part): (usize, &str)| {
        let mut part = part.to_owned();
        if at % 2 == 0 {
            for range in misspelt(&part, product_name).into_iter().rev() {
                part.replace_range(range, product_name);
            }
        }
        part
    };
    text.split('`').enumerate().map(plain).collect::<Vec<_>>().join("`")
}

/// Writes a heading. It states nothing, so gates recognise it only as a planned line.
fn add_heading(page: &mut WrittenPage, level: u8, text: &str) {
    let line = format!("{} {text}", "#".repeat(usize::from(level)));
    page.template_lines.insert(line_sha256(&line));
    page.text.push_str(&line);
    page.text.push_str("\n\n");
}

fn add_block(
    page: &mut WrittenPage,
    part: &PlanBlock,
    path: &str,
    sources: &Sources<'_>,
) -> Result<(), Missing> {
    let heading = if part.is_code { format!("`{}`", part.heading) } else { escaped(&part.heading) };
    add_heading(page, part.level, &heading);
    let mut is_in_list = false;
    for item in &part.items {
        let is_entry = matches!(item, PlanItem::Entry { .. } | PlanItem::Link { .. });
        if is_in_list && !is_entry {
            page.text.push('\n');
        }
        is_in_list = is_entry;
        add_item(page, item, path, sources)?;
    }
    if is_in_list {
        page.text.push('\n');
    }
    Ok(())
}

fn add_item(
    page: &mut WrittenPage,
    item: &PlanItem,
    path: &str,
    sources: &Sources<'_>,
) -> Result<(), Missing> {
    let claim = |id: &String| sources.claims.get(id).ok_or_else(|| Missing(format!("the claim {id}")));
    let written = match item {
        PlanItem::Paragraph { claim_id } => {
            format!("{}\n\n", claim_line(claim(claim_id)?, sources.product_name))
        }
        PlanItem::Entry { claim_id } => format!("- {}\n", claim_line(claim(claim_id)?, sources.product_name)),
        PlanItem::Snippet { sha256 } => {
            let snippet =
                sources.snippets.get(sha256).ok_or_else(|| Missing(format!("the snippet {sha256}")))?;
            format!("{}\n", fenced(&snippet.language, &snippet.code))
        }
        PlanItem::Command { text } => format!("{}\n", fenced("sh", text)),
        PlanItem::Link { title, path: target } => {
            let line = format!("- [{}]({})", escaped(title), relative_link(path, target));
            page.template_lines.insert(line_sha256(&line));
            format!("{line}\n")
        }
        PlanItem::Line { text } => {
            page.template_lines.insert(line_sha256(text));
            format!("{text}\n\n")
        }
    };
    page.text.push_str(&written);
    Ok(())
}

#[cfg(test)]
mod tests;
