//! What holds of functions and what is known not to hold: asynchronous, a generator, a value given back, rules broken.

use super::field::{Field, Flag};
use super::gather::{Gathering, is_callable};
use super::query::{Compiled, Item, Syntax};

impl Gathering<'_> {
    /// A flag belongs to the definition around its mark, which may have been split: all its chunks say it.
    pub(super) fn flag(&mut self, item: &Item<'_, '_>, flag: Flag) {
        let row = item.node.start_position().row;
        let callable = self.callable(item.node.start_byte());
        let rows = match callable.map(|number| (number, self.outline.get(number))) {
            Some((number, definition)) => {
                self.flagged.insert((number, flag));
                (definition.first_row, definition.last_row)
            }
            None => (row, row),
        };
        self.owner = callable.or(self.owner);
        self.add_flag(rows, flag.as_str());
    }

    /// All chunks with one of these rows say it.
    pub(super) fn add_flag(&mut self, (first, last): (usize, usize), value: &str) {
        let from = self.chunks.partition_point(|(_, end)| *end < first);
        let to = self.chunks.partition_point(|(start, _)| *start <= last);
        for chunk in from..to.max(from) {
            self.say(chunk, Field::Flag, value.to_owned());
        }
    }

    /// What is known not to hold: of functions, where the language has a mark for it that was not found, and of
    /// chunks that break no rule where the language has rules. What is not known is not said either way.
    pub(super) fn denials(&mut self, compiled: &Compiled) {
        let tells = |flag: &&Flag| compiled.told.can_tell(Syntax::Flag(**flag));
        let flags: Vec<Flag> = Flag::OF_FUNCTIONS.iter().filter(tells).copied().collect();
        let outline = self.outline;
        for number in 0..outline.definitions.len() + outline.handlers.len() {
            let definition = outline.get(number);
            if !is_callable(definition) {
                continue;
            }
            self.owner = Some(number);
            for flag in &flags {
                if !self.flagged.contains(&(number, *flag)) {
                    self.add_flag((definition.first_row, definition.last_row), flag.denied());
                }
            }
        }
        self.owner = None;
        if compiled.told.can_tell(Syntax::Flag(Flag::Lint)) {
            for facts in self.facts.iter_mut().filter(|facts| facts.lint.is_empty()) {
                facts.values.push((Field::Flag, Flag::Lint.denied().to_owned()));
            }
        }
    }
}
