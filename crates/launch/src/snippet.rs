//! Parsed code blocks of pages: their syntax errors, their imports and calls, and their dangers.
//!
//! The caller does the parsing, because code is untrusted and grammars are not.

mod prepare;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;

use languages::risk::{RuleSet, Severity, analyse};
use languages::symbols::{Arena, Expr, ExprId, FileSymbols, Import, Imported, UseKind};
use languages::{Chunked, ChunkingMethod, Language};

use crate::site::{CodeBlock, Site};

/// Longest block that is parsed, in bytes.
const BLOCK_BYTES_MAX: usize = 64 << 10;
/// Maximum number of blocks of a site that are parsed.
const BLOCKS_MAX: usize = 20_000;
/// Maximum number of imports and uses that are kept of a block.
const NAMES_MAX: usize = 500;
/// Maximum number of parts of a name that are followed.
const PARTS_MAX: usize = 16;
/// Languages of blocks in which people write more than the language allows, such as placeholders and output.
const LENIENT: &[&str] = &["bash", "sql", "html", "css", "markdown"];

/// An import of a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetImport {
    /// The module, as the language writes it.
    pub module: String,
    /// The name that is imported from it; `None` for the module itself or for all its names.
    pub name: Option<String>,
    /// The name that it gets in the block.
    pub local: Option<String>,
    /// Line in the page.
    pub line: u32,
}

/// A use of a name in a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetUse {
    /// The parts of the name: `shop`, `orders`, `parse`.
    pub parts: Vec<String>,
    /// `true` if it is called.
    pub is_call: bool,
    /// Line in the page.
    pub line: u32,
}

/// Untrusted input that reaches a dangerous operation inside of a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetRisk {
    /// The impact.
    pub severity: Severity,
    /// The flow: `source -> sink`.
    pub flow: String,
    /// Line in the page.
    pub line: u32,
}

/// A parsed code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSnippet {
    /// Path of the page.
    pub page: String,
    /// Line of the block in the page.
    pub line: u32,
    /// Id of the language.
    pub language: &'static str,
    /// Line in the page of the first syntax error; `None` also for languages in which people write more than the language allows, and for
    /// blocks with omissions.
    pub syntax_error: Option<u32>,
    /// Its imports.
    pub imports: Vec<SnippetImport>,
    /// Its uses of names.
    pub uses: Vec<SnippetUse>,
    /// Names that it defines itself.
    pub defined: BTreeSet<String>,
    /// The danger in it.
    pub risk: Option<SnippetRisk>,
}

impl ParsedSnippet {
    /// Calls `each` with every name that the repository may have to know.
    pub fn for_each_name(&self, each: &mut dyn FnMut(&str)) {
        for import in &self.imports {
            module_parts(&import.module).into_iter().for_each(&mut *each);
            import.name.as_deref().into_iter().for_each(&mut *each);
        }
        for part in self.uses.iter().flat_map(|used| &used.parts) {
            each(part);
        }
    }
}

/// Splits a module's path into its parts, at any separator.
#[must_use]
pub fn module_parts(module: &str) -> Vec<&str> {
    module.split(['.', ':', '/', '\\']).filter(|part| !part.is_empty()).collect()
}

/// Parses the code blocks of a site. `parse` gets a language and a text, and returns the parser's result, if any.
///
/// # Errors
/// Those of `parse`.
pub fn parse_snippets<E>(
    site: &Site,
    mut parse: impl FnMut(&'static Language, &str) -> Result<Option<Chunked>, E>,
) -> Result<Vec<ParsedSnippet>, E> {
    let mut snippets = Vec::new();
    let blocks = site.pages().iter().flat_map(|page| page.code_blocks.iter().map(move |block| (page, block)));
    let known = blocks.filter_map(|(page, block)| Some((page, block, language_of(block)?)));
    for (page, block, language) in known.take(BLOCKS_MAX) {
        let prepared = prepare::prepared(language.id, &block.code);
        if let Some(chunked) = parse(language, &prepared)? {
            snippets.push(snippet(&page.path, block, language, &prepared, &chunked));
        }
    }
    Ok(snippets)
}

/// Returns the language of a block that can be parsed; `None` for one that is too long or is marked as not to be parsed.
fn language_of(block: &CodeBlock) -> Option<&'static Language> {
    let named = block.language()?;
    let info = block.info.as_deref().unwrap_or_default();
    let is_ignored = info.split([',', ' ']).any(|word| matches!(word, "ignore" | "text"));
    let language = languages::by_name(&named)?;
    let is_read = language.has_grammar() && !language.is_prose() && block.code.len() <= BLOCK_BYTES_MAX;
    (is_read && !is_ignored).then_some(language)
}

