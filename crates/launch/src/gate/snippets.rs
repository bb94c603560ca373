//! Gate `snippets`: examples parse, and their imports and calls exist; so do names between backticks.

use std::collections::BTreeSet;

use super::known_names::{Knowledge, is_history, knowledge};
use super::own_modules::own_module;
use super::{Checked, Found, Gate, GateInput, RunInput};
use crate::claim::span_sha256;
use crate::evidence::{Evidence, is_multiword, name_in};
use crate::issue::{Rule, Severity, quote};
use crate::site::{CodeBlock, Page};
use crate::snippet::{ParsedSnippet, SnippetUse};

pub(super) const GATE: Gate = Gate {
    name: "snippets",
    about: "Examples parse, and what they import and call exists.",
    rules: &[SYNTAX, STALE_IMPORT, STALE_NAME, UNKNOWN_NAME, NOT_IN_CATALOG],
    check,
};

const SYNTAX: Rule = Rule::fixable("snippet_syntax", "An example does not parse");
const STALE_IMPORT: Rule =
    Rule::fixable("stale_import", "An example imports what the repository does not have");
const STALE_NAME: Rule = Rule::fixable("stale_name", "An example uses what the repository does not have");
const UNKNOWN_NAME: Rule = Rule::new("unknown_name", "The repository has no such name");
const NOT_IN_CATALOG: Rule = Rule::fixable("snippet_not_in_catalog", "An example is not from the repository");

/// Languages whose programs call functions of others only after importing them.
const IMPORTING: &[&str] = &["rust", "python", "go", "javascript", "typescript", "tsx"];
/// Functions that a browser or a language offers without an import.
const GLOBALS: &[&str] = &[
    "setTimeout", "setInterval", "clearTimeout", "clearInterval", "setImmediate", "parseInt", "parseFloat",
    "isNaN", "isFinite", "queueMicrotask", "structuredClone", "encodeURIComponent", "decodeURIComponent",
    "encodeURI", "decodeURI", "requestAnimationFrame", "cancelAnimationFrame", "addEventListener",
    "beforeEach", "afterEach", "beforeAll", "afterAll",
];

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    for page in input.pages() {
        for snippet in input.snippets_of(page) {
            if let Some(line) = snippet.syntax_error {
                let severity = input.severity(Severity::Error, Severity::Warning);
                let message = format!("The {} example does not parse here.", snippet.language);
                found.add(&SYNTAX, severity, (&page.path, line), &block_text(page, snippet), message);
            }
            if let Ok(evidence) = input.evidence
                && !is_history(page)
            {
                check_names(input, page, snippet, evidence, found);
            }
        }
        if let Ok(evidence) = input.evidence
            && !is_history(page)
        {
            code_spans(page, evidence, found);
        }
        if let Some(run) = input.run {
            catalog(run, page, found);
        }
    }
    match input.evidence {
        Ok(_) => Checked::Done,
        Err(reason) => Checked::Unable(format!("names were not looked up: {reason}")),
    }
}

/// Returns the code of a snippet, which distinguishes its issues.
fn block_text(page: &Page, snippet: &ParsedSnippet) -> String {
    let block = page.code_blocks.iter().find(|block| block.line == snippet.line);
    block.map(|block| block.code.clone()).unwrap_or_default()
}

fn check_names(
    input: &GateInput<'_>,
    page: &Page,
    snippet: &ParsedSnippet,
    evidence: &dyn Evidence,
    found: &mut Found,
) {
    // Names that belong to modules of the repository, and all names that are imported.
    let (mut own, mut imported) = (BTreeSet::new(), BTreeSet::new());
    for import in &snippet.imports {
        let local = import.local.as_deref().or(import.name.as_deref());
        imported.extend(local);
        let Some(module) = own_module(snippet.language, &import.module, evidence) else { continue };
        own.extend(local);
        let name = import.name.as_deref().filter(|name| !matches!(*name, "default" | "*" | "self"));
        let unknown = module.unknown.or_else(|| name.filter(|name| !evidence.mentions(name)));
        if let Some(unknown) = unknown {
            let message =
                format!("The repository has no {} any more; the example imports it.", quote(unknown));
            found.add(&STALE_IMPORT, Severity::Error, (&page.path, import.line), unknown, message);
        }
    }
    for used in &snippet.uses {
        let Some(unknown) = unknown_use(snippet, used, (&own, &imported), evidence) else { continue };
        let severity = input.severity(Severity::Error, Severity::Warning);
        let message = format!("The repository has no {}; the example uses it.", quote(unknown));
        found.add(&STALE_NAME, severity, (&page.path, used.line), unknown, message);
    }
}

/// Returns the part of a used name that the repository should have but does not.
fn unknown_use<'s>(
    snippet: &ParsedSnippet,
    used: &'s SnippetUse,
    (own, imported): (&BTreeSet<&str>, &BTreeSet<&str>),
    evidence: &dyn Evidence,
) -> Option<&'s str> {
    let (first, members) = used.parts.split_first()?;
    if snippet.defined.contains(first) {
        return None;
    }
    if members.is_empty() {
        let is_ours = used.is_call
            && is_multiword(first)
            && !imported.contains(first.as_str())
            && !GLOBALS.contains(&first.as_str())
            && IMPORTING.contains(&snippet.language)
            && evidence.code_languages().contains_key(snippet.language);
        return (is_ours && !evidence.mentions(first)).then_some(first.as_str());
    }
    let is_path = snippet.language == "rust" && own_module("rust", first, evidence).is_some();
    let is_own = own.contains(first.as_str()) || is_path;
    let unknown = || members.iter().find(|part| is_multiword(part) && !evidence.mentions(part));
    is_own.then(unknown).flatten().map(String::as_str)
}

/// Looks up names between backticks.
fn code_spans(page: &Page, evidence: &dyn Evidence, found: &mut Found) {
    for span in &page.code_spans {
        let Some(name) = name_in(&span.code) else { continue };
        let severity = match knowledge(&name, evidence) {
            Knowledge::Known => continue,
            Knowledge::Gone => Severity::Warning,
            Knowledge::Unknown => Severity::Info,
        };
        let message = format!("Nothing in the repository is named {}.", quote(name.last()));
        found.add(&UNKNOWN_NAME, severity, (&page.path, span.line), name.last(), message);
    }
}

/// Returns `true` if the fence of a block has more than a language, such as a title, which themes show.
fn has_more(block: &CodeBlock) -> bool {
    let info = block.info.as_deref().map(str::trim).unwrap_or_default();
    !info.is_empty() && !block.language().is_some_and(|language| info.eq_ignore_ascii_case(&language))
}

/// Compares all code of a page with the snippets taken from the repository, whether or not its language is given.
fn catalog(run: &RunInput<'_>, page: &Page, found: &mut Found) {
    for block in page.code_blocks.iter().filter(|block| !block.code.trim().is_empty() || has_more(block)) {
        let is_install = run.install_commands.iter().any(|command| block.code.trim() == command.trim());
        let is_known = is_install || run.snippet_hashes.contains(&span_sha256(&block.code));
        if !is_known || has_more(block) {
            let message = "The example is not one that was taken from the repository.".to_owned();
            found.add(&NOT_IN_CATALOG, Severity::Error, (&page.path, block.line), &block.code, message);
        }
    }
}
