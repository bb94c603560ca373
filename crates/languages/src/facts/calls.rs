//! Calls and assignments, as facts and as data flow.

use tree_sitter::Node;

use super::callee;
use super::field::Field;
use super::flow::{Assignment, CallSite};
use super::gather::{Gathering, line_number};
use super::query::Item;
use super::values::{self, Target, VALUE_BYTES_MAX};
use crate::identifier::Marks;

/// The node of the callee, and its end: some grammars have no node for the callee, which then ends where the arguments or a block start.
pub(super) fn callee_of<'t>(item: &Item<'t, '_>) -> (Node<'t>, usize) {
    let node = callee::without_parentheses(item.node);
    let block = node.child_by_field_name("block");
    let starts = [item.partner, block].into_iter().flatten().map(|part| part.start_byte());
    let inside = starts.filter(|at| (node.start_byte() + 1..node.end_byte()).contains(at)).min();
    (node, inside.unwrap_or(node.end_byte()))
}

/// Maximum number of calls listed for a chunk.
const CALLS_MAX: usize = 128;
/// Maximum number of bytes of a value, and of the text between it and its target, for which an alias is considered.
const NEAR_BYTES_MAX: usize = 8 * VALUE_BYTES_MAX;
/// Marks that a name may have in one language and not in another.
const MARKS: [char; 4] = ['!', '?', '$', '`'];

impl Gathering<'_> {
    pub(super) fn call(&mut self, row: usize, item: &Item<'_, '_>) {
        let (node, callee_end) = callee_of(item);
        let whole = self.read(&self.text[node.start_byte()..callee_end]);
        let named = match item.set {
            Some(set) => values::chain(set, self.outline.marks).map(|chain| (item.node.start_byte(), chain)),
            None if whole.is_empty() => None,
            None => callee::named(self.text, &node, callee_end, self.outline.marks),
        };
        let Some((from, callee)) = named else { return };
        let raw = item.set.unwrap_or(&self.text[from..callee_end]);
        // After a receiver without a name, the call begins with the first name.
        let is_behind = from > node.start_byte() || raw.starts_with(['(', '[', '{']);
        let first =
            values::first_name_start(raw, self.outline.marks).filter(|_| item.set.is_none() && is_behind);
        let start = first.map_or(item.node.start_byte(), |first| from + first);
        let caller = self.outline.callable(item.node.start_byte()).map(|number| self.outline.get(number));
        let (caller, simple) = (caller.map(|c| c.qualified.clone()), caller.map(|c| c.name.clone()));
        if let Some(at) = self.chunk(row) {
            self.add_to_chunk(at, Field::Call, callee.clone());
            // `this.api.save` is also stored as `api.save` and `save`.
            let mut rest = callee.as_str();
            while let Some((_, part)) = rest.split_once('.').filter(|(_, part)| !part.is_empty()) {
                self.add_to_chunk(at, Field::Call, part.to_owned());
                rest = part;
            }
            // A call without parentheses looks like a member, and is one in most languages.
            if item.partner.is_none() && callee != rest && !raw.trim_end().ends_with(')') {
                self.add_to_chunk(at, Field::Member, callee.clone());
            }
            caller.iter().chain(&simple).for_each(|name| self.add_to_chunk(at, Field::Caller, name.clone()));
            let facts = &mut self.facts[at];
            let pair = (caller, callee.clone());
            if facts.calls.len() < CALLS_MAX && !facts.calls.contains(&pair) {
                facts.calls.push(pair);
            }
        }
        let mut cursor = item.node.walk();
        let arguments: Vec<_> = item.partner.map_or_else(Vec::new, |list| {
            // Without an argument list, the arguments are children of the call, after the callee.
            let real = |node: &Node<'_>| !node.is_extra() && node.start_byte() >= callee_end;
            list.named_children(&mut cursor).filter(real).map(|node| node.byte_range()).collect()
        });
        self.stop.count(item.partner.map_or(0, |list| list.child_count() as usize));
        let end = item.partner.map_or(item.node.end_byte(), |list| list.end_byte());
        // The rules of risks name callees without marks.
        let plain =
            Some(raw).filter(|raw| raw.contains(MARKS)).and_then(|raw| values::chain(raw, Marks::of("")));
        self.flow.calls.push(CallSite {
            callee: plain.unwrap_or(callee),
            range: start..end,
            arguments,
            line: line_number(row),
        });
    }

    pub(super) fn target(&mut self, row: usize, item: &Item<'_, '_>) {
        let text = self.text_of(item);
        let targets = values::targets(text, self.outline.marks);
        for target in &targets {
            match target {
                Target::Name(name) => self.add(row, Field::Write, name),
                Target::Part(part) => self.add(row, Field::Mutate, part),
            }
        }
        let Some(value) = item.partner else { return };
        let value_text = self.text[value.byte_range()].trim();
        // A loop or a pattern binds a part of a value; only an assignment creates an alias.
        let between = self.text.get(item.node.end_byte()..value.start_byte()).unwrap_or_default();
        let is_after = value.start_byte() >= item.node.end_byte();
        let near = between.len().max(value_text.len()) <= NEAR_BYTES_MAX;
        self.stop.count(if near { value_text.len() } else { 0 });
        let assigns = is_after
            && near
            && (between.trim().is_empty() || between.trim_end().ends_with('='))
            && !between.contains([')', '}', ']']);
        if assigns
            && let ([Target::Name(name)], true) = (targets.as_slice(), values::is_plain_chain(value_text))
            && let Some(chain) = values::chain(value_text, self.outline.marks)
        {
            self.add(row, Field::Alias, format!("{name}={chain}"));
        }
        let plain = if text.contains(MARKS) { values::targets(text, Marks::of("")) } else { targets };
        let targets: Vec<String> = plain
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
}
