//! Findings to the facts of each chunk.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::comments::{self, Comment};
use super::field::{Counts, Facts, Field, Flag, Lint};
use super::flags::FlagRuns;
use super::flow::Flow;
use super::owned::{Kept, OfDefinition, exported};
use super::query::{Compiled, Item, Items, Role};
use super::values::{self, Target};
use super::{member, visibility};
use crate::stop::{Late, Stop};
use crate::syntax::Outline;

/// Most paths that a file imports, those above them included.
const IMPORTS_MAX: usize = 4096;
/// Texts longer than this, in bytes, can lie in one another (`a().b().c()`, `await await x`).
const LONG_BYTES: usize = 1024;
/// How often each byte of a file may be read in such texts, on average; a small file counts as one of 64 KiB.
const LONG_TIMES_MAX: usize = 64;
const LONG_FILE_BYTES_MIN: usize = 64 * 1024;
/// What a comment says that asks for work.
const WORK_MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Of each chunk, in order.
    pub(crate) facts: Vec<Facts>,
    /// Of each chunk, in order.
    pub(crate) comments: Vec<Vec<Comment>>,
    /// Of each chunk, in order, of each definition named in it.
    pub(crate) definitions: Vec<Vec<OfDefinition>>,
    /// What the file imports, sorted.
    pub(crate) imports: Vec<String>,
    /// How values move.
    pub(crate) flow: Flow,
}

/// Sorts findings into chunks, given by their first and last rows.
///
/// # Errors
/// [`Late`] when time ran out.
pub(crate) fn gather(
    outline: &Outline<'_>,
    compiled: &Compiled,
    items: Items<'_, '_>,
    root: Node<'_>,
    chunks: &[(usize, usize)],
    stop: &Stop<'_>,
) -> Result<Gathered, Late> {
    let items = items.0;
    let mut gathering = Gathering {
        text: outline.text,
        outline,
        chunks,
        stop,
        long_left: LONG_TIMES_MAX * outline.text.len().max(LONG_FILE_BYTES_MIN),
        claimed: HashSet::new(),
        flagged: HashSet::new(),
        flags: FlagRuns::new(chunks.len()),
        values: chunks.iter().map(|_| Kept::default()).collect(),
        facts: chunks
            .iter()
            .map(|_| Facts {
                counts: compiled.told.tells(Role::Branch).then(Counts::default),
                ..Facts::default()
            })
            .collect(),
        owner: None,
        owned: HashMap::new(),
        exports: HashSet::new(),
        imports: Vec::new(),
        flow: Flow::default(),
    };
    gathering.claim(&items)?;
    for item in &items {
        stop.step(1)?;
        let start = item.node.start_byte();
        // Behind a definition's head, what is said of a declaration is said of another one, such as a field.
        let behind = |owner: &usize| item.role.is_of_heads() && start >= outline.get(*owner).body;
        gathering.owner = outline.around(start).filter(|owner| !behind(owner));
        gathering.take(item);
    }
    gathering.definitions(&items, compiled)?;
    gathering.owner = None;
    if !compiled.told.is_without("syntax-error") {
        gathering.syntax_errors(root)?;
    }
    let comments = gathering.comments(&items)?;
    gathering.denials(compiled)?;
    gathering.finish(comments)
}

pub(super) struct Gathering<'g> {
    pub(super) text: &'g str,
    pub(super) outline: &'g Outline<'g>,
    pub(super) chunks: &'g [(usize, usize)],
    pub(super) stop: &'g Stop<'g>,
    /// How many bytes may still be read in long texts.
    long_left: usize,
    /// Where identifiers start that another capture speaks for.
    claimed: HashSet<usize>,
    /// Functions, by their place in the outline, and what holds of them.
    pub(super) flagged: HashSet<(usize, Flag)>,
    /// Of each chunk.
    pub(super) flags: FlagRuns,
    /// Of each chunk.
    values: Vec<Kept>,
    pub(super) facts: Vec<Facts>,
    /// The innermost definition around what is looked at, by its number.
    pub(super) owner: Option<usize>,
    /// By the number of a definition: its own facts in the chunk where its name stands.
    owned: HashMap<usize, Kept>,
    /// Names that the file offers to others.
    exports: HashSet<String>,
    imports: Vec<String>,
    pub(super) flow: Flow,
}

