//! Forms that are carried out only once. A form that creates something carries a value of its own; if the user reloads the
//! answer, or presses the button again, the same value is sent again, and then nothing is created.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use maud::{Markup, html};

use super::page_error::PageError;
use crate::answer::unguessable_id;
use contract::ErrorCode;

/// The field that holds the value.
pub(super) const FIELD: &str = "once";
/// Maximum number of remembered forms of a session; the oldest is evicted.
const FORMS_MAX: usize = 100;
/// Maximum number of sessions whose forms are remembered; the one that has sent none for the longest time is evicted.
const SESSIONS_MAX: usize = 1_000;

/// Renders the hidden field of a form that creates something.
#[must_use]
pub fn field() -> Markup {
    html! { @if let Ok(value) = unguessable_id() { input type="hidden" name=(FIELD) value=(value); } }
}

/// A form with a value of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneForm {
    /// The token of its session.
    pub(super) session: blake3::Hash,
    /// A hash of the value.
    pub(super) value: blake3::Hash,
}

/// The forms that were sent to this process, by session, starting with the session that has sent none for the longest time.
#[derive(Default)]
pub(super) struct SentOnce(Mutex<VecDeque<SessionForms>>);

struct SessionForms {
    session: blake3::Hash,
    /// The values of its forms, oldest first, each with a flag that is `true` once the form has been carried out.
    forms: VecDeque<(blake3::Hash, bool)>,
}

impl SentOnce {
    /// Records that a form is being carried out.
    ///
    /// # Errors
    /// The form was sent before.
    pub(super) fn begin(&self, form: OneForm) -> Result<(), AlreadySent> {
        let mut sessions = self.sessions();
        let known = sessions.iter().position(|of| of.session == form.session);
        let mut forms = known.and_then(|at| sessions.remove(at)).map(|of| of.forms).unwrap_or_default();
        let sent = forms.iter().find(|(value, _)| *value == form.value).map(|(_, is_done)| *is_done);
        if sent.is_none() {
            if forms.len() >= FORMS_MAX {
                forms.pop_front();
            }
            forms.push_back((form.value, false));
        }
        if sessions.len() >= SESSIONS_MAX {
            sessions.pop_front();
        }
        sessions.push_back(SessionForms { session: form.session, forms });
        sent.map_or(Ok(()), |is_done| Err(AlreadySent { is_done }))
    }

    /// Records the outcome. A form that was refused may be sent again.
    pub(super) fn end(&self, form: OneForm, is_done: bool) {
        let mut sessions = self.sessions();
        let Some(of) = sessions.iter_mut().find(|of| of.session == form.session) else { return };
        if !is_done {
            of.forms.retain(|(value, _)| *value != form.value);
        } else if let Some((_, known)) = of.forms.iter_mut().find(|(value, _)| *value == form.value) {
            *known = true;
        }
    }

    fn sessions(&self) -> MutexGuard<'_, VecDeque<SessionForms>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for a form that was sent before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlreadySent {
    /// `true` if it was carried out then; otherwise it was begun and may not have ended.
    is_done: bool,
}

impl AlreadySent {
    /// Returns the answer; `done` describes what the form did when it was sent first.
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

    fn form_of(session: usize, value: usize) -> OneForm {
        let hash = |number: usize| blake3::hash(&number.to_le_bytes());
        OneForm { session: hash(session), value: hash(value) }
    }

    fn form(value: usize) -> OneForm {
        form_of(0, value)
    }

    #[test]
    fn a_form_is_carried_out_once_unless_it_is_refused() {
        let sent = SentOnce::default();
        assert_eq!(sent.begin(form(1)), Ok(()));
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: false }), "it is being carried out");
        sent.end(form(1), false);
        assert_eq!(sent.begin(form(1)), Ok(()), "it was refused");
        sent.end(form(1), true);
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: true }));
        assert_eq!(sent.begin(form(2)), Ok(()));
        assert_eq!(sent.begin(form_of(1, 1)), Ok(()), "it is of another session");
    }

    #[test]
    fn the_oldest_form_of_a_session_makes_room() {
        let sent = SentOnce::default();
        assert_eq!(sent.begin(form_of(1, 0)), Ok(()));
        for value in 0..=FORMS_MAX {
            assert_eq!(sent.begin(form(value)), Ok(()));
            sent.end(form(value), true);
        }
        assert_eq!(sent.begin(form(1)), Err(AlreadySent { is_done: true }));
        assert_eq!(sent.begin(form(0)), Ok(()));
        assert_eq!(sent.begin(form_of(1, 0)), Err(AlreadySent { is_done: false }));
        assert!(sent.sessions().iter().all(|of| of.forms.len() <= FORMS_MAX));
    }

    #[test]
    fn the_session_that_sent_nothing_for_the_longest_makes_room() {
        let sent = SentOnce::default();
        for session in 0..SESSIONS_MAX {
            assert_eq!(sent.begin(form_of(session, 0)), Ok(()));
        }
        assert_eq!(sent.begin(form_of(0, 1)), Ok(()));
        assert_eq!(sent.begin(form_of(SESSIONS_MAX, 0)), Ok(()));
        assert_eq!(sent.begin(form_of(0, 0)), Err(AlreadySent { is_done: false }));
        assert_eq!(sent.sessions().len(), SESSIONS_MAX);
        assert_eq!(sent.begin(form_of(1, 0)), Ok(()));
    }
}