fn snippet(
    page: &str,
    block: &CodeBlock,
    language: &'static Language,
    prepared: &str,
    chunked: &Chunked,
) -> ParsedSnippet {
    let in_page = |line: u32| block.code_line.saturating_add(line.saturating_sub(1));
    let is_strict = chunked.how == ChunkingMethod::Syntax
        && !LENIENT.contains(&language.id)
        && !prepare::leaves_out(&block.code);
    let mut snippet = ParsedSnippet {
        page: page.to_owned(),
        line: block.line,
        language: language.id,
        syntax_error: chunked.syntax_error.filter(|_| is_strict).map(in_page),
        imports: Vec::new(),
        uses: Vec::new(),
        defined: BTreeSet::new(),
        risk: risk(language, prepared, chunked, &in_page),
    };
    if let Some(symbols) = &chunked.symbols {
        add_symbols(&mut snippet, symbols, &in_page);
    }
    snippet
}

fn risk(
    language: &Language,
    text: &str,
    chunked: &Chunked,
    in_page: &dyn Fn(u32) -> u32,
) -> Option<SnippetRisk> {
    let findings = analyse(text, language.id, &chunked.flow, RuleSet::defaults());
    let worst = findings
        .flows
        .iter()
        .max_by_key(|flow| (flow.severity, std::cmp::Reverse(flow.evidence.sink_line)))?;
    Some(SnippetRisk {
        severity: worst.severity,
        flow: format!("{} -> {}", worst.source, worst.sink),
        line: in_page(worst.evidence.sink_line),
    })
}

fn add_symbols(snippet: &mut ParsedSnippet, symbols: &FileSymbols, in_page: &dyn Fn(u32) -> u32) {
    let (interface, body) = (&symbols.interface, &symbols.body);
    for (arena, defined) in [(&interface.arena, &interface.symbols), (&body.arena, &body.symbols)] {
        snippet.defined.extend(defined.iter().map(|symbol| arena.text(symbol.name).to_owned()));
    }
    let imports = interface.imports.iter().map(|import| (&interface.arena, import));
    let imports = imports.chain(body.imports.iter().map(|import| (&body.arena, import)));
    snippet.imports.extend(imports.take(NAMES_MAX).map(|(arena, import)| imported(arena, import, in_page)));
    let uses =
        body.uses.iter().filter(|used| matches!(used.kind, UseKind::Call | UseKind::Type | UseKind::Inherit));
    let named = uses.filter_map(|used| {
        let parts = parts(&body.arena, used.expr)?;
        Some(SnippetUse { parts, is_call: used.kind == UseKind::Call, line: in_page(used.place.line) })
    });
    snippet.uses.extend(named.take(NAMES_MAX));
}

fn imported(arena: &Arena, import: &Import, in_page: &dyn Fn(u32) -> u32) -> SnippetImport {
    let name = match import.what {
        Imported::Name(name) => Some(arena.text(name).to_owned()),
        Imported::Module | Imported::All => None,
    };
    SnippetImport {
        module: arena.text(import.module).to_owned(),
        name,
        local: import.local.map(|local| arena.text(local).to_owned()),
        line: in_page(import.place.line),
    }
}

/// The parts of an expression that consists of names alone.
fn parts(arena: &Arena, expr: ExprId) -> Option<Vec<String>> {
    let (mut parts, mut next) = (Vec::new(), expr);
    loop {
        match arena.expr(next) {
            Expr::Name(name) => {
                parts.push(arena.text(*name).to_owned());
                break;
            }
            Expr::Member(of, name) if parts.len() < PARTS_MAX => {
                parts.push(arena.text(*name).to_owned());
                next = *of;
            }
            _ => return None,
        }
    }
    parts.reverse();
    parts.iter().all(|part| !part.is_empty()).then_some(parts)
}
