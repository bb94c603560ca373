//! Gate `limitations_and_distribution`: pages state the limitations of the product, and install it under its name.

use std::sync::LazyLock;

use regex::Regex;

use super::{Checked, Found, Gate, GateInput, RunInput};
use crate::claim::{ClaimKind, Claims};
use crate::config::Section;
use crate::evidence::Evidence;
use crate::issue::{Rule, Severity, quote};
use crate::manifest::{Ecosystem, Package};
use crate::pattern::pattern;
use crate::site::Page;

pub(super) const GATE: Gate = Gate {
    name: "limitations_and_distribution",
    about: "Pages admit what the product does not do, and install it under its name.",
    rules: &[NO_LIMITATIONS, INSTALL_NAME, INSTALL_COMMAND],
    check,
};

const NO_LIMITATIONS: Rule = Rule::fixable("no_limitations", "Known limitations are not mentioned");
const INSTALL_NAME: Rule =
    Rule::new("install_name", "A command installs a package with nearly the name of this one");
const INSTALL_COMMAND: Rule =
    Rule::fixable("install_command", "A command installs the product in another way than its manifests say");

/// Commands that install packages, with their names.
const INSTALLERS: &[(&str, Ecosystem)] = &[
    (r"(?m)\bcargo (?:install|add|binstall)((?: +[^\s`]+)+)", Ecosystem::Cargo),
    (
        r"(?m)\b(?:npm (?:install|i|add)|yarn (?:global )?add|pnpm (?:add|install)|npx|bun add)((?: +[^\s`]+)+)",
        Ecosystem::Npm,
    ),
    (r"(?m)\b(?:pip3?|pipx|uv(?: pip| tool)?|poetry) (?:install|add)((?: +[^\s`]+)+)", Ecosystem::Python),
    (r"(?m)\bcomposer require((?: +[^\s`]+)+)", Ecosystem::Composer),
    (r"(?m)\bgem install((?: +[^\s`]+)+)", Ecosystem::Ruby),
];

static PATTERNS: LazyLock<Vec<(Regex, Ecosystem)>> =
    LazyLock::new(|| INSTALLERS.iter().map(|(text, ecosystem)| (pattern(text), *ecosystem)).collect());

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    if let (Some(run), Some(claims)) = (input.run, input.claims) {
        limitations(input, run, claims, found);
    }
    let evidence = match input.evidence {
        Ok(evidence) => evidence,
        Err(reason) => return Checked::Unable(reason.to_owned()),
    };
    for page in input.pages() {
        install_commands(input, page, evidence, found);
    }
    Checked::Done
}

/// Pages of docs and reference have a heading about limitations if there are claims about them.
fn limitations(input: &GateInput<'_>, run: &RunInput<'_>, claims: &Claims, found: &mut Found) {
    let is_known =
        claims.by_id.values().any(|claim| claim.kind == ClaimKind::Limitation && claim.replaced_by.is_none());
    if !is_known {
        return;
    }
    for section in [Section::Docs, Section::Reference] {
        let mut pages = run.pages.iter().filter(|page| page.section == section).peekable();
        // People decide on the content of the pages that they wrote.
        let is_planned = pages.peek().is_some() && run.kept.iter().all(|kept| kept.section != section);
        let is_there = pages
            .filter_map(|planned| input.site.page(&planned.path))
            .flat_map(|page| &page.headings)
            .any(|heading| heading.text.to_lowercase().contains("limitation"));
        if is_planned && !is_there {
            let message = format!("No page of `{}` has a heading about limitations.", section.as_str());
            found.add_to_site(&NO_LIMITATIONS, Severity::Error, section.as_str(), message);
        }
    }
}

