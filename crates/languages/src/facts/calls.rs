//! Calls and assignments, as facts and as data flow.

use tree_sitter::Node;

use super::field::Field;
use super::flow::{Assignment, CallSite};
use super::gather::{Gathering, line_number};
use super::query::Item;
use super::values::{self, Target, VALUE_BYTES_MAX};

/// Most calls listed for a chunk.
const CALLS_MAX: usize = 128;
/// Most bytes of a value, and of the text between it and its target, for which an alias is considered.
const NEAR_BYTES_MAX: usize = 8 * VALUE_BYTES_MAX;

impl Gathering<'_> {
    pub(super) fn call(&mut self, row: usize, item: &Item<'_, '_>) {
        // Some grammars have no node for the callee, which then ends where the arguments start.
        let start = item.node.start_byte();
        let inside = item
            .partner
            .map(|list| list.start_byte())
            .filter(|at| (start + 1..item.node.end_byte()).contains(at));
        let callee_end = inside.unwrap_or(item.node.end_byte());
        let raw = item.set.unwrap_or_else(|| self.read(&self.text[start..callee_end]));
        let Some(callee) = values::chain(raw).or_else(|| values::command(raw)) else { return };
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
        self.flow.calls.push(CallSite {
            callee,
            range: item.node.start_byte()..end,
            arguments,
            line: line_number(row),
        });
    }

    pub(super) fn target(&mut self, row: usize, item: &Item<'_, '_>) {
        let targets = values::targets(self.text_of(item));
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
            && let Some(chain) = values::chain(value_text)
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
}
