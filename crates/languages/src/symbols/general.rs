//! Symbols of languages without an extractor of their own: definitions from the outline, uses from the facts' captures.
//!
//! Scopes nest as the definitions do. Names are resolved within their file, and seen as bare names from others.

use std::collections::{BTreeMap, HashSet};

use super::builder::{Builder, New};
use super::table::{Expr, ExprId, FileSymbols, ScopeId, ScopeKind, SymbolKind, UseKind};
use crate::facts::{Items, Role};
use crate::identifier::Marks;
use crate::outline::{Definition, Outline};
use crate::stop::{Stop, Stopped};

/// Maximum number of bytes of a text from which a name is read.
const NAME_BYTES_MAX: usize = 256;
/// Maximum number of names before the last one that are kept.
const PARTS_MAX: usize = 8;

/// The symbols of a file, as its outline and the matches of its facts tell them.
///
/// # Errors
/// [`Stopped`] if the time limit passed or the work was cancelled.
pub(crate) fn extract<'t>(
    outline: &Outline<'t>,
    items: &Items<'_, '_>,
    stop: &'t Stop<'t>,
) -> Result<FileSymbols, Stopped> {
    let mut builder = Builder::new((outline.text, outline.marks), stop);
    let mut general = General { outline, scopes: Vec::new(), names: HashSet::new(), locals: HashSet::new() };
    general.define(&mut builder, stop)?;
    let mut uses = Uses::new();
    for (role, node, is_replaced) in items.captures() {
        stop.step(1)?;
        let range = node.byte_range();
        if !is_replaced && range.len() <= NAME_BYTES_MAX {
            general.capture(&mut builder, role, range, &mut uses);
        }
    }
    for (at, (kind, expr)) in uses {
        stop.step(1)?;
        let scope = general.scope_at(at);
        let is_local =
            matches!(builder.expr(expr), Expr::Name(name) if general.is_local(&builder, scope, *name));
        if !is_local {
            builder.used_in(scope, kind, expr, at);
        }
    }
    builder.finish()
}

struct General<'o, 't> {
    outline: &'o Outline<'t>,
    /// The scope of the inside of each definition.
    scopes: Vec<ScopeId>,
    /// Starts of the names of definitions.
    names: HashSet<usize>,
    /// Local names, by their scope.
    locals: HashSet<(ScopeId, u32)>,
}

/// Uses by the place of the name. The latest kind in the order of this number wins.
type Uses = BTreeMap<usize, (UseKind, ExprId)>;

impl General<'_, '_> {
    fn define(&mut self, b: &mut Builder<'_>, stop: &Stop<'_>) -> Result<(), Stopped> {
        for definition in &self.outline.definitions {
            stop.step(1)?;
            let parent = definition.parent.map(|parent| &self.outline.definitions[parent]);
            let around = definition.parent.and_then(|parent| self.scopes.get(parent)).copied().unwrap_or(0);
            let scope = match definition.kind {
                "section" => around,
                "impl" => {
                    let target = b.name(&definition.name);
                    b.scope_in(around, ScopeKind::Type, None, Some(target))
                }
                kind => {
                    let kind = symbol_kind(kind, parent);
                    let new = New { exported: true, ..New::default() };
                    let symbol = b.define_in(around, &definition.name, definition.name_start, kind, new);
                    self.names.insert(definition.name_start);
                    let inside = scope_kind(kind);
                    inside.map_or(around, |inside| b.scope_in(around, inside, symbol, None))
                }
            };
            self.scopes.push(scope);
        }
        Ok(())
    }

    /// The scope around a byte.
    fn scope_at(&self, at: usize) -> ScopeId {
        let count = self.scopes.len();
        let mut found = self.outline.around(at);
        // An anonymous function has no scope of its own.
        while let Some(number) = found.filter(|number| *number >= count) {
            found = self.outline.get(number).parent.map(|parent| parent + count);
            if found.is_none() {
                found = self.outline.definition_around(at);
            }
        }
        found.map_or(0, |number| self.scopes[number])
    }

    fn is_local(&self, b: &Builder<'_>, mut scope: ScopeId, name: u32) -> bool {
        for _ in 0..64 {
            if self.locals.contains(&(scope, name)) {
                return true;
            }
            if scope == 0 {
                return false;
            }
            scope = b.parent(scope);
        }
        false
    }

    fn capture(&mut self, b: &mut Builder<'_>, role: Role, range: std::ops::Range<usize>, uses: &mut Uses) {
        let kind = match role {
            Role::Call => UseKind::Call,
            Role::Extends | Role::Implements => UseKind::Inherit,
            Role::Target => UseKind::Write,
            Role::Type => UseKind::Type,
            Role::Identifier => UseKind::Read,
            Role::Param => return self.local(b, range, SymbolKind::Parameter),
            Role::Import => return self.import(b, range),
            _ => return,
        };
        let text = self.outline.text.get(range.clone()).unwrap_or_default();
        let Some((start, name)) = last_name(text, self.outline.marks) else {
            return self.operator(b, kind, range, uses);
        };
        let at = range.start + start;
        if self.names.contains(&at) {
            return;
        }
        let before = text[..start].trim_end();
        if kind == UseKind::Write && before.is_empty() {
            let scope = self.scope_at(at);
            let is_known = b.find(scope, name).is_some();
            if !is_known && b.kind_of_scope(scope) == ScopeKind::Function {
                return self.local(b, range, SymbolKind::Local);
            }
        }
        let expr = if before.is_empty() { b.name(name) } else { qualified(b, before, name) };
        add(uses, at, kind, expr);
    }

