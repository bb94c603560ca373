//! Assigns the matches of a facts query to chunks and definitions, as facts.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::callee;
use super::calls::callee_of;
use super::comments::{self, Comment};
use super::field::{Counts, Facts, Field, Flag, Lint};
use super::flags::FlagRuns;
use super::flow::Flow;
use super::imported::imported_paths;
use super::owned::{BoundedFacts, DefinitionFacts, exported};
use super::query::{Compiled, Item, Items, Role};
use super::values::{self, Target};
use super::{member, visibility};
use crate::outline::{Definition, Outline};
use crate::stop::{Stop, Stopped};

/// Maximum number of imported paths of a file, including their parent paths.
const IMPORTS_MAX: usize = 4096;
/// Reading texts longer than this, in bytes, is limited, because they can be nested (`a().b().c()`, `await await x`).
const LONG_BYTES: usize = 1024;
/// Maximum number of times that each byte of a file may be read in long texts, on average; a small file counts as one of 64 KiB.
const LONG_TIMES_MAX: usize = 64;
const LONG_FILE_BYTES_MIN: usize = 64 * 1024;
/// Words in comments that violate the lint rule `todo`.
const WORK_MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// The facts of a file.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// For each chunk, its facts.
    pub(crate) facts: Vec<Facts>,
    /// For each chunk, its comments.
    pub(crate) comments: Vec<Vec<Comment>>,
    /// For each chunk, the facts of each definition whose name is in it.
    pub(crate) definitions: Vec<Vec<DefinitionFacts>>,
    /// Imported paths, sorted.
    pub(crate) imports: Vec<String>,
    /// The data flow.
    pub(crate) flow: Flow,
}

/// Assigns the matches to `chunks`, which are given by their first and last rows.
///
/// # Errors
/// [`Stopped`] if the time limit passed or the work was cancelled.
pub(crate) fn gather(
    outline: &Outline<'_>,
    compiled: &Compiled,
    items: Items<'_, '_>,
    root: Node<'_>,
    chunks: &[(usize, usize)],
    stop: &Stop<'_>,
) -> Result<Gathered, Stopped> {
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
        values: chunks.iter().map(|_| BoundedFacts::default()).collect(),
        facts: chunks
            .iter()
            .map(|_| Facts {
                counts: compiled.features.has_role(Role::Branch).then(Counts::default),
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
        // After a definition's head, a modifier or decorator belongs to another declaration, such as a field.
        let is_after_head = |owner: &usize| item.role.is_in_heads() && start >= outline.get(*owner).body;
        gathering.owner = outline.around(start).filter(|owner| !is_after_head(owner));
        gathering.process(item);
    }
    gathering.definitions(&items, compiled)?;
    gathering.owner = None;
    if !compiled.features.excludes("syntax-error") {
        gathering.syntax_errors(root)?;
    }
    gathering.work_marks(&items)?;
    let comments = gathering.comments(&items)?;
    gathering.denials(compiled)?;
    gathering.finish(comments)
}

pub(super) struct Gathering<'g> {
    pub(super) text: &'g str,
    pub(super) outline: &'g Outline<'g>,
    pub(super) chunks: &'g [(usize, usize)],
    pub(super) stop: &'g Stop<'g>,
    /// Bytes of long texts that may still be read.
    long_left: usize,
    /// Starts of identifiers that another capture covers, so that they are not reads.
    claimed: HashSet<usize>,
    /// Functions, by their number in the outline, with the flags that were set on them.
    pub(super) flagged: HashSet<(usize, Flag)>,
    /// Flags of the chunks.
    pub(super) flags: FlagRuns,
    /// For each chunk, its values so far.
    values: Vec<BoundedFacts>,
    pub(super) facts: Vec<Facts>,
    /// The current definition: the number of the innermost one around the current match.
    pub(super) owner: Option<usize>,
    /// By the number of a definition, its facts in the chunk that contains its name.
    owned: HashMap<usize, BoundedFacts>,
    /// Names that the file exports.
    exports: HashSet<String>,
    imports: Vec<String>,
    pub(super) flow: Flow,
}

impl<'g> Gathering<'g> {
    /// The number of the chunk that contains a row.
    pub(super) fn chunk(&self, row: usize) -> Option<usize> {
        let at = self.chunks.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        (row <= self.chunks[at].1).then_some(at)
    }

    pub(super) fn add(&mut self, row: usize, field: Field, value: impl Into<String>) {
        if let Some(at) = self.chunk(row) {
            self.add_to_chunk(at, field, value.into());
        }
    }

    fn add_if(&mut self, row: usize, field: Field, value: Option<String>) {
        if let Some(value) = value {
            self.add(row, field, value);
        }
    }

    /// Adds the value that `reader` extracts from an item's text.
    fn add_value(
        &mut self,
        row: usize,
        field: Field,
        reader: impl Fn(&str) -> Option<String>,
        item: &Item<'_, '_>,
    ) {
        let value = reader(self.text_of(item));
        self.add_if(row, field, value);
    }

