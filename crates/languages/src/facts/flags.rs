//! What holds of functions and what is known not to hold: asynchronous, a generator, a value given back, rules broken.

use super::field::{Field, Flag};
use super::gather::Gathering;
use super::query::{Compiled, Item, Syntax};
use crate::stop::Late;

/// Flags of the chunks of a file. One that holds of a run of chunks is noted at its borders, so that functions in one
/// another cost no more than functions apart.
pub(super) struct FlagRuns {
    /// By flag of functions, first those that hold, then those denied: by chunk how many more runs begin than end there.
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

    /// Hands over each chunk with each of its flags.
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
    /// A flag belongs to the definition around its mark, which may have been split: all its chunks say it.
    pub(super) fn flag(&mut self, item: &Item<'_, '_>, flag: Flag) {
        let row = item.node.start_position().row;
        let callable = self.outline.callable(item.node.start_byte());
        self.owner = callable.or(self.owner);
        let rows = match callable.map(|number| (number, self.outline.get(number))) {
            // A generator yields often.
            Some((number, _)) if !self.flagged.insert((number, flag)) => return,
            Some((_, definition)) => (definition.first_row, definition.last_row),
            None => (row, row),
        };
        self.add_flag(rows, flag, true);
    }

    /// All chunks with one of these rows say that a flag holds or does not, and so does the definition that is looked at
    /// where its name stands in one of them.
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
            self.own(owner, Field::Flag, value.to_owned());
        }
    }

    /// What is known not to hold: of functions, where the language has a mark for it that was not found, and of
    /// chunks that break no rule where the language has rules. What is not known is not said either way.
    ///
    /// # Errors
    /// [`Late`] when time ran out.
    pub(super) fn denials(&mut self, compiled: &Compiled) -> Result<(), Late> {
        let tells = |flag: &&Flag| compiled.told.can_tell(Syntax::Flag(**flag));
        let flags: Vec<Flag> = Flag::OF_FUNCTIONS.iter().filter(tells).copied().collect();
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
        if compiled.told.can_tell(Syntax::Flag(Flag::Lint)) {
            for chunk in 0..self.chunks.len() {
                if self.facts[chunk].lint.is_empty() {
                    self.say(chunk, Field::Flag, Flag::Lint.denied().to_owned());
                }
            }
        }
        Ok(())
    }
}
