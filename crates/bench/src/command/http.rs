//! The measured server on loopback, and the client that queries it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::speed::HttpSearch;
use contract::config::{Config, Required};
use contract::{ErrorCode, Fault};
use gate::app::App;
use platform::outbound::{HttpClient, Url, http_url};
use surfaces::http::listen;
use surfaces::module::Modules;

/// Timeout of one query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer, in bytes; real answers are far shorter.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Settings of a server that only this process reaches: a free loopback port, no TLS, keys or rate limit.
pub(super) fn configure_local_server(config: &mut Config) {
    config.server.bind = IpAddr::V4(Ipv4Addr::LOCALHOST).to_string();
    config.server.port = 0;
    config.server.tls_certificate = None;
    config.server.tls_key = None;
    config.server.behind_proxy = false;
    config.server.trusted_proxies.clear();
    config.access.required = Required::Auto;
    config.access.calls_per_minute = 0;
}

/// A running HTTP server on loopback.
pub(super) struct BenchServer {
    serving: JoinHandle<()>,
    search: Url,
    client: HttpClient,
}

impl BenchServer {
    /// Starts the server on a free port, with its background work.
    ///
    /// # Errors
    /// The faults of [`listen`].
    pub(super) async fn start(app: &Arc<App>, modules: &'static Modules) -> Result<Self, Fault> {
        let listening = listen(app).await?;
        let unusable = |problem| Fault::internal("The measured server could not be reached.", problem);
        let search = http_url(&format!("http://{}/search", listening.address())).map_err(unusable)?;
        let client = HttpClient::with_keep_alive(QUERY_TIMEOUT).map_err(unusable)?;
        app.start_background();
        let app = Arc::clone(app);
        Ok(Self {
            serving: tokio::spawn(async move { listening.serve(&app, modules).await }),
            search,
            client,
        })
    }

    /// Returns a function that sends `POST /search` and returns the result.
    pub(super) fn search_client(&self) -> Box<HttpSearch> {
        let (client, search) = (self.client.clone(), self.search.clone());
        Box::new(move |arguments| {
            let (client, search) = (client.clone(), search.clone());
            Box::pin(async move {
                let answer = client.post_json(&search, &arguments, ANSWER_BYTES_MAX).await;
                let mut envelope =
                    answer.map_err(|problem| Fault::internal("A query over HTTP failed.", problem))?;
                if envelope["ok"] != true {
                    return Err(Fault::new(ErrorCode::Internal, envelope["error"].to_string()));
                }
                Ok(envelope["result"]["search"].take())
            })
        })
    }

    /// Shuts the server and its background work down.
    pub(super) async fn stop(self, app: &App) {
        app.shutdown.cancel();
        if let Err(error) = self.serving.await {
            tracing::warn!(%error, "the measured server did not shut down cleanly");
        }
        app.wait_stopped().await;
    }
}
