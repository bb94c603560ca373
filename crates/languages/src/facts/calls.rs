//! What is called and what is assigned, as facts and as the flow of values.

use tree_sitter::Node;

use super::field::Field;
use super::flow::{Assignment, CallSite};
use super::gather::{Gathering, line_number};
use super::query::Item;
use super::values::{self, Target, VALUE_BYTES_MAX};

/// Most calls listed for a chunk.
const CALLS_MAX: usize = 128;
/// How long a value, or what stands between it and its target, may be where the target is another name for it, in bytes.
const NEAR_BYTES_MAX: usize = 8 * VALUE_BYTES_MAX;

impl Gathering<'_> {
    pub(super) fn call(&mut self, row: usize, item: &Item<'_, '_>) {
        // Some grammars have no node for what is called: it then ends where the arguments start.
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
        let targets = values::targets(self.said(item));
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
        let near = between.len().max(said.len()) <= NEAR_BYTES_MAX;
        self.stop.count(if near { said.len() } else { 0 });
        let assigns = behind
            && near
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
}
