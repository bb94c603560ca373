//! The request that an index job carries, and the subject of a job without a root.

use engine::indexing::Options;
use serde::{Deserialize, Serialize};

/// The request that is stored with a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) root: String,
    pub(super) options: Options,
}

/// The subject of a job that embeds a whole project. It is distinct from every root, because a root is an absolute path.
pub(super) const WHOLE_PROJECT: &str = "";
