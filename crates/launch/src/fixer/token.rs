//! Replaces template tokens whose values are known, and removes lines with other tokens.

use std::sync::LazyLock;

use regex::Regex;

use super::{FixInput, Repair, by_patch, replace_line};
use crate::config::RunConfig;
use crate::pattern::pattern;

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"__([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)__|\{\{\s*([A-Za-z][A-Za-z0-9_ .-]*)\s*\}\}")
});

/// Replaces the tokens of the line, or removes it.
pub(super) fn fix(input: &FixInput<'_>) -> Option<Repair> {
    let (page, number, line) = input.line()?;
    let written = TOKEN.replace_all(line, |found: &regex::Captures<'_>| {
        let name = found.get(1).or_else(|| found.get(2)).map_or("", |name| name.as_str());
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        value(name, input.config).unwrap_or(whole).to_owned()
    });
    if TOKEN.is_match(&written) || written == line {
        return Some(by_patch(replace_line(page, number, None), "the line with the token was taken away"));
    }
    Some(by_patch(replace_line(page, number, Some(&written)), "the token was replaced by its value"))
}

/// Returns the value of a token.
fn value<'c>(name: &str, config: &'c RunConfig) -> Option<&'c str> {
    match name.trim().to_lowercase().replace([' ', '-', '.'], "_").as_str() {
        "product" | "product_name" | "name" => Some(&config.product_name),
        "product_slug" | "slug" => Some(&config.product_slug),
        "family" => config.family.as_deref(),
        _ => None,
    }
}
