//! Gate `template_token_lint`: no token of a template is left in a page or in its path.

use std::sync::LazyLock;

use regex::Regex;

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};
use crate::pattern::pattern;

pub(super) const GATE: Gate = Gate {
    name: "template_token_lint",
    about: "No token of a template is left in a page or in its path.",
    rules: &[TOKEN],
    check,
};

const TOKEN: Rule = Rule::fixable("template_token", "A token of a template was not replaced");

/// `__PRODUCT_NAME__`: words in capitals between two underscores. A single word is emphasised text as often as not.
static WORDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+__"));
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"__[A-Z][A-Z0-9]+__"));
/// `{{ product }}`; anything that begins with `{{<` or `{{%` is a Hugo shortcode.
static BRACES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{\{[^<%{}\n][^{}\n]{0,200}\}\}"));
/// The same with a word in capitals, which no template language needs.
static CAPITALS_IN_BRACES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{\{\s*[A-Z][A-Z0-9_]+\s*\}\}"));

/// Words that look like tokens but are part of languages.
const NO_TOKENS: &[&str] = &["__VA_ARGS__", "__VA_OPT__", "__BYTE_ORDER__", "__PRETTY_FUNCTION__"];

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let in_run: &[&LazyLock<Regex>] = &[&WORDS, &WORD, &BRACES];
    let alone: &[&LazyLock<Regex>] = &[&WORDS, &CAPITALS_IN_BRACES];
    let patterns = if input.run.is_some() { in_run } else { alone };
    let severity = input.severity(Severity::Blocker, Severity::Error);
    for page in input.pages() {
        for pattern in patterns {
            for token in pattern.find_iter(&page.masked).filter(|token| !NO_TOKENS.contains(&token.as_str()))
            {
                let place = (page.path.as_str(), page.line_at(token.start()));
                let message = format!("The token {} was not replaced.", quote(token.as_str()));
                found.add(&TOKEN, severity, place, token.as_str(), message);
            }
            if let Some(token) = pattern.find(&page.path) {
                let message = format!("The path has the token {}.", quote(token.as_str()));
                found.add_to_file(&TOKEN, severity, &page.path, token.as_str(), message);
            }
        }
    }
    Checked::Done
}
