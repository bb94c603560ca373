//! Findings to the facts of each chunk.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::comments::{self, Comment};
use super::field::{Counts, Facts, Field, Flag, Lint};
use super::flow::{Assignment, CallSite, Flow, FunctionSpan};
use super::owned::{OfDefinition, bound, exported};
use super::query::{Compiled, Item, Items, Role};
use super::values::{self, Target};
use super::{member, visibility};
use crate::languages::syntax::{Definition, Outline};

/// Most calls listed for a chunk.
const CALLS_MAX: usize = 128;
/// Lines of a function above which it is too long to be read as one.
const FUNCTION_LINES_MAX: usize = 100;
/// What languages call the object that a method belongs to.
const RECEIVERS: &[&str] = &["self", "cls", "this"];
/// What a comment says that asks for work.
const WORK_MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// What was found in a file.
#[derive(Debug, Default)]
pub(in crate::languages) struct Gathered {
    /// Of each chunk, in order.
    pub(in crate::languages) facts: Vec<Facts>,
    /// Of each chunk, in order.
    pub(in crate::languages) comments: Vec<Vec<Comment>>,
    /// Of each chunk, in order, of each definition named in it.
    pub(in crate::languages) definitions: Vec<Vec<OfDefinition>>,
    /// What the file imports, sorted.
    pub(in crate::languages) imports: Vec<String>,
    /// How values move.
    pub(in crate::languages) flow: Flow,
}

/// Sorts findings into chunks, given by their first and last rows.
pub(in crate::languages) fn gather(
    outline: &Outline<'_>,
    compiled: &Compiled,
    items: Items<'_, '_>,
    root: Node<'_>,
    chunks: &[(usize, usize)],
) -> Gathered {
    let items = items.0;
    let mut gathering = Gathering {
        text: outline.text,
        outline,
        chunks,
        claimed: HashSet::new(),
        flagged: HashSet::new(),
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
    gathering.claim(&items);
    for item in &items {
        gathering.owner = outline.around(item.node.start_byte());
        gathering.take(item);
    }
    gathering.definitions(&items, compiled);
    gathering.owner = None;
    if !compiled.told.is_without("syntax-error") {
        gathering.syntax_errors(root);
    }
    let comments = gathering.comments(&items);
    gathering.denials(compiled);
    gathering.finish(comments)
}

pub(super) struct Gathering<'g> {
    text: &'g str,
    pub(super) outline: &'g Outline<'g>,
    pub(super) chunks: &'g [(usize, usize)],
    /// Where identifiers start that another capture speaks for.
    claimed: HashSet<usize>,
    /// Functions, by their place in the outline, and what holds of them.
    pub(super) flagged: HashSet<(usize, Flag)>,
    pub(super) facts: Vec<Facts>,
    /// The innermost definition around what is looked at, by its number.
    pub(super) owner: Option<usize>,
    /// By the number of a definition: its own facts in the chunk where its name stands.
    owned: HashMap<usize, Vec<(Field, String)>>,
    /// Names that the file offers to others.
    exports: HashSet<String>,
    imports: Vec<String>,
    flow: Flow,
}