    /// Adds a fact to a chunk, and to the current definition if its name is in the chunk.
    pub(super) fn add_to_chunk(&mut self, chunk: usize, field: Field, value: String) {
        let (first, last) = self.chunks[chunk];
        let named_here = |owner: &usize| (first..=last).contains(&self.outline.get(*owner).name_row);
        if let Some(owner) = self.owner.filter(named_here) {
            self.add_to_definition(owner, field, value.clone());
        }
        self.values[chunk].push(field, value);
    }

    /// Adds a fact to a definition.
    pub(super) fn add_to_definition(&mut self, number: usize, field: Field, value: String) {
        self.owned.entry(number).or_default().push(field, value);
    }

    /// The text of an item; empty if it is long and the limit on long texts is exhausted.
    pub(super) fn text_of<'a>(&mut self, item: &Item<'_, 'a>) -> &'a str
    where
        'g: 'a,
    {
        match item.set {
            Some(set) => set,
            None => self.read(&self.text[item.node.byte_range()]),
        }
    }

    /// Counts the reading of a part of the text and returns it; empty if it is long and the limit on long texts is exhausted.
    pub(super) fn read(&mut self, text: &'g str) -> &'g str {
        let long = if text.len() > LONG_BYTES { text.len() } else { 0 };
        let Some(left) = self.long_left.checked_sub(long) else { return "" };
        self.long_left = left;
        self.stop.count(text.len());
        text
    }

    /// Collects the identifiers that are assigned, called or declared; all others are reads.
    fn claim(&mut self, items: &[Item<'_, '_>]) -> Result<(), Stopped> {
        // All items up to here are claimed. This avoids quadratic work for nested patterns.
        let mut claimed_to = 0;
        let named = |definition: &Definition| [definition.written_start, definition.name_start];
        self.claimed.extend(self.outline.definitions.iter().flat_map(named));
        for (at, item) in items.iter().enumerate() {
            self.stop.step(1)?;
            match item.role {
                Role::Param | Role::Use => _ = self.claimed.insert(item.node.start_byte()),
                Role::Call => {
                    // The last name of the chain is called; those before it are read.
                    let (node, end) = callee_of(item);
                    let text = self.read(&self.text[node.start_byte()..end]);
                    let named = if text.is_empty() {
                        None
                    } else {
                        callee::named(self.text, &node, end, self.outline.marks)
                    };
                    let from = named.map_or(node.start_byte(), |(from, _)| from);
                    let name =
                        values::last_name_start(&self.text[from..end], self.outline.marks).unwrap_or(0);
                    self.claimed.insert(from + name);
                }
                Role::Target => {
                    let text = &self.text[item.node.byte_range()];
                    match values::targets(text, self.outline.marks).as_slice() {
                        // In `a.b = c`, `a` is read and `b` is not.
                        [Target::Part(part)] if !part.ends_with("[]") => {
                            let name = values::last_name_start(text, self.outline.marks).unwrap_or(0);
                            self.claimed.insert(item.node.start_byte() + name);
                        }
                        // A pattern binds all its names.
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

    fn process(&mut self, item: &Item<'_, '_>) {
        let marks = self.outline.marks;
        let name = |raw: &str| values::name(raw, marks);
        let row = item.node.start_position().row;
        match item.role {
            Role::Param => self.add_value(row, Field::Param, name, item),
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
                let word = self.text_of(item);
                self.visible(row, word);
            }
            Role::Extends => self.add_value(row, Field::Extends, values::folded, item),
            Role::Implements => self.add_value(row, Field::Implements, values::folded, item),
            Role::Export => {
                let name = name(self.text_of(item));
                self.exports.extend(name.clone());
                self.add_if(row, Field::Export, name);
            }
            Role::Import => {
                let imported = imported_paths(self.text_of(item));
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
                    self.add_value(row, Field::Read, name, item);
                    self.add_if(row, Field::Member, member::chain(self.text, &item.node, marks));
                }
            }
            Role::Use => self.add_value(row, Field::Use, name, item),
            Role::Branch | Role::Loop | Role::Break | Role::Continue | Role::Return => {
                self.count(row, item.role)
            }
            Role::Lint => self.add_value(row, Field::Lint, values::folded, item),
            Role::Section | Role::Comment | Role::Doc | Role::Arguments | Role::Value => {}
        }
        if item.role == Role::Lint {
            self.lint(row, item.set.unwrap_or("lint"));
        }
    }

    fn return_type(&mut self, row: usize, item: &Item<'_, '_>) {
        if let Some(name) = values::declared_type(self.text_of(item)) {
            if values::is_value_type(&name) {
                self.returns(row, item);
            }
            self.add(row, Field::ReturnType, name);
        }
    }

    /// Marks a chunk that returns a value. Other chunks of the same function are not marked.
    fn returns(&mut self, row: usize, item: &Item<'_, '_>) {
        self.flagged.extend(self.outline.callable(item.node.start_byte()).map(|at| (at, Flag::Returns)));
        self.add(row, Field::Flag, Flag::Returns.as_str());
    }

    pub(super) fn visible(&mut self, row: usize, word: &str) {
        for value in visibility::values(word) {
            self.add(row, Field::Visibility, value);
        }
    }

    /// Adds the chain that is thrown, awaited or yielded; for a call, its callee.
    fn chained(&mut self, row: usize, field: Field, item: &Item<'_, '_>) {
        let raw = self.text_of(item).trim();
        let named = match item.set {
            None if !raw.is_empty() => {
                callee::named(self.text, &item.node, item.node.end_byte(), self.outline.marks)
            }
            _ => values::chain(raw, self.outline.marks).map(|chain| (0, chain)),
        };
        if let Some((_, chain)) = named {
            // `Failure.Empty` and `Failure.because()` throw a `Failure`.
            let owners = chain.match_indices('.').map(|(at, _)| &chain[..at]);
            let is_type = |owner: &&str| {
                owner.rsplit('.').next().is_some_and(|name| name.starts_with(char::is_uppercase))
            };
            for owner in owners.filter(|owner| field == Field::Throw && is_type(owner)) {
                self.add(row, field, owner);
            }
            self.add(row, field, chain);
        } else if item.set.is_none() && raw.len() <= values::VALUE_BYTES_MAX && field == Field::Throw {
            // `throw "reason"`.
            if let Some(text) = values::name(raw, self.outline.marks) {
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
            self.add_to_chunk(at, Field::Lint, rule.to_owned());
            self.facts[at].lint.push(Lint { line: line_number(row), rule: rule.to_owned() });
        }
    }

    /// Adds a lint violation for each syntax error.
    fn syntax_errors(&mut self, root: Node<'_>) -> Result<(), Stopped> {
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

    /// Adds the lint violation `todo` for each line of a comment that contains a work mark. Reads the source, because the texts
    /// of [`Self::comments`] lack empty lines.
    fn work_marks(&mut self, items: &[Item<'_, '_>]) -> Result<(), Stopped> {
        for item in items.iter().filter(|item| matches!(item.role, Role::Comment | Role::Doc)) {
            let source = &self.text[item.node.byte_range()];
            self.stop.step(1 + source.len())?;
            if !comments::is_about_code(source, &comments::strip_markers(source)) {
                continue;
            }
            let row = item.node.start_position().row;
            let is_mark = |word: &str| WORK_MARKS.contains(&word);
            let marked = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(is_mark);
            for (offset, _) in source.lines().enumerate().filter(|(_, line)| marked(line)) {
                self.lint(row + offset, "todo");
            }
        }
        Ok(())
    }

    /// The comments by chunk. Also sets the chunks' documentation.
    fn comments(&mut self, items: &[Item<'_, '_>]) -> Result<Vec<Vec<Comment>>, Stopped> {
        let starts: HashSet<usize> =
            self.outline.definitions.iter().flat_map(|d| [d.first_row, d.name_row]).collect();
        let mut by_chunk: Vec<Vec<Comment>> = self.chunks.iter().map(|_| Vec::new()).collect();
        for comment in comments::comments(self.text, items, &|row| starts.contains(&row), self.stop)? {
            self.stop.step(comment.text.len())?;
            if let Some(at) = self.chunk(comment.start_line as usize - 1) {
                by_chunk[at].push(comment);
            }
        }
        for (facts, comments) in self.facts.iter_mut().zip(&by_chunk) {
            let doc = comments.iter().find(|comment| comment.doc);
            facts.doc = doc.map(|comment| comments::cut_doc(&comment.text));
        }
        Ok(by_chunk)
    }

    fn finish(mut self, comments: Vec<Vec<Comment>>) -> Result<Gathered, Stopped> {
        let definitions = self.definition_facts()?;
        self.flags.each(|chunk, value| self.values[chunk].push(Field::Flag, value.to_owned()));
        for (facts, values) in self.facts.iter_mut().zip(self.values) {
            self.stop.step(1)?;
            facts.values = values.bounded();
            facts.lint.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
            facts.lint.dedup();
        }
        self.flow.calls.sort_by_key(|call| call.range.start);
        self.imports.sort();
        self.imports.dedup();
        self.imports.truncate(IMPORTS_MAX);
        Ok(Gathered { facts: self.facts, comments, definitions, imports: self.imports, flow: self.flow })
    }

    /// The facts of each definition, by the chunk that contains its name.
    fn definition_facts(&mut self) -> Result<Vec<Vec<DefinitionFacts>>, Stopped> {
        let outline = self.outline;
        let mut all = Vec::with_capacity(self.chunks.len());
        let mut known = HashMap::new();
        for (first, last) in self.chunks {
            let mut in_chunk = Vec::new();
            for number in outline.listed_in(*first, *last) {
                self.stop.step(1)?;
                let values = self.owned.remove(&number).unwrap_or_default().bounded();
                let definition = outline.get(number);
                // A constant of an enum can be used where the enum can.
                let is_constant = |of: &usize| definition.member && outline.get(*of).kind == "enum";
                let of = definition.parent.filter(is_constant).and_then(|of| known.get(&of).copied());
                let exported = of.unwrap_or_else(|| exported(definition, &values, &self.exports));
                known.insert(number, exported);
                in_chunk.push(DefinitionFacts { values, exported });
            }
            all.push(in_chunk);
        }
        Ok(all)
    }
}

pub(super) fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
