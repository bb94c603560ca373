//! A real server on loopback, and a client that asks it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::app::App;
use crate::bench::speed::OverHttp;
use crate::surfaces::http::listen;
use contract::config::{Config, Required};
use contract::{ErrorCode, Fault};
use platform::outbound::{Outbound, Url, http_url};

/// A question that takes longer has failed.
const BUDGET: Duration = Duration::from_secs(30);
/// An answer is far shorter.
const BYTES_MAX: usize = 16 << 20;

/// Settings of a server that only this process asks.
pub(super) fn to_be_measured(config: &mut Config) {
    config.server.bind = IpAddr::V4(Ipv4Addr::LOCALHOST).to_string();
    config.server.port = 0;
    config.server.tls_certificate = None;
    config.server.tls_key = None;
    config.server.behind_proxy = false;
    config.server.trusted_proxies.clear();
    config.access.required = Required::Auto;
    config.access.calls_per_minute = 0;
}

/// A server that answers.
pub(super) struct Server {
    serving: JoinHandle<()>,
    search: Url,
    client: Outbound,
}

impl Server {
    /// Listens on a free port, with all that a server does beside answering.
    ///
    /// # Errors
    /// As [`listen`].
    pub(super) async fn start(app: &Arc<App>) -> Result<Self, Fault> {
        let listening = listen(app).await?;
        let unusable = |problem| Fault::internal("The server to be measured cannot be asked.", problem);
        let search = http_url(&format!("http://{}/search", listening.address())).map_err(unusable)?;
        let client = Outbound::for_many_calls(BUDGET).map_err(unusable)?;
        app.start_background();
        let app = Arc::clone(app);
        Ok(Self { serving: tokio::spawn(async move { listening.serve(&app).await }), search, client })
    }

    /// Asks `search`.
    pub(super) fn ask(&self) -> Box<OverHttp> {
        let (client, search) = (self.client.clone(), self.search.clone());
        Box::new(move |arguments| {
            let (client, search) = (client.clone(), search.clone());
            Box::pin(async move {
                let answer = client.post_json(&search, &arguments, BYTES_MAX).await;
                let mut envelope =
                    answer.map_err(|problem| Fault::internal("A question over HTTP failed.", problem))?;
                if envelope["ok"] != true {
                    return Err(Fault::new(ErrorCode::Internal, envelope["error"].to_string()));
                }
                Ok(envelope["result"]["search"].take())
            })
        })
    }

    /// Ends.
    pub(super) async fn stop(self, app: &App) {
        app.shutdown.cancel();
        if let Err(error) = self.serving.await {
            tracing::warn!(%error, "the measured server did not end well");
        }
        app.stopped().await;
    }
}
