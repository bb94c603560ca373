//! Flags of functions and chunks: asynchronous, a generator, returns a value, violates a lint rule. Each can be set, denied or
//! unknown.

use super::field::{Field, Flag};
use super::gather::Gathering;
use super::query::{Compiled, FactKind, Item};
use crate::stop::Stopped;

/// Flags of the chunks of a file. A flag of a range of chunks is stored only at the ends of the range, so that nested functions
/// cost no more than others.
pub(super) struct FlagRuns {
    /// Two lists for each flag of functions: where it is set, then where it is denied. A list has for each chunk the number of
    /// ranges that begin there minus those that end.
    runs: Vec<Vec<isize>>,
}

impl FlagRuns {
    pub(super) fn new(chunks: usize) -> Self {
        Self { runs: vec![vec![0; chunks + 1]; 2 * Flag::OF_FUNCTIONS.len()] }
    }

    fn add(&mut self, chunks: &std::ops::Range<usize>, flag: Flag, holds: bool) {
        let Some(at) = Flag::OF_FUNCTIONS.iter().position(|one| *one == flag) else { return };
        let runs = &mut self.runs[2 * at + usize::from(!holds)];
        runs[chunks.start] += 1;
        runs[chunks.end] -= 1;
    }

    /// Calls `take` with each chunk and each of its flags.
    pub(super) fn each(&self, mut take: impl FnMut(usize, &'static str)) {
        for (at, runs) in self.runs.iter().enumerate() {
            let flag = Flag::OF_FUNCTIONS[at / 2];
            let value = if at % 2 == 0 { flag.as_str() } else { flag.denied() };
            let mut open = 0;
            for (chunk, change) in runs.iter().enumerate() {
                open += change;
                if open > 0 {
                    take(chunk, value);
                }
            }
        }
    }
}

impl Gathering<'_> {
    /// Sets a flag on all chunks of the definition that encloses the item.
    pub(super) fn flag(&mut self, item: &Item<'_, '_>, flag: Flag) {
        let row = item.node.start_position().row;
        let callable = self.outline.callable(item.node.start_byte());
        self.owner = callable.or(self.owner);
        let rows = match callable.map(|number| (number, self.outline.get(number))) {
            // The flag was set before: a generator may yield many times.
            Some((number, _)) if !self.flagged.insert((number, flag)) => return,
            Some((_, definition)) => (definition.first_row, definition.last_row),
            None => (row, row),
        };
        self.add_flag(rows, flag, true);
    }

    /// Sets or denies a flag on all chunks that overlap these rows, and on the current definition if its name is in one of
    /// them.
    fn add_flag(&mut self, (first, last): (usize, usize), flag: Flag, holds: bool) {
        let from = self.chunks.partition_point(|(_, end)| *end < first);
        let to = self.chunks.partition_point(|(start, _)| *start <= last);
        let chunks = from..to;
        if chunks.is_empty() {
            return;
        }
        self.stop.count(1);
        self.flags.add(&chunks, flag, holds);
        let value = if holds { flag.as_str() } else { flag.denied() };
        let named = self.owner.and_then(|owner| self.chunk(self.outline.get(owner).name_row));
        if let Some(owner) = self.owner.filter(|_| named.is_some_and(|chunk| chunks.contains(&chunk))) {
            self.add_to_definition(owner, Field::Flag, value.to_owned());
        }
    }

    /// Denies flags that the language's query can detect and did not: on functions, and `lint` on chunks without violations.
    /// Flags that it cannot detect stay unknown.
    ///
    /// # Errors
    /// [`Stopped`] if the time limit passed or the work was cancelled.
    pub(super) fn denials(&mut self, compiled: &Compiled) -> Result<(), Stopped> {
        let detects = |flag: &&Flag| compiled.features.supports(FactKind::Flag(**flag));
        let flags: Vec<Flag> = Flag::OF_FUNCTIONS.iter().filter(detects).copied().collect();
        let outline = self.outline;
        for number in 0..outline.definitions.len() + outline.handlers.len() {
            self.stop.step(1)?;
            let definition = outline.get(number);
            if !definition.is_callable() {
                continue;
            }
            self.owner = Some(number);
            for flag in &flags {
                if !self.flagged.contains(&(number, *flag)) {
                    self.add_flag((definition.first_row, definition.last_row), *flag, false);
                }
            }
        }
        self.owner = None;
        if compiled.features.supports(FactKind::Flag(Flag::Lint)) {
            for chunk in 0..self.chunks.len() {
                if self.facts[chunk].lint.is_empty() {
                    self.add_to_chunk(chunk, Field::Flag, Flag::Lint.denied().to_owned());
                }
            }
        }
        Ok(())
    }
}
