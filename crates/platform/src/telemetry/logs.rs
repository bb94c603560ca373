//! Logging, to stderr only, because stdout carries the MCP messages; and the spans for a collector.

use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use super::traces;
use contract::config::{Log, LogFormat};
use contract::escaped_line;

/// Installs the global log subscriber, and starts to send spans if `log.traces_url` is set. Further calls do nothing, so that each
/// test may call it.
///
/// If `log.filter` cannot be parsed, logs a warning and uses `info`; if spans cannot be sent, logs a warning.
pub fn start_logging(settings: &Log) {
    let (filter, parse_error) = match EnvFilter::try_new(&settings.filter) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error.to_string())),
    };
    let (tracer, trace_error) = match settings.traces_url.as_deref().map(traces::start) {
        Some(Ok(tracer)) => (Some(tracer), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = Vec::new();
    if let Some(tracer) = tracer {
        // Only our own spans: a log line may name what must not leave the machine.
        let only_spans =
            filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with("pairofcleats"));
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        layers.push(layer.with_filter(only_spans.and(LevelFilter::INFO)).boxed());
    }
    match settings.format {
        LogFormat::Text => {
            // Like all output, obeys NO_COLOR, CLICOLOR_FORCE and TERM.
            let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
            let layer = fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colour);
            layers.push(layer.fmt_fields(one_line_fields()).with_filter(filter).boxed());
        }
        LogFormat::Json => {
            layers.push(fmt::layer().json().with_writer(std::io::stderr).with_filter(filter).boxed());
        }
    }
    if tracing_subscriber::registry().with(layers).try_init().is_err() {
        return;
    }
    if let Some(error) = parse_error {
        tracing::warn!(error, "log.filter cannot be parsed; using `info`");
    }
    if let Some(error) = trace_error {
        tracing::warn!(error, "spans are not sent to log.traces_url");
    }
}

/// Formats fields so that their values stay on one line: a line feed from a client or a repository could forge a line of the log.
fn one_line_fields() -> impl for<'writer> fmt::FormatFields<'writer> + Send + Sync + 'static {
    fmt::format::debug_fn(|writer, field, value| {
        let text = escaped_line(&format!("{value:?}"));
        match field.name() {
            "message" => write!(writer, "{text}"),
            // The origin of a line, which the `log` crate adds.
            name if name.starts_with("log.") => Ok(()),
            name => write!(writer, "{name}={text}"),
        }
    })
    .delimited(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_feed_in_a_value_begins_no_line() {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer =
            fmt::layer().with_ansi(false).with_writer(move || writer.clone()).fmt_fields(one_line_fields());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(name = "a\nERROR b", path = %"c\r\nERROR d", "no index of `{}`", "x\nERROR y");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in ["INFO", "no index of `x", "ERROR y`", "name=\"a", "path=c"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