    /// The use of an operator, where the language has uses of operators; or its definition within a function.
    fn operator(
        &mut self,
        b: &mut Builder<'_>,
        kind: UseKind,
        range: std::ops::Range<usize>,
        uses: &mut Uses,
    ) {
        let (text, marks) = (self.outline.text, self.outline.marks);
        let operator = text.get(range.clone()).unwrap_or_default();
        if self.names.contains(&range.start)
            || !marks.is_operator(operator)
            || !marks.reports_operator(operator)
        {
            return;
        }
        if kind == UseKind::Write {
            return self.local_name(b, operator, range.start, SymbolKind::Local);
        }
        // `Data.Map.!`.
        let is_qualified =
            text[..range.start].strip_suffix('.').is_some_and(|before| before.ends_with(is_name));
        let expr = match is_qualified {
            true => {
                let module = b.unknown();
                b.member(module, operator)
            }
            false => b.name(operator),
        };
        add(uses, range.start, kind, expr);
    }

    fn local(&mut self, b: &mut Builder<'_>, range: std::ops::Range<usize>, kind: SymbolKind) {
        let text = self.outline.text.get(range.clone()).unwrap_or_default();
        let Some((start, name)) = last_name(text, self.outline.marks) else { return };
        if text[..start].trim().is_empty() || kind != SymbolKind::Local {
            self.local_name(b, name, range.start + start, kind);
        }
    }

    /// Defines a local name of the function around it, if there is one.
    fn local_name(&mut self, b: &mut Builder<'_>, name: &str, at: usize, kind: SymbolKind) {
        let scope = self.scope_at(at);
        if b.kind_of_scope(scope) != ScopeKind::Function {
            return;
        }
        let Some(text) = b.text_id(name) else { return };
        if self.locals.insert((scope, text)) {
            b.define_in(scope, name, at, kind, New::default());
        }
    }

    fn import(&mut self, b: &mut Builder<'_>, range: std::ops::Range<usize>) {
        let text = self.outline.text.get(range.clone()).unwrap_or_default();
        let module = text.trim().trim_matches(['"', '\'', '<', '>', '`']);
        b.import_in(self.scope_at(range.start), range.start, module);
    }
}

/// Adds a use, unless a better kind of use is known of the same name.
fn add(uses: &mut Uses, at: usize, kind: UseKind, expr: ExprId) {
    match uses.get(&at) {
        Some((known, _)) if rank(kind) <= rank(*known) => {}
        _ => {
            uses.insert(at, (kind, expr));
        }
    }
}

/// The expression of a name that follows others: their chain, if they are plain names.
fn qualified(b: &mut Builder<'_>, before: &str, name: &str) -> ExprId {
    let path = before.trim_end_matches(is_separator).trim();
    let mut parts: Vec<&str> = path.split(is_separator).filter(|part| !part.is_empty()).collect();
    let is_plain = path.len() < before.len() && parts.iter().all(|part| part.chars().all(is_name));
    if !is_plain || parts.is_empty() || parts.len() > PARTS_MAX {
        let unknown = b.unknown();
        return b.member(unknown, name);
    }
    let first = parts.remove(0);
    let mut of = match first {
        "self" | "this" => b.add(Expr::This),
        first => b.name(first),
    };
    for part in parts {
        of = b.member(of, part);
    }
    b.member(of, name)
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | ':' | '>' | '-' | '?')
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

/// The last name in a text, if the text ends with one, and where it begins. A name has the marks of its language: `empty?`,
/// `save!`, `x'`, `@"a name"`.
fn last_name<'t>(text: &'t str, marks: &Marks) -> Option<(usize, &'t str)> {
    let text = text.trim_end();
    let escaped = text.starts_with("@\"") && text.ends_with('"') && text.len() > 3;
    if escaped {
        return Some((0, text));
    }
    let trimmed = text.trim_end_matches(['"', '`']);
    let mut start = trimmed.len();
    for (at, c) in trimmed.char_indices().rev() {
        let is_mark = marks.is_inside(c) || (at + c.len_utf8() == trimmed.len() && marks.is_last(c));
        if !is_name(c) && !is_mark {
            break;
        }
        start = at;
    }
    let name = trimmed.get(start..)?;
    let begins = name
        .chars()
        .next()
        .is_some_and(|c| (is_name(c) && !c.is_numeric()) || (c == '$' && marks.is_inside(c)));
    begins.then_some((start, name))
}

/// Returns the rank of a use: if a name has several captures, the one with the highest rank counts.
fn rank(kind: UseKind) -> u8 {
    match kind {
        UseKind::Call => 4,
        UseKind::Inherit => 3,
        UseKind::Write => 2,
        UseKind::Type => 1,
        UseKind::Read | UseKind::Import => 0,
    }
}

fn symbol_kind(kind: &str, parent: Option<&Definition>) -> SymbolKind {
    match kind {
        "function" | "method" => SymbolKind::Function,
        "class" | "struct" | "interface" | "trait" | "enum" => SymbolKind::Type,
        "module" => SymbolKind::Namespace,
        "type" => SymbolKind::Alias,
        _ if parent.is_some_and(|parent| matches!(parent.kind, "function" | "method")) => SymbolKind::Local,
        _ if parent.is_some_and(|parent| {
            parent.is_container() && parent.kind != "module" && parent.kind != "section"
        }) =>
        {
            SymbolKind::Field
        }
        _ => SymbolKind::Variable,
    }
}

fn scope_kind(kind: SymbolKind) -> Option<ScopeKind> {
    match kind {
        SymbolKind::Function => Some(ScopeKind::Function),
        SymbolKind::Type => Some(ScopeKind::Type),
        SymbolKind::Namespace => Some(ScopeKind::Namespace),
        _ => None,
    }
}
