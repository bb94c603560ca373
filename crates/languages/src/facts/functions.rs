//! Facts that are derived from the outline's definitions: default visibility, overlong functions, and the functions of the data
//! flow with their parameters.

use super::flow::FunctionSpan;
use super::gather::{Gathering, line_number};
use super::query::{Compiled, Item, Role};
use super::values;
use crate::stop::Stopped;

/// Functions with more lines than this violate the lint rule `long-function`.
const FUNCTION_LINES_MAX: usize = 100;
/// Names of the receiver of a method.
const RECEIVERS: &[&str] = &["self", "cls", "this"];
/// How often each parameter of a file may be stored, on average. Parameters of functions in default values also count as those
/// of the enclosing functions; with deeper nesting, the rest is dropped.
const PARAMS_TIMES_MAX: usize = 8;

impl Gathering<'_> {
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
        for (number, definition) in outline.definitions.iter().enumerate() {
            self.stop.step(1)?;
            self.owner = Some(number);
            if definition.member || matches!(definition.kind, "section" | "impl" | "variable" | "module") {
                continue;
            }
            let head = definition.start..definition.body.max(definition.head);
            if let Some(default) = &compiled.features.default_visibility {
                let first = visible.partition_point(|start| *start < head.start);
                if visible.get(first).is_none_or(|start| *start >= head.end) {
                    self.visible(definition.name_row, default);
                }
            }
            if !definition.is_callable() {
                continue;
            }
            if definition.last_row - definition.first_row >= FUNCTION_LINES_MAX {
                self.lint(definition.name_row, "long-function");
            }
            // A receiver is not an argument of calls. It precedes the name, or is the first parameter.
            let named = head.start.max(definition.name_start + 1);
            let first = params.partition_point(|item| item.node.start_byte() < named);
            let own = params[first..].iter().take_while(|item| item.node.start_byte() < head.end);
            let own = own.take(params_left).filter_map(|item| values::name(self.text_of(item)));
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