fn install_commands(input: &GateInput<'_>, page: &Page, evidence: &dyn Evidence, found: &mut Found) {
    for (line, ecosystem, words) in
        commands(&page.text).map(|(at, ecosystem, words)| (page.line_at(at), ecosystem, words))
    {
        let own: Vec<&str> = evidence
            .packages()
            .iter()
            .filter(|package| package.ecosystem == ecosystem)
            .map(|package| package.name.as_str())
            .collect();
        for name in words.split_whitespace().filter_map(package_name) {
            if own.iter().any(|own| same_package(ecosystem, own, name)) {
                continue;
            }
            if let Some(near) = own.iter().find(|own| is_near(own, name)) {
                let severity = input.severity(Severity::Error, Severity::Warning);
                let message =
                    format!("The command installs {}; the package is {}.", quote(name), quote(near));
                found.add(&INSTALL_NAME, severity, (&page.path, line), name, message);
            }
        }
        if let Some(run) = input.run {
            let is_promised = run.install_commands.iter().any(|command| command.contains(words.trim()));
            let is_own = words.split_whitespace().filter_map(package_name).any(|name| own.contains(&name));
            if is_own && !is_promised {
                let message = format!("{} is not how the manifests install it.", quote(words));
                found.add(&INSTALL_COMMAND, Severity::Error, (&page.path, line), words, message);
            }
        }
    }
}

/// Returns `true` if a line is one command that installs one of these packages, with no options and nothing else.
pub(crate) fn installs_one_of(line: &str, packages: &[Package]) -> bool {
    let line = line.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@ ".contains(c);
    if !line.chars().all(is_plain) {
        return false;
    }
    commands(line).any(|(at, ecosystem, words)| {
        let name = words.trim();
        let is_whole = at + words.len() == line.len() && line.split_whitespace().count() <= INSTALL_WORDS_MAX;
        let is_own = |package: &Package| {
            package.ecosystem == ecosystem && same_package(ecosystem, &package.name, name)
        };
        is_whole && package_name(name) == Some(name) && packages.iter().any(is_own)
    })
}

/// Maximum number of words of a command that installs a package: `uv pip install shop`.
const INSTALL_WORDS_MAX: usize = 4;

/// Finds the commands of a text that install packages: offset, ecosystem and arguments.
fn commands(text: &str) -> impl Iterator<Item = (usize, Ecosystem, &str)> {
    PATTERNS.iter().flat_map(move |(pattern, ecosystem)| {
        let arguments = pattern.captures_iter(text).filter_map(|command| command.get(1));
        arguments.map(|words| {
            let without_comment = words.as_str().split_once(" #").map_or(words.as_str(), |(words, _)| words);
            (words.start(), *ecosystem, without_comment)
        })
    })
}

/// Returns the name of a package in an argument, without version and extras; `None` for options, paths and addresses.
fn package_name(argument: &str) -> Option<&str> {
    let argument = argument.trim_matches(['"', '\'', ',', ';', ')', '(', '`']);
    let is_scoped = argument.starts_with('@');
    let at = argument
        .char_indices()
        .skip(usize::from(is_scoped))
        .find(|(_, c)| matches!(c, '@' | '[' | '=' | '<' | '>' | '~' | '!' | ':'));
    let name = argument.get(..at.map_or(argument.len(), |(at, _)| at))?;
    let is_name = name.len() >= 3
        && !name.starts_with(['-', '.', '/'])
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@".contains(c));
    is_name.then_some(name)
}

fn same_package(ecosystem: Ecosystem, own: &str, name: &str) -> bool {
    match ecosystem {
        // PyPI ignores case and the kind of separator; crates.io ignores only the latter.
        Ecosystem::Python => plain(own) == plain(name),
        Ecosystem::Cargo => own.replace('_', "-") == name.replace('_', "-"),
        _ => own == name,
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Returns `true` if a name is nearly that of a package, and thus probably a mistake: the same but for case and separators, or one letter
/// off in a long name.
fn is_near(own: &str, name: &str) -> bool {
    let folded = |text: &str| text.to_lowercase().replace(['-', '_', '.'], "");
    let (own, name) = (folded(own), folded(name));
    own == name || (own.len() >= 7 && own.len().abs_diff(name.len()) <= 1 && differs_by_one(&own, &name))
}

/// Returns `true` if one text becomes the other by adding, removing or replacing one byte.
fn differs_by_one(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let rest = |bytes: &[u8]| bytes.get(start..).unwrap_or_default().to_vec();
    let (one, other) = (rest(one), rest(other));
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    one.len().max(other.len()) - end <= 1
}
