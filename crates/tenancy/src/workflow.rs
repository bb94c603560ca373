//! Reads from workflow-mcp the project that a team works on.
//!
//! If that fails, the call uses the default workspace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex;

use contract::ProjectId;
use contract::clock::Clock;
use contract::config;
use platform::outbound::{HttpClient, HttpError, Url, http_url};

/// Longest answer, in bytes; it is one short object.
const ANSWER_BYTES_MAX: usize = 65_536;

/// The configured workflow-mcp, and its last answer.
pub struct Workflow {
    outbound: HttpClient,
    url: Url,
    cache_for: Duration,
    clock: Arc<dyn Clock>,
    /// Locked during a request, so that concurrent callers share its answer.
    last: Mutex<Option<CachedAnswer>>,
}

/// An answer and its time; `project` is also `None` after a failure.
struct CachedAnswer {
    at: Instant,
    project: Option<ProjectId>,
}

impl Workflow {
    /// Returns `None` if it is not configured, or if its address is invalid, which is logged once.
    #[must_use]
    pub fn from_settings(settings: &config::Workflow, clock: Arc<dyn Clock>) -> Option<Self> {
        let url = settings.url.as_deref()?;
        Self::new(url, settings, clock)
            .inspect_err(|problem| tracing::error!("workflow.url is not used: {problem}"))
            .ok()
    }

    fn new(url: &str, settings: &config::Workflow, clock: Arc<dyn Clock>) -> Result<Self, HttpError> {
        Ok(Self {
            url: http_url(&format!("{}/api/v1/projects/active", url.trim_end_matches('/')))?,
            outbound: HttpClient::new(Duration::from_millis(settings.timeout_ms))?,
            cache_for: Duration::from_millis(settings.cache_ms),
            clock,
            last: Mutex::new(None),
        })
    }

    /// The active project, from an answer at most `workflow.cache_ms` old; `None` if there is no active project or the request fails.
    pub async fn active(&self) -> Option<ProjectId> {
        let mut last = self.last.lock().await;
        if let Some(answer) = last.as_ref()
            && self.clock.instant().duration_since(answer.at) < self.cache_for
        {
            return answer.project.clone();
        }
        let project = self.fetch().await.unwrap_or_else(|problem| {
            tracing::warn!(
                "workflow-mcp did not answer with a project; the default workspace is used: {problem}"
            );
            None
        });
        *last = Some(CachedAnswer { at: self.clock.instant(), project: project.clone() });
        project
    }

    async fn fetch(&self) -> Result<Option<ProjectId>, HttpError> {
        match self.outbound.get_json(&self.url, ANSWER_BYTES_MAX).await?.get("project_id") {
            Some(Value::Null) => Ok(None),
            Some(Value::String(id)) => match ProjectId::parse(id) {
                Ok(id) => Ok(Some(id)),
                Err(error) => Err(HttpError::Malformed(format!("project_id: {}", error.constraint))),
            },
            _ => Err(HttpError::Malformed("project_id must be a string or null".to_owned())),
        }
    }
}