impl<'g> Gathering<'g> {
    /// The chunk that holds a row.
    pub(super) fn chunk(&self, row: usize) -> Option<usize> {
        let at = self.chunks.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        (row <= self.chunks[at].1).then_some(at)
    }

    pub(super) fn add(&mut self, row: usize, field: Field, value: impl Into<String>) {
        if let Some(at) = self.chunk(row) {
            self.say(at, field, value.into());
        }
    }

    fn add_if(&mut self, row: usize, field: Field, value: Option<String>) {
        if let Some(value) = value {
            self.add(row, field, value);
        }
    }

    /// What a reader makes of an item's text.
    fn add_value(
        &mut self,
        row: usize,
        field: Field,
        reader: fn(&str) -> Option<String>,
        item: &Item<'_, '_>,
    ) {
        let value = reader(self.said(item));
        self.add_if(row, field, value);
    }

    /// A fact of a chunk, and of the definition that is looked at.
    pub(super) fn say(&mut self, chunk: usize, field: Field, value: String) {
        let (first, last) = self.chunks[chunk];
        let named_here = |owner: &usize| (first..=last).contains(&self.outline.get(*owner).name_row);
        if let Some(owner) = self.owner.filter(named_here) {
            self.own(owner, field, value.clone());
        }
        self.values[chunk].push(field, value);
    }

    /// A fact of a definition.
    pub(super) fn own(&mut self, number: usize, field: Field, value: String) {
        self.owned.entry(number).or_default().push(field, value);
    }

    /// What an item says; nothing where it is too long and too much has been read.
    pub(super) fn said<'a>(&mut self, item: &Item<'_, 'a>) -> &'a str
    where
        'g: 'a,
    {
        match item.set {
            Some(set) => set,
            None => self.read(&self.text[item.node.byte_range()]),
        }
    }

