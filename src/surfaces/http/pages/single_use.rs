//! Forms that are carried out once. A form that creates something carries a value of its own; whoever reloads the answer, or
//! presses the button a second time, sends the value again, and then nothing is created.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use maud::{Markup, html};

use super::data::PageError;
use crate::surfaces::answer::unguessable_id;
use contract::ErrorCode;

/// The field that holds the value.
pub(super) const FIELD: &str = "once";
/// Most values that are remembered; the oldest makes room.
const VALUES_MAX: usize = 10_000;

/// The hidden field of a form that creates something.
pub(super) fn field() -> Markup {
    html! { @if let Ok(value) = unguessable_id() { input type="hidden" name=(FIELD) value=(value); } }
}

/// The forms of this process that were sent.
#[derive(Default)]
pub(super) struct SentOnce(Mutex<Values>);

#[derive(Default)]
struct Values {
    /// Whether what each form asked for has been done; the forms are known by a hash of their value and their session.
    done: HashMap<blake3::Hash, bool>,
    /// The same forms, oldest first.
    order: VecDeque<blake3::Hash>,
}

impl SentOnce {
    /// Notes that a form is being carried out.
    ///
    /// # Errors
    /// The form was sent before.
    pub(super) fn begin(&self, form: blake3::Hash) -> Result<(), AlreadySent> {
        let mut values = self.values();
        if let Some(is_done) = values.done.get(&form) {
            return Err(AlreadySent { is_done: *is_done });
        }
        if values.order.len() >= VALUES_MAX
            && let Some(oldest) = values.order.pop_front()
        {
            values.done.remove(&oldest);
        }
        values.done.insert(form, false);
        values.order.push_back(form);
        Ok(())
    }

    /// Notes how it ended. A form that failed may be sent again.
    pub(super) fn end(&self, form: blake3::Hash, is_done: bool) {
        let mut values = self.values();
        if !is_done {
            values.done.remove(&form);
            values.order.retain(|known| *known != form);
        } else if let Some(known) = values.done.get_mut(&form) {
            *known = true;
        }
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a form is not carried out: it was sent before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlreadySent {
    /// Whether it was carried out then; otherwise that has begun and may not have ended.
    is_done: bool,
}

impl AlreadySent {
    /// The answer; `done` says what the form did when it was sent first.
    pub(super) fn error(&self, done: &str) -> PageError {
        let message = match self.is_done {
            true => done,
            false => "The form was sent before, and its first sending has not ended or was interrupted.",
        };
        PageError {
            hint: Some("Nothing was done a second time. The form on this page is a new one.".to_owned()),
            ..PageError::new(ErrorCode::IllegalState, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(value: usize) -> blake3::Hash {
        blake3::hash(&value.to_le_bytes())
    }

    #[test]
    fn a_form_is_carried_out_once_unless_it_fails() {
        let sent = SentOnce::default();
        assert_eq!(sent.begin(form(1)), Ok(()));
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: false }), "it is being carried out");
        sent.end(form(1), false);
        assert_eq!(sent.begin(form(1)), Ok(()), "it failed");
        sent.end(form(1), true);
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: true }));
        assert_eq!(sent.begin(form(2)), Ok(()));
    }

    #[test]
    fn the_oldest_form_makes_room() {
        let sent = SentOnce::default();
        for value in 0..=VALUES_MAX {
            assert_eq!(sent.begin(form(value)), Ok(()));
            sent.end(form(value), true);
        }
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: true }));
        assert_eq!(sent.begin(form(0)), Ok(()));
        let values = sent.values();
        assert_eq!((values.done.len(), values.order.len()), (VALUES_MAX, VALUES_MAX));
    }
}
