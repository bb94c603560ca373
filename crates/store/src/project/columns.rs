//! Rows as lists of their columns, the form in which one statement sends many of them.

use super::names::NamedFact;

/// Maximum number of rows of one INSERT; larger statements are not faster.
pub(super) const ROWS_MAX: usize = 1000;

/// Lists as one array with the bounds of each list, because Postgres supports only rectangular arrays of arrays.
pub(super) struct FlatLists<T> {
    pub(super) all: Vec<T>,
    /// Index of the first element of each list, 1-based.
    pub(super) first: Vec<i32>,
    /// Index of the last element of each list, inclusive.
    pub(super) last: Vec<i32>,
}

impl<T> FlatLists<T> {
    pub(super) fn from_lists(lists: impl Iterator<Item = Vec<T>>) -> Self {
        let mut flat = Self { all: Vec::new(), first: Vec::new(), last: Vec::new() };
        for list in lists {
            flat.first.push(bound(flat.all.len() + 1));
            flat.all.extend(list);
            flat.last.push(bound(flat.all.len()));
        }
        flat
    }
}

pub(super) fn named(facts: &[NamedFact]) -> impl Iterator<Item = (i16, &str)> {
    facts.iter().map(|(field, value)| (*field, value.as_str()))
}

pub(super) fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn bound(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn int4(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
