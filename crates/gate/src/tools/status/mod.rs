//! Tools that show the health of the server and list the workspaces.

pub(crate) mod check_status;
pub(crate) mod workspace_status;
