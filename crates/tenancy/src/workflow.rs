//! workflow-mcp, which knows the project that a team works on.
//!
//! It is a convenience and never a reason to fail: whatever goes wrong, the call goes to the default workspace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex;

use contract::ProjectId;
use contract::clock::Clock;
use contract::config;
use platform::outbound::{Outbound, Problem, Url, http_url};

/// The answer is one short object.
const ANSWER_BYTES_MAX: usize = 65_536;

/// The configured workflow-mcp and what it said last.
pub struct Workflow {
    outbound: Outbound,
    url: Url,
    cache: Duration,
    clock: Arc<dyn Clock>,
    /// Held while it is asked, so that concurrent callers share one request.
    last: Mutex<Option<Said>>,
}

/// What it said, and when; None also stands for a failure.
struct Said {
    at: Instant,
    project: Option<ProjectId>,
}

impl Workflow {
    /// None when it is not configured; also when its address makes no sense, which is said once in the log.
    #[must_use]
    pub fn configured(settings: &config::Workflow, clock: Arc<dyn Clock>) -> Option<Self> {
        let url = settings.url.as_deref()?;
        Self::new(url, settings, clock)
            .inspect_err(|problem| tracing::error!("workflow.url is not used: {problem}"))
            .ok()
    }

    fn new(url: &str, settings: &config::Workflow, clock: Arc<dyn Clock>) -> Result<Self, Problem> {
        Ok(Self {
            url: http_url(&format!("{}/api/v1/projects/active", url.trim_end_matches('/')))?,
            outbound: Outbound::new(Duration::from_millis(settings.timeout_ms))?,
            cache: Duration::from_millis(settings.cache_ms),
            clock,
            last: Mutex::new(None),
        })
    }

    /// The active project, at most `workflow.cache_ms` old; None when there is none or nobody can tell.
    pub async fn active(&self) -> Option<ProjectId> {
        let mut last = self.last.lock().await;
        if let Some(said) = last.as_ref()
            && self.clock.instant().duration_since(said.at) < self.cache
        {
            return said.project.clone();
        }
        let project = self.ask().await.unwrap_or_else(|problem| {
            tracing::warn!("workflow-mcp names no project, the default workspace is used: {problem}");
            None
        });
        *last = Some(Said { at: self.clock.instant(), project: project.clone() });
        project
    }

    async fn ask(&self) -> Result<Option<ProjectId>, Problem> {
        match self.outbound.get_json(&self.url, ANSWER_BYTES_MAX).await?.get("project_id") {
            Some(Value::Null) => Ok(None),
            Some(Value::String(id)) => match ProjectId::parse(id) {
                Ok(id) => Ok(Some(id)),
                Err(error) => Err(Problem::Malformed(format!("project_id: {}", error.constraint))),
            },
            _ => Err(Problem::Malformed("no project_id that is a text or null".to_owned())),
        }
    }
}
