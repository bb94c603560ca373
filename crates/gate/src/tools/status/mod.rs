//! Tools that show the health of the server and list the workspaces.

pub(super) mod check_status;
pub(super) mod workspace_status;
