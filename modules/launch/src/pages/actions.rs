//! Actions on a run: the forms that are legal now and that the asker may send.

use maud::{Markup, html};

use super::answers::RunStatus;
use super::{question, run_url};
use surfaces::http::pages::frame::{Asker, project_field, token_field};

/// The actions that need no confirmation: their names in forms, their tools and their labels.
const ACTIONS: [(&str, &str, &str); 3] = [
    ("resume", "launch_resume", "Go on"),
    ("validate", "launch_validate", "Validate"),
    ("fix", "launch_fix_next", "Fix the next issue"),
];

/// Returns the tool of an action.
pub(super) fn tool_of(action: &str) -> Option<&'static str> {
    ACTIONS.into_iter().find(|(name, _, _)| *name == action).map(|(_, tool, _)| tool)
}

/// Renders the forms, in the order in which the tools are proposed.
pub(super) fn actions(asker: &Asker, project: &str, status: &RunStatus) -> Markup {
    let is_offered = |tool: &str| status.is_legal(tool) && asker.may_call(tool);
    html! {
        div.options {
            @for (action, tool, label) in ACTIONS {
                @if is_offered(tool) {
                    // Includes the project, so that the page of an error has the address of the run.
                    form method="post" action=(run_url(project, &status.run_id)) {
                        (token_field(asker))
                        (project_field(project))
                        button name="action" value=(action) { (label) }
                    }
                }
            }
            @for asked in question::ALL {
                @if is_offered(asked.tool) {
                    form action=(asked.path_of(&status.run_id)) {
                        (project_field(project))
                        button.quiet { (asked.label) }
                    }
                }
            }
        }
    }
}
