//! The input of tools that take nothing but a project.

use schemars::JsonSchema;
use serde::Deserialize;

use gate::tools::for_modules::ProjectIdArg;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectInput {
    /// Project; default: the session's.
    pub(super) project_id: Option<ProjectIdArg>,
}
