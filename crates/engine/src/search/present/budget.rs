//! Limits the size of an answer: always in bytes, in tokens if the caller asks for it.

use serde::Serialize;
use serde_json::Value;

use crate::search::present::tokens;
use contract::escape_invisible;

/// The remaining size of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    bytes: usize,
    tokens: Option<usize>,
}

impl From<usize> for Budget {
    fn from(bytes: usize) -> Self {
        Self { bytes, tokens: None }
    }
}

impl Budget {
    /// Creates a budget of at most `bytes` of JSON for the items of an answer and, if given, at most `tokens` cl100k tokens for all of it.
    #[must_use]
    pub fn new(bytes: usize, tokens: Option<usize>) -> Self {
        Self { bytes, tokens }
    }

    /// Reserves `tokens` for the parts of the answer other than the items.
    #[must_use]
    pub fn less(self, tokens: usize) -> Self {
        Self { tokens: self.tokens.map(|left| left.saturating_sub(tokens)), ..self }
    }

    /// Reserves the tokens of `frame`, the answer without its items; does nothing without a token limit.
    #[must_use]
    pub fn less_frame(self, frame: &impl Serialize) -> Self {
        match self.tokens {
            Some(_) => self.less(tokens::count(&as_shown(frame))),
            None => self,
        }
    }

    /// Returns the tokens that are left; `None` without a token limit.
    #[must_use]
    pub fn tokens(&self) -> Option<usize> {
        self.tokens
    }

    /// Charges `item` and returns true, or changes nothing if it does not fit.
    fn try_charge(&mut self, item: &impl Serialize) -> bool {
        // A comma follows each item.
        let json = match self.tokens {
            Some(_) => as_shown(item),
            None => serde_json::to_string(item).unwrap_or_default(),
        };
        let Some(bytes) = self.bytes.checked_sub(json.len() + 1) else { return false };
        if let Some(left) = self.tokens {
            let Some(cost) = tokens::within(&json, left.saturating_sub(1)) else { return false };
            self.tokens = left.checked_sub(cost + 1);
        }
        self.bytes = bytes;
        true
    }
}

/// Returns the JSON that a client gets, in which invisible characters are escaped.
#[must_use]
pub fn as_shown(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
    escape_invisible(&mut value);
    value.to_string()
}

/// An item of an answer that can be shortened step by step.
pub trait Shrinks: Serialize {
    /// Drops the least important part; false if only the location is left.
    fn shrink(&mut self) -> bool;
}

/// The items of an answer that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted<T> {
    /// A prefix of the items.
    pub items: Vec<T>,
    /// Number of items that were shortened.
    pub shrunk: usize,
    /// Number of items that were omitted.
    pub dropped: usize,
}

/// Fits items into a budget, in order. An item that does not fit is shortened; after the first one that has to be omitted, all others are
/// omitted as well. The first item always stays, if only as its location.
pub fn fit<T: Shrinks>(items: impl IntoIterator<Item = T>, mut budget: Budget) -> Fitted<T> {
    let mut fitted = Fitted { items: Vec::new(), shrunk: 0, dropped: 0 };
    for mut item in items {
        if fitted.dropped > 0 {
            fitted.dropped += 1;
            continue;
        }
        let mut shrunk = false;
        let fits = loop {
            if budget.try_charge(&item) {
                break true;
            }
            if !item.shrink() {
                break false;
            }
            shrunk = true;
        };
        if fits || fitted.items.is_empty() {
            fitted.shrunk += usize::from(shrunk);
            fitted.items.push(item);
            if !fits {
                budget = Budget::new(0, budget.tokens.map(|_| 0));
            }
        } else {
            fitted.dropped += 1;
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that shrinks to half its length.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    struct Text(String);

    impl Shrinks for Text {
        fn shrink(&mut self) -> bool {
            let can_shrink = !self.0.is_empty();
            self.0.truncate(self.0.len() / 2);
            can_shrink
        }
    }

    fn texts(count: usize) -> Vec<Text> {
        (0..count).map(|_| Text("word ".repeat(64))).collect()
    }

    #[test]
    fn fitted_items_stay_within_every_budget() {
        for most in [0, 1, 5, 17, 64, 65, 66, 100, 200, 333, 1_000] {
            let fitted = fit(texts(10), Budget::new(100_000, Some(most)));
            assert_eq!(fitted.items.len() + fitted.dropped, 10);
            assert!(!fitted.items.is_empty(), "the first item is always kept");
            let cost = tokens::count(&serde_json::to_string(&fitted.items).unwrap());
            assert!(cost <= most + 2 || fitted.items.len() == 1, "{cost} of {most}");
        }
        assert_eq!(fit(texts(3), Budget::from(100_000)).shrunk, 0);
        let few = fit(texts(9), Budget::from(700));
        assert!(few.shrunk > 0 && few.items.len() > 2, "{few:?}");
    }

    #[test]
    fn invisible_characters_are_counted_as_escaped() {
        let hidden = Text("\u{202e}".repeat(20));
        assert!(as_shown(&hidden).len() > serde_json::to_string(&hidden).unwrap().len());
    }
}
