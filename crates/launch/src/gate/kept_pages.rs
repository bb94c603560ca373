//! Planned pages that are not written because people's changes are kept. They are reported by the gate `consistency`.

use super::Found;
use crate::issue::{Rule, Severity, quote};
use crate::published::{KeptPage, KeptReason};

pub(super) const EDITED: Rule =
    Rule::new("edited_page", "A page was changed since it was published, and stays");
pub(super) const FOREIGN: Rule = Rule::new("foreign_page", "A page that no run wrote stays");
pub(super) const ADDRESS_TAKEN: Rule =
    Rule::new("address_taken", "A page has the address of a planned one, and stays");
pub(super) const REMOVED: Rule = Rule::new("removed_page", "A page that was removed is not written again");
pub(super) const MOVED: Rule = Rule::new("moved_page", "A page that was moved is not written again");

/// Reports which pages are kept. Nothing is wrong with them, so they do not prevent publication.
pub(super) fn add(kept: &[KeptPage], found: &mut Found) {
    for kept in kept {
        let (rule, message) = describe(kept);
        found.add_to_file(rule, Severity::Info, &kept.output_path, "", message);
    }
}

fn describe(kept: &KeptPage) -> (&'static Rule, String) {
    let other = kept.other.as_deref().map(quote).unwrap_or_default();
    let (rule, mut message) = match kept.reason {
        KeptReason::Edited => (
            &EDITED,
            "The page is not as a run published it, so people changed it; or nothing is known of the run. It stays as it is."
                .to_owned(),
        ),
        KeptReason::Foreign => {
            (&FOREIGN, "No run wrote the page that is there. It stays as it is, and the planned one is left out.".to_owned())
        }
        KeptReason::AddressTaken => {
            (&ADDRESS_TAKEN, format!("{other} has the address of the planned page, which is left out."))
        }
        KeptReason::Removed => (
            &REMOVED,
            "The page was published, and people took it away. It is not written again; to have it back, restore it from the site's \
             history."
                .to_owned(),
        ),
        KeptReason::Moved => {
            (&MOVED, format!("The page was published, and people moved it to {other}. It stays there as it is."))
        }
    };
    match kept.unsaid {
        0 => {}
        1 => message.push_str(" One of its sentences is no claim of this run: look whether it is still so."),
        many => message.push_str(&format!(
            " {many} of its sentences are no claims of this run: look whether they are still so."
        )),
    }
    (rule, message)
}
