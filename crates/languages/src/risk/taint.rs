//! The taint of a value: its untrusted origins, and the categories of sinks that it was sanitized for.

use std::collections::HashMap;

/// Maximum number of origins that are stored for a value.
const ORIGINS_MAX: usize = 8;
/// Maximum number of lines that are stored between a source and a sink.
pub(super) const STEPS_MAX: usize = 8;
/// Maximum number of names of a function whose taint is tracked.
const TAINTED_NAMES_MAX: usize = 512;

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// A source's rule, and its line.
    Source { rule: usize, line: u32 },
    /// A parameter of the function, by the position of its argument.
    Param(usize),
}

/// An origin of a value, and what happened to the value since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taint {
    pub(super) origin: Origin,
    /// Bit set of the categories that it was sanitized for.
    pub(super) cleared: u64,
    /// Lines that it passed through.
    pub(super) steps: Vec<u32>,
    /// Functions that returned it, the one with the source first.
    pub(super) via: Vec<usize>,
}

impl Taint {
    pub(super) fn new(origin: Origin) -> Self {
        Self { origin, cleared: 0, steps: Vec::new(), via: Vec::new() }
    }

    /// Records that the value passes through a line.
    pub(super) fn step(&mut self, line: u32) {
        if self.steps.len() < STEPS_MAX && self.steps.last() != Some(&line) {
            self.steps.push(line);
        }
    }
}

/// The taints of one value; empty if it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Taints(Vec<Taint>);

impl Taints {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Taint> {
        self.0.iter()
    }

    /// Adds a taint. If there is one of the same origin, only the categories that both were sanitized for stay cleared.
    pub(super) fn add(&mut self, taint: Taint) {
        if let Some(known) = self.0.iter_mut().find(|known| known.origin == taint.origin) {
            known.cleared &= taint.cleared;
        } else if self.0.len() < ORIGINS_MAX {
            self.0.push(taint);
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|taint| self.add(taint.clone()));
    }

    /// Records that the value was sanitized for these categories.
    pub(super) fn clear(&mut self, categories: u64) {
        self.0.iter_mut().for_each(|taint| taint.cleared |= categories);
        self.0.retain(|taint| taint.cleared != u64::MAX);
    }

    /// Records that the value passes through a line.
    pub(super) fn step(&mut self, line: u32) {
        self.0.iter_mut().for_each(|taint| taint.step(line));
    }
}

/// The taints of the variables of a function, by chain.
#[derive(Debug, Clone, Default)]
pub(super) struct Env(HashMap<u32, Taints>);

impl Env {
    /// The taints of a chain; `None` if this function never assigned it.
    pub(super) fn get(&self, chain: u32) -> Option<&Taints> {
        self.0.get(&chain)
    }

    /// Assigns a value to a chain, and forgets its members, because an assignment to `a` also replaces `a.b`. `parent` returns
    /// the parent of a chain.
    pub(super) fn set(&mut self, chain: u32, taints: Taints, parent: impl Fn(u32) -> Option<u32>) {
        let below = |mut part: u32| loop {
            match parent(part) {
                Some(above) if above == chain => return true,
                Some(above) => part = above,
                None => return false,
            }
        };
        self.0.retain(|known, _| !below(*known));
        if self.0.len() < TAINTED_NAMES_MAX || self.0.contains_key(&chain) {
            self.0.insert(chain, taints);
        }
    }

    /// Adds taints to a chain.
    pub(super) fn add(&mut self, chain: u32, taints: &Taints) {
        if self.0.len() < TAINTED_NAMES_MAX || self.0.contains_key(&chain) {
            self.0.entry(chain).or_default().extend(taints);
        }
    }

    /// Returns `true` if a variable is tainted by a source.
    pub(super) fn is_tainted(&self) -> bool {
        let source = |taint: &Taint| matches!(taint.origin, Origin::Source { .. });
        self.0.values().any(|taints| taints.iter().any(source))
    }
}
