//! Facts that are derived from the outline's definitions: default visibility, overlong functions, and the functions of the data
//! flow with their parameters.

use std::collections::HashMap;
use std::ops::Range;

use super::flow::FunctionSpan;
use super::gather::{Gathering, line_number};
use super::query::{Compiled, Item, Role};
use super::values;
use crate::lines::node_rows;
use crate::outline::Outline;
use crate::stop::Stopped;

/// Functions with more lines than this, without decorators above and documentation, violate the lint rule `long-function`.
const FUNCTION_LINES_MAX: usize = 100;
/// Maximum number of words before a definition among which the one that applies to it is looked for.
const SECTIONS_MAX: usize = 64;
/// Names of the receiver of a method.
const RECEIVERS: &[&str] = &["self", "cls", "this"];
/// Maximum number of times that each parameter of a file may be stored, on average. Parameters of functions in default values also count as
/// those of the enclosing functions; with deeper nesting, the rest is dropped.
const PARAMS_TIMES_MAX: usize = 8;

/// A word that gives the definitions after it their visibility.
struct Section<'t> {
    word: &'t str,
    /// The range from the word to the end of the list of definitions that contains it.
    range: Range<usize>,
    /// The number of the definition around it.
    parent: Option<usize>,
}

impl<'t> Section<'t> {
    /// The word that applies to a definition, among all in text order.
    fn of(sections: &[Self], number: usize, outline: &Outline<'_>) -> Option<&'t str> {
        let definition = outline.get(number);
        let before = sections.partition_point(|section| section.range.start < definition.start);
        let applies = |section: &&Self| {
            section.parent == definition.parent && section.range.contains(&definition.start)
        };
        // A method of the class itself has a different receiver.
        let own = outline.text.get(definition.start..definition.name_start);
        let is_own = own.is_some_and(|head| !head.contains('.'));
        sections[..before]
            .iter()
            .rev()
            .take(SECTIONS_MAX)
            .find(applies)
            .filter(|_| is_own)
            .map(|one| one.word)
    }
}

impl<'g> Gathering<'g> {
    fn section(&self, item: &Item<'_, '_>) -> Option<Section<'g>> {
        if item.role != Role::Section {
            return None;
        }
        // Only for these, because a parent is searched for among all siblings before the node.
        let list = item.node.parent()?;
        Some(Section {
            word: &self.text[item.node.byte_range()],
            range: item.node.start_byte()..list.end_byte(),
            parent: self.outline.definition_around(item.node.start_byte()),
        })
    }

    /// By number of a function, the rows of the documentation strings in its body.
    fn documented(&self, items: &[Item<'_, '_>]) -> HashMap<usize, usize> {
        let mut rows = HashMap::new();
        for item in items.iter().filter(|item| item.role == Role::Doc) {
            if let Some(function) = self.outline.callable(item.node.start_byte()) {
                let (first, last) = node_rows(item.node);
                *rows.entry(function).or_default() += last + 1 - first;
            }
        }
        rows
    }

    /// Adds the facts that are derived from definitions.
    ///
    /// # Errors
    /// [`Stopped`] if the time limit passed or the work was cancelled.
    pub(super) fn definitions(&mut self, items: &[Item<'_, '_>], compiled: &Compiled) -> Result<(), Stopped> {
        let outline = self.outline;
        let starts = items.iter().filter(|item| item.role == Role::Visibility);
        let visible: Vec<usize> = starts.map(|item| item.node.start_byte()).collect();
        let params: Vec<&Item<'_, '_>> = items.iter().filter(|item| item.role == Role::Param).collect();
        let mut params_left = PARAMS_TIMES_MAX * params.len();
        let documented = self.documented(items);
        let sections: Vec<Section<'_>> = items.iter().filter_map(|item| self.section(item)).collect();
        for (number, definition) in outline.definitions.iter().enumerate() {
            self.stop.step(1)?;
            self.owner = Some(number);
            if definition.member || matches!(definition.kind, "section" | "impl" | "module") {
                continue;
            }
            let head = definition.start..definition.body.max(definition.head);
            let around = definition.parent.map(|parent| outline.get(parent).kind);
            let section = Section::of(&sections, number, outline);
            if let Some(default) = section.or_else(|| compiled.features.default_visibility(around)) {
                let first = visible.partition_point(|start| *start < head.start);
                if visible.get(first).is_none_or(|start| *start >= head.end) {
                    self.visible(definition.name_row, default);
                }
            }
            if !definition.is_callable() {
                continue;
            }
            let rows = (definition.last_row + 1).saturating_sub(definition.code_row);
            if rows - documented.get(&number).copied().unwrap_or(0).min(rows) > FUNCTION_LINES_MAX {
                self.lint(definition.name_row, "long-function");
            }
            // A receiver is not an argument of calls. It precedes the name, or is the first parameter.
            let named = head.start.max(definition.name_start + 1);
            let first = params.partition_point(|item| item.node.start_byte() < named);
            let own = params[first..].iter().take_while(|item| item.node.start_byte() < head.end);
            let own =
                own.take(params_left).filter_map(|item| values::name(self.text_of(item), self.outline.marks));
            let own: Vec<String> = own.collect();
            params_left -= own.len().min(params_left);
            self.stop.count(own.len());
            let own = own.into_iter().enumerate();
            let own = own.filter(|(at, name)| *at > 0 || !RECEIVERS.contains(&name.as_str()));
            self.flow.functions.push(FunctionSpan {
                name: definition.name.clone(),
                range: definition.start..definition.end,
                start_line: line_number(definition.first_row),
                params: own.map(|(_, name)| name).collect(),
            });
        }
        Ok(())
    }
}