    /// A part of the text that is about to be read; empty where it is long and too much has been read.
    pub(super) fn read(&mut self, text: &'g str) -> &'g str {
        let long = if text.len() > LONG_BYTES { text.len() } else { 0 };
        let Some(left) = self.long_left.checked_sub(long) else { return "" };
        self.long_left = left;
        self.stop.count(text.len());
        text
    }

    /// Notes which identifiers are written, called, named: the others are read.
    fn claim(&mut self, items: &[Item<'_, '_>]) -> Result<(), Late> {
        // Up to here all items have been claimed: patterns can lie in one another.
        let mut claimed_to = 0;
        self.claimed.extend(self.outline.definitions.iter().map(|definition| definition.name_start));
        for (at, item) in items.iter().enumerate() {
            self.stop.step(1)?;
            match item.role {
                Role::Param | Role::Use => _ = self.claimed.insert(item.node.start_byte()),
                Role::Call => {
                    // The last name of the chain; what is in front of it is read.
                    let text = self.read(&self.text[item.node.byte_range()]);
                    let name = values::last_name_start(text).unwrap_or(0);
                    self.claimed.insert(item.node.start_byte() + name);
                }
                Role::Target => {
                    let text = &self.text[item.node.byte_range()];
                    match values::targets(text).as_slice() {
                        // Of `a.b = c` the `a` is read, and `b` is not.
                        [Target::Part(part)] if !part.ends_with("[]") => {
                            let name = values::last_name_start(text).unwrap_or(0);
                            self.claimed.insert(item.node.start_byte() + name);
                        }
                        // Names that are all bound by a pattern.
                        targets if targets.iter().all(|target| matches!(target, Target::Name(_))) => {
                            claimed_to = claimed_to.max(at);
                            let inside =
                                |other: &&Item<'_, '_>| other.node.start_byte() < item.node.end_byte();
                            for other in items[claimed_to..].iter().take_while(inside) {
                                self.stop.count(1);
                                self.claimed.insert(other.node.start_byte());
                                claimed_to += 1;
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, item: &Item<'_, '_>) {
        let row = item.node.start_position().row;
        match item.role {
            Role::Param => self.add_value(row, Field::Param, values::name, item),
            Role::Type => self.add_value(row, Field::Type, values::declared_type, item),
            Role::Inferred => self.add_value(row, Field::Inferred, values::declared_type, item),
            Role::ReturnType => self.return_type(row, item),
            Role::Returns => {
                self.flow.returns.push(item.node.byte_range());
                self.returns(row, item);
            }
            Role::Async => self.flag(item, Flag::Async),
            Role::Generator => self.flag(item, Flag::Generator),
            Role::Decorator => self.add_value(row, Field::Decorator, values::decorator, item),
            Role::Modifier => self.add_value(row, Field::Modifier, values::folded, item),
            Role::Visibility => {
                let said = self.said(item);
                self.visible(row, said);
            }
            Role::Extends => self.add_value(row, Field::Extends, values::folded, item),
            Role::Implements => self.add_value(row, Field::Implements, values::folded, item),
            Role::Export => {
                let name = values::name(self.said(item));
                self.exports.extend(name.clone());
                self.add_if(row, Field::Export, name);
            }
            Role::Import => {
                let imported = values::imports(self.said(item));
                imported.iter().for_each(|path| self.add(row, Field::Import, path));
                self.imports.extend(imported);
            }
            Role::Throw => self.chained(row, Field::Throw, item),
            Role::Await => self.chained(row, Field::Await, item),
            Role::Yield => {
                self.flag(item, Flag::Generator);
                self.chained(row, Field::Yield, item);
            }
            Role::Call => self.call(row, item),
            Role::Target => self.target(row, item),
            Role::Identifier => {
                if !self.claimed.contains(&item.node.start_byte()) {
                    self.add_value(row, Field::Read, values::name, item);
                    self.add_if(row, Field::Member, member::chain(self.text, &item.node));
                }
            }
            Role::Use => self.add_value(row, Field::Use, values::name, item),
            Role::Branch | Role::Loop | Role::Break | Role::Continue | Role::Return => {
                self.count(row, item.role)
            }
            Role::Lint => self.add_value(row, Field::Lint, values::folded, item),
            Role::Comment | Role::Doc | Role::Arguments | Role::Value => {}
        }
        if item.role == Role::Lint {
            self.lint(row, item.set.unwrap_or("lint"));
        }
    }

    fn return_type(&mut self, row: usize, item: &Item<'_, '_>) {
        if let Some(name) = values::declared_type(self.said(item)) {
            if values::is_value_type(&name) {
                self.returns(row, item);
            }
            self.add(row, Field::ReturnType, name);
        }
    }

    /// A chunk of a long function that gives nothing back itself does not say so.
    fn returns(&mut self, row: usize, item: &Item<'_, '_>) {
        self.flagged.extend(self.outline.callable(item.node.start_byte()).map(|at| (at, Flag::Returns)));
        self.add(row, Field::Flag, Flag::Returns.as_str());
    }

    pub(super) fn visible(&mut self, row: usize, word: &str) {
        for value in visibility::values(word) {
            self.add(row, Field::Visibility, value);
        }
    }

    /// The chain that is thrown, awaited or yielded; of a call, what is called.
    fn chained(&mut self, row: usize, field: Field, item: &Item<'_, '_>) {
        let raw = self.said(item).trim().trim_start_matches("new ").trim_start();
        if let Some(chain) = values::chain(raw) {
            self.add(row, field, chain);
        } else if item.set.is_none() && raw.len() <= values::VALUE_BYTES_MAX && field == Field::Throw {
            // `throw "reason"`.
            if let Some(text) = values::name(raw) {
                self.add(row, field, text);
            }
        }
    }

    fn count(&mut self, row: usize, role: Role) {
        let Some(counts) = self.chunk(row).and_then(|at| self.facts[at].counts.as_mut()) else { return };
        let number = match role {
            Role::Branch => &mut counts.branches,
            Role::Loop => &mut counts.loops,
            Role::Break => &mut counts.breaks,
            Role::Continue => &mut counts.continues,
            _ => &mut counts.returns,
        };
        *number = number.saturating_add(1);
    }

    pub(super) fn lint(&mut self, row: usize, rule: &str) {
        if let Some(at) = self.chunk(row) {
            self.say(at, Field::Lint, rule.to_owned());
            self.facts[at].lint.push(Lint { line: line_number(row), rule: rule.to_owned() });
        }
    }

    /// Places that the grammar could not read, by the smallest nodes that hold them.
    fn syntax_errors(&mut self, root: Node<'_>) -> Result<(), Late> {
        if !root.has_error() {
            return Ok(());
        }
        let mut cursor = root.walk();
        let mut rows: Vec<usize> = Vec::new();
        loop {
            self.stop.step(1)?;
            let node = cursor.node();
            if node.is_error() || node.is_missing() {
                rows.push(node.start_position().row);
            }
            if node.has_error() && !node.is_error() && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    rows.dedup();
                    rows.iter().for_each(|row| self.lint(*row, "syntax-error"));
                    return Ok(());
                }
            }
        }
    }

    /// Comments by chunk; they are documentation of the chunk, and some ask for work.
    fn comments(&mut self, items: &[Item<'_, '_>]) -> Result<Vec<Vec<Comment>>, Late> {
        let starts: HashSet<usize> =
            self.outline.definitions.iter().flat_map(|d| [d.first_row, d.name_row]).collect();
        let mut by_chunk: Vec<Vec<Comment>> = self.chunks.iter().map(|_| Vec::new()).collect();
        for comment in comments::comments(self.text, items, &|row| starts.contains(&row), self.stop)? {
            self.stop.step(comment.text.len())?;
            let row = comment.start_line as usize - 1;
            for (line, said) in comment.text.lines().enumerate() {
                let asks = |mark: &&str| said.split(|c: char| !c.is_alphanumeric()).any(|word| word == *mark);
                if WORK_MARKS.iter().any(asks) {
                    self.lint(row + line, "todo");
                }
            }
            if let Some(at) = self.chunk(row) {
                by_chunk[at].push(comment);
            }
        }
        for (facts, comments) in self.facts.iter_mut().zip(&by_chunk) {
            let doc = comments.iter().find(|comment| comment.doc);
            facts.doc = doc.map(|comment| comments::cut_doc(&comment.text));
        }
        Ok(by_chunk)
    }

    fn finish(mut self, comments: Vec<Vec<Comment>>) -> Result<Gathered, Late> {
        let definitions = self.of_definitions()?;
        self.flags.each(|chunk, value| self.values[chunk].push(Field::Flag, value.to_owned()));
        for (facts, values) in self.facts.iter_mut().zip(self.values) {
            self.stop.step(1)?;
            facts.values = values.bounded();
            facts.lint.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
            facts.lint.dedup();
        }
        self.imports.sort();
        self.imports.dedup();
        self.imports.truncate(IMPORTS_MAX);
        Ok(Gathered { facts: self.facts, comments, definitions, imports: self.imports, flow: self.flow })
    }

    /// What is known of each definition, by the chunk in which its name stands.
    fn of_definitions(&mut self) -> Result<Vec<Vec<OfDefinition>>, Late> {
        let outline = self.outline;
        let mut all = Vec::with_capacity(self.chunks.len());
        for (first, last) in self.chunks {
            let mut of = Vec::new();
            for number in outline.listed_in(*first, *last) {
                self.stop.step(1)?;
                let values = self.owned.remove(&number).unwrap_or_default().bounded();
                let exported = exported(outline.get(number), &values, &self.exports);
                of.push(OfDefinition { values, exported });
            }
            all.push(of);
        }
        Ok(all)
    }
}

pub(super) fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
