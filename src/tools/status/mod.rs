//! Tools that say how the server and the workspaces are.

pub(super) mod check_status;
pub(super) mod workspace_status;