impl Gathering<'_> {
    /// The chunk that holds a row.
    fn chunk(&self, row: usize) -> Option<usize> {
        let at = self.chunks.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        (row <= self.chunks[at].1).then_some(at)
    }

    fn add(&mut self, row: usize, field: Field, value: impl Into<String>) {
        if let Some(at) = self.chunk(row) {
            self.say(at, field, value.into());
        }
    }

    /// A fact of a chunk, and of the definition that is looked at.
    pub(super) fn say(&mut self, chunk: usize, field: Field, value: String) {
        let (first, last) = self.chunks[chunk];
        let named_here = |owner: &usize| (first..=last).contains(&self.outline.get(*owner).name_row);
        if let Some(owner) = self.owner.filter(named_here) {
            self.owned.entry(owner).or_default().push((field, value.clone()));
        }
        self.facts[chunk].values.push((field, value));
    }

    fn raw(&self, item: &Item<'_, '_>) -> String {
        item.set.map_or_else(|| self.text[item.node.byte_range()].to_owned(), str::to_owned)
    }

    /// Notes which identifiers are written, called, named: the others are read.
    fn claim(&mut self, items: &[Item<'_, '_>]) {
        self.claimed.extend(self.outline.definitions.iter().map(|definition| definition.name_start));
        for (at, item) in items.iter().enumerate() {
            let text = &self.text[item.node.byte_range()];
            match item.role {
                Role::Param | Role::Use => _ = self.claimed.insert(item.node.start_byte()),
                Role::Call => {
                    // The last name of the chain; what is in front of it is read.
                    let name = values::last_name_start(text).unwrap_or(0);
                    self.claimed.insert(item.node.start_byte() + name);
                }
                Role::Target => match values::targets(text).as_slice() {
                    // Of `a.b = c` the `a` is read, and `b` is not.
                    [Target::Part(part)] if !part.ends_with("[]") => {
                        let name = values::last_name_start(text).unwrap_or(0);
                        self.claimed.insert(item.node.start_byte() + name);
                    }
                    // Names that are all bound by a pattern.
                    targets if targets.iter().all(|target| matches!(target, Target::Name(_))) => {
                        let inside = items[at..]
                            .iter()
                            .take_while(|other| other.node.start_byte() < item.node.end_byte());
                        self.claimed.extend(inside.map(|other| other.node.start_byte()));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn take(&mut self, item: &Item<'_, '_>) {
        let row = item.node.start_position().row;
        let whole = |field: Field, value: Option<String>, this: &mut Self| {
            if let Some(value) = value {
                this.add(row, field, value);
            }
        };
        match item.role {
            Role::Param => whole(Field::Param, values::name(&self.raw(item)), self),
            Role::Type => whole(Field::Type, values::declared_type(&self.raw(item)), self),
            Role::Inferred => whole(Field::Inferred, values::declared_type(&self.raw(item)), self),
            Role::ReturnType => self.return_type(row, item),
            Role::Returns => {
                self.flow.returns.push(item.node.byte_range());
                self.returns(row, item);
            }
            Role::Async => self.flag(item, Flag::Async),
            Role::Generator => self.flag(item, Flag::Generator),
            Role::Decorator => whole(Field::Decorator, values::decorator(&self.raw(item)), self),
            Role::Modifier => whole(Field::Modifier, values::folded(&self.raw(item)), self),
            Role::Visibility => self.visible(row, &self.raw(item)),
            Role::Extends => whole(Field::Extends, values::folded(&self.raw(item)), self),
            Role::Implements => whole(Field::Implements, values::folded(&self.raw(item)), self),
            Role::Export => {
                let name = values::name(&self.raw(item));
                self.exports.extend(name.clone());
                whole(Field::Export, name, self);
            }
            Role::Import => {
                let imported = values::imports(&self.raw(item));
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
                    whole(Field::Read, values::name(&self.raw(item)), self);
                    whole(Field::Member, member::chain(self.text, &item.node), self);
                }
            }
            Role::Use => whole(Field::Use, values::name(&self.raw(item)), self),
            Role::Branch | Role::Loop | Role::Break | Role::Continue | Role::Return => {
                self.count(row, item.role)
            }
            Role::Lint => whole(Field::Lint, values::folded(&self.raw(item)), self),
            Role::Comment | Role::Doc | Role::Arguments | Role::Value => {}
        }
        if item.role == Role::Lint {
            self.lint(row, item.set.unwrap_or("lint"));
        }
    }

    fn return_type(&mut self, row: usize, item: &Item<'_, '_>) {
        if let Some(name) = values::declared_type(&self.raw(item)) {
            if values::is_value_type(&name) {
                self.returns(row, item);
            }
            self.add(row, Field::ReturnType, name);
        }
    }

    /// A chunk of a long function that gives nothing back itself does not say so.
    fn returns(&mut self, row: usize, item: &Item<'_, '_>) {
        self.flagged.extend(self.callable(item.node.start_byte()).map(|at| (at, Flag::Returns)));
        self.add(row, Field::Flag, Flag::Returns.as_str());
    }

    fn visible(&mut self, row: usize, word: &str) {
        for value in visibility::values(word) {
            self.add(row, Field::Visibility, value);
        }
    }

    /// The chain that is thrown, awaited or yielded; of a call, what is called.
    fn chained(&mut self, row: usize, field: Field, item: &Item<'_, '_>) {
        let raw = self.raw(item);
        let raw = raw.trim().trim_start_matches("new ").trim_start();
        if let Some(chain) = values::chain(raw) {
            self.add(row, field, chain);
        } else if item.set.is_none() && raw.len() <= values::VALUE_BYTES_MAX && field == Field::Throw {
            // `throw "reason"`.
            if let Some(text) = values::name(raw) {
                self.add(row, field, text);
            }
        }
    }

    fn call(&mut self, row: usize, item: &Item<'_, '_>) {
        // Some grammars have no node for what is called: it then ends where the arguments start.
        let start = item.node.start_byte();
        let inside = item
            .partner
            .map(|list| list.start_byte())
            .filter(|at| (start + 1..item.node.end_byte()).contains(at));
        let callee_end = inside.unwrap_or(item.node.end_byte());
        let raw = item.set.unwrap_or(&self.text[start..callee_end]);
        let Some(callee) = values::chain(raw).or_else(|| values::command(raw)) else { return };
        let caller = self.callable(item.node.start_byte()).map(|number| self.outline.get(number));
        let (caller, simple) = (caller.map(|c| c.qualified.clone()), caller.map(|c| c.name.clone()));
        if let Some(at) = self.chunk(row) {
            self.say(at, Field::Call, callee.clone());
            // What is called on what: of `this.api.save` also `api.save` and `save`.
            let mut rest = callee.as_str();
            while let Some((_, part)) = rest.split_once('.').filter(|(_, part)| !part.is_empty()) {
                self.say(at, Field::Call, part.to_owned());
                rest = part;
            }
            // Without brackets it reads like a member, and is one in most languages.
            if item.partner.is_none() && callee != rest && !raw.trim_end().ends_with(')') {
                self.say(at, Field::Member, callee.clone());
            }
            caller.iter().chain(&simple).for_each(|name| self.say(at, Field::Caller, name.clone()));
            let facts = &mut self.facts[at];
            let pair = (caller, callee.clone());
            if facts.calls.len() < CALLS_MAX && !facts.calls.contains(&pair) {
                facts.calls.push(pair);
            }
        }
        let mut cursor = item.node.walk();
        let arguments: Vec<_> = item.partner.map_or_else(Vec::new, |list| {
            // Where there is no list, the arguments stand in the call itself, behind what is called.
            let real = |node: &Node<'_>| !node.is_extra() && node.start_byte() >= callee_end;
            list.named_children(&mut cursor).filter(real).map(|node| node.byte_range()).collect()
        });
        let end = item.partner.map_or(item.node.end_byte(), |list| list.end_byte());
        self.flow.calls.push(CallSite {
            callee,
            range: item.node.start_byte()..end,
            arguments,
            line: line_number(row),
        });
    }

    fn target(&mut self, row: usize, item: &Item<'_, '_>) {
        let targets = values::targets(&self.raw(item));
        for target in &targets {
            match target {
                Target::Name(name) => self.add(row, Field::Write, name),
                Target::Part(part) => self.add(row, Field::Mutate, part),
            }
        }
        let Some(value) = item.partner else { return };
        let said = self.text[value.byte_range()].trim();
        // A loop or a pattern takes something out of a value; only an assignment gives it another name.
        let between = self.text.get(item.node.end_byte()..value.start_byte()).unwrap_or_default();
        let behind = value.start_byte() >= item.node.end_byte();
        let assigns = behind
            && (between.trim().is_empty() || between.trim_end().ends_with('='))
            && !between.contains([')', '}', ']']);
        if assigns
            && let ([Target::Name(name)], true) = (targets.as_slice(), values::is_plain_chain(said))
            && let Some(chain) = values::chain(said)
        {
            self.add(row, Field::Alias, format!("{name}={chain}"));
        }
        let targets: Vec<String> = targets
            .into_iter()
            .map(|target| match target {
                Target::Name(name) | Target::Part(name) => name,
            })
            .collect();
        if !targets.is_empty() {
            self.flow.assignments.push(Assignment {
                targets,
                value: value.byte_range(),
                line: line_number(row),
            });
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

    fn lint(&mut self, row: usize, rule: &str) {
        if let Some(at) = self.chunk(row) {
            self.say(at, Field::Lint, rule.to_owned());
            self.facts[at].lint.push(Lint { line: line_number(row), rule: rule.to_owned() });
        }
    }

    /// The number of the innermost function, method or handler around a byte.
    pub(super) fn callable(&self, at: usize) -> Option<usize> {
        let count = self.outline.definitions.len();
        let mut found = self.outline.around(at);
        while let Some(number) = found {
            let definition = self.outline.get(number);
            if is_callable(definition) && definition.start <= at {
                return Some(number);
            }
            // Around a handler may stand handlers alone: what else is around it, its own start tells.
            found = match definition.parent {
                Some(parent) if number >= count => Some(count + parent),
                parent => parent,
            };
        }
        None
    }

    /// What holds of definitions: default visibility, length, and the functions of the flow with their parameters.
    fn definitions(&mut self, items: &[Item<'_, '_>], compiled: &Compiled) {
        let outline = self.outline;
        for (number, definition) in outline.definitions.iter().enumerate() {
            self.owner = Some(number);
            if matches!(definition.kind, "section" | "impl" | "variable" | "module") {
                continue;
            }
            let head = definition.start..definition.body.max(definition.head);
            let from = items.partition_point(|item| item.node.start_byte() < head.start);
            let within = || items[from..].iter().take_while(|item| item.node.start_byte() < head.end);
            if let Some(default) = &compiled.told.default_visibility
                && !within().any(|item| item.role == Role::Visibility)
            {
                self.visible(definition.name_row, default);
            }
            if !is_callable(definition) {
                continue;
            }
            if definition.last_row - definition.first_row >= FUNCTION_LINES_MAX {
                self.lint(definition.name_row, "long-function");
            }
            // A receiver is no argument of a call: it stands before the name, or is the first parameter.
            let params = within().filter(|item| item.role == Role::Param);
            let params = params.filter(|item| item.node.start_byte() > definition.name_start);
            let params = params.filter_map(|item| values::name(&self.raw(item)));
            let params =
                params.enumerate().filter(|(at, name)| *at > 0 || !RECEIVERS.contains(&name.as_str()));
            let params = params.map(|(_, name)| name).collect();
            self.flow.functions.push(FunctionSpan {
                name: definition.name.clone(),
                range: definition.start..definition.end,
                start_line: line_number(definition.first_row),
                params,
            });
        }
    }

    /// Places that the grammar could not read, by the smallest nodes that hold them.
    fn syntax_errors(&mut self, root: Node<'_>) {
        if !root.has_error() {
            return;
        }
        let mut cursor = root.walk();
        let mut rows: Vec<usize> = Vec::new();
        loop {
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
                    return;
                }
            }
        }
    }

    /// Comments by chunk; they are documentation of the chunk, and some ask for work.
    fn comments(&mut self, items: &[Item<'_, '_>]) -> Vec<Vec<Comment>> {
        let starts: HashSet<usize> =
            self.outline.definitions.iter().flat_map(|d| [d.first_row, d.name_row]).collect();
        let mut by_chunk: Vec<Vec<Comment>> = self.chunks.iter().map(|_| Vec::new()).collect();
        for comment in comments::comments(self.text, items, &|row| starts.contains(&row)) {
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
        by_chunk
    }

    fn finish(mut self, comments: Vec<Vec<Comment>>) -> Gathered {
        let definitions = self.of_definitions();
        for facts in &mut self.facts {
            bound(&mut facts.values);
            facts.lint.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
            facts.lint.dedup();
        }
        self.imports.sort();
        self.imports.dedup();
        Gathered { facts: self.facts, comments, definitions, imports: self.imports, flow: self.flow }
    }

    /// What is known of each definition, by the chunk in which its name stands.
    fn of_definitions(&mut self) -> Vec<Vec<OfDefinition>> {
        let outline = self.outline;
        let mut all = Vec::with_capacity(self.chunks.len());
        for (first, last) in self.chunks {
            let of = outline.named_in(*first, *last).map(|number| {
                let mut values = self.owned.remove(&number).unwrap_or_default();
                bound(&mut values);
                let exported = exported(outline.get(number), &values, &self.exports);
                OfDefinition { values, exported }
            });
            all.push(of.collect());
        }
        all
    }
}

pub(super) fn is_callable(definition: &Definition) -> bool {
    matches!(definition.kind, "function" | "method")
}

fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
