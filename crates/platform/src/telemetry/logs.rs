//! Logging, to stderr only: stdout carries the MCP messages.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use contract::config::{Log, LogFormat};

/// Installs the global log subscriber. Further calls do nothing, so that each test may call it.
///
/// If `log.filter` cannot be parsed, logs a warning and uses `info`.
pub fn start_logging(settings: &Log) {
    let (filter, parse_error) = match EnvFilter::try_new(&settings.filter) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error.to_string())),
    };
    let registry = tracing_subscriber::registry().with(filter);
    let started = match settings.format {
        LogFormat::Text => {
            // Like all output, obeys NO_COLOR, CLICOLOR_FORCE and TERM.
            let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
            let layer = fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colour);
            registry.with(layer).try_init()
        }
        LogFormat::Json => registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init(),
    };
    if let (Ok(()), Some(error)) = (started, parse_error) {
        tracing::warn!(error, "log.filter cannot be parsed; using `info`");
    }
}
