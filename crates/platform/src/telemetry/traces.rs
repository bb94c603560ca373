//! Spans sent to an OpenTelemetry collector, if the operator configured one.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Tracer};
use tokio::runtime::{Builder, Runtime};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::outbound::{HttpClient, HttpError, http_url};
use contract::TOOLING_VERSION;

/// The name under which the collector files the spans.
const SERVICE: &str = "pairofcleats";
/// Time limit of a request to the collector.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the last spans, at the end of the process.
const LAST_SPANS_TIMEOUT: Duration = Duration::from_secs(3);

/// The exporter of this process, which lives as long as it does.
static EXPORTER: OnceLock<Exporter> = OnceLock::new();

struct Exporter {
    provider: SdkTracerProvider,
    /// Sends the requests, apart from the runtime of the calls, which ends before the last spans are sent.
    _runtime: Runtime,
}

/// Starts to send spans to the collector at `url`, which takes OTLP over HTTP, unless an earlier call did. Returns what makes them.
///
/// # Errors
/// One sentence, without the URL, if the URL, TLS or the thread that sends cannot be used.
pub(super) fn start(url: &str) -> Result<Tracer, String> {
    if let Some(started) = EXPORTER.get() {
        return Ok(started.provider.tracer(SERVICE));
    }
    // The URL may contain a password.
    let failed = |error: &dyn std::error::Error| error.to_string().replace(url, "the URL");
    let address = http_url(url).map_err(|error| failed(&error))?;
    let client = HttpClient::with_keep_alive(SEND_TIMEOUT).map_err(|error| failed(&error))?;
    let runtime =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(|error| failed(&error))?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Sender {
            client,
            runtime: runtime.handle().clone(),
            is_failing: AtomicBool::new(false),
        })
        .with_endpoint(address.as_str())
        .with_timeout(SEND_TIMEOUT)
        .build()
        .map_err(|error| failed(&error).replace(address.as_str(), "the URL"))?;
    let resource = Resource::builder()
        .with_service_name(SERVICE)
        .with_attribute(opentelemetry::KeyValue::new("service.version", TOOLING_VERSION))
        .build();
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        // The operator sees all calls, also those of clients whose own traces are not recorded.
        .with_sampler(Sampler::AlwaysOn)
        .build();
    let tracer = provider.tracer(SERVICE);
    let _ = EXPORTER.set(Exporter { provider, _runtime: runtime });
    Ok(tracer)
}

/// Makes a new span a part of the client's trace. `parent` is a header `traceparent`; a malformed one is ignored.
pub fn join_trace(span: &tracing::Span, parent: &str) {
    if EXPORTER.get().is_none() {
        return;
    }
    let headers = HashMap::from([("traceparent".to_owned(), parent.to_owned())]);
    // A layer that does not follow this span has no use for its parent.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&headers));
}

/// Sends the spans that are not sent yet, at the end of the process.
pub fn send_remaining_spans() {
    if let Some(exporter) = EXPORTER.get()
        && let Err(error) = exporter.provider.shutdown_with_timeout(LAST_SPANS_TIMEOUT)
    {
        tracing::warn!("the last spans were not sent: {error}");
    }
}

/// Sends requests with the limits of all outbound HTTP, on a runtime of its own: the thread that exports has none.
#[derive(Debug)]
struct Sender {
    client: HttpClient,
    runtime: tokio::runtime::Handle,
    /// `true` if the last request failed. Only a change is logged.
    is_failing: AtomicBool,
}

impl Sender {
    fn log_change(&self, problem: Option<String>) {
        match problem {
            Some(problem) if !self.is_failing.swap(true, Ordering::Relaxed) => {
                tracing::warn!(problem, "the collector of log.traces_url takes no spans");
            }
            None if self.is_failing.swap(false, Ordering::Relaxed) => {
                tracing::info!("the collector of log.traces_url takes spans again");
            }
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl opentelemetry_http::HttpClient for Sender {
    async fn send_bytes(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, opentelemetry_http::HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { client.send(request).await }).await?;
        self.log_change(match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(HttpError::Status(response.status().as_u16()).to_string()),
            Err(error) => Some(error.to_string()),
        });
        sent.map_err(|error: HttpError| error.into())
    }
}
