//! Logs: to stderr only, because stdout belongs to the protocol.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use contract::config::{Log, LogFormat};

/// Starts logging for the life of the process. A second call changes nothing, which is what tests need.
///
/// A filter that does not parse falls back to `info` and says so.
pub fn start(settings: &Log) {
    let (filter, complaint) = match EnvFilter::try_new(&settings.filter) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error.to_string())),
    };
    let registry = tracing_subscriber::registry().with(filter);
    let started = match settings.format {
        LogFormat::Text => {
            // As all output: colour on a terminal that has it, unless NO_COLOR, CLICOLOR_FORCE or TERM=dumb say otherwise.
            let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
            let layer = fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colour);
            registry.with(layer).try_init()
        }
        LogFormat::Json => registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init(),
    };
    if let (Ok(()), Some(complaint)) = (started, complaint) {
        tracing::warn!(complaint, "log.filter does not parse; using `info`");
    }
}
