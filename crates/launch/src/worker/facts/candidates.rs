//! Code of the repository that may become a snippet, and commands that install its packages.

use std::collections::BTreeSet;

use crate::claim::span_sha256;
use crate::evidence::Evidence;
use crate::forms::CatalogSnippet;
use crate::gate::installs_one_of;
use crate::site::{CodeBlock, PAGE_ITEMS_MAX, Page};

/// Maximum number of candidates, and of lines and bytes of the code of one.
const CANDIDATES_MAX: usize = 200;
const LINES_MAX: usize = 60;
const BYTES_MAX: usize = 4_000;
/// Maximum number of commands.
const COMMANDS_MAX: usize = 5;
/// The language of commands, which are not examples of code.
const SHELL: &str = "bash";

/// The code in documents and examples.
#[derive(Debug, Default)]
pub(super) struct ShownCode {
    /// Code in the order of the documents, that of examples last.
    pub(super) snippets: Vec<CatalogSnippet>,
    /// Commands, each once.
    pub(super) install_commands: Vec<String>,
}

/// Reads the code of documents and examples.
pub(super) fn shown_code(evidence: &dyn Evidence, documents: &[String], examples: &[String]) -> ShownCode {
    let mut shown = ShownCode::default();
    let mut seen = BTreeSet::new();
    for path in documents {
        let Some(text) = evidence.text(path) else { continue };
        let page = Page::parse(path, text.to_owned(), PAGE_ITEMS_MAX);
        for block in page.code_blocks.iter().filter(|block| block.is_closed) {
            shown.add_commands(block, evidence);
            if let Some(language) = block.language() {
                shown.add(path, block.code_line, &language, &block.code, &mut seen);
            }
        }
    }
    for path in examples {
        let language = languages::detect(path, b"").map(|language| language.id);
        if let (Some(language), Some(text)) = (language, evidence.text(path)) {
            shown.add(path, 1, language, text, &mut seen);
        }
    }
    shown
}

impl ShownCode {
    fn add(&mut self, path: &str, line: u32, language: &str, code: &str, seen: &mut BTreeSet<String>) {
        let is_example = languages::by_name(language)
            .is_some_and(|known| known.has_grammar() && known.is_code() && known.id != SHELL);
        let is_plain_name =
            language.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-'));
        let is_short = code.len() <= BYTES_MAX && code.lines().count() <= LINES_MAX;
        // Site generators evaluate text between two braces even within code.
        let is_text = !code.contains("{{") && !code.contains("{%") && !code.contains('\0');
        let is_empty = code.trim().is_empty();
        if !is_example || !is_plain_name || !is_short || !is_text || is_empty {
            return;
        }
        let sha256 = span_sha256(code);
        if self.snippets.len() < CANDIDATES_MAX && seen.insert(sha256.clone()) {
            self.snippets.push(CatalogSnippet {
                sha256,
                path: path.to_owned(),
                start_line: line,
                language: language.to_owned(),
                code: code.to_owned(),
            });
        }
    }

    fn add_commands(&mut self, block: &CodeBlock, evidence: &dyn Evidence) {
        for line in block.code.lines() {
            let command = line.trim().strip_prefix("$ ").unwrap_or(line.trim());
            let is_new = self.install_commands.iter().all(|known| known != command);
            if is_new
                && self.install_commands.len() < COMMANDS_MAX
                && installs_one_of(command, evidence.packages())
            {
                self.install_commands.push(command.to_owned());
            }
        }
    }
}
