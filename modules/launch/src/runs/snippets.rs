//! Parses the code blocks of a site in sandboxed processes, because they are untrusted and grammars are not.

use std::time::Duration;

use contract::Fault;
use engine::indexing::parser::{Parser, Parsing};
use languages::{ChunkLimits, Chunked, Language};
use launch::site::Site;
use launch::snippet::{ParsedSnippet, parse_snippets};
use tokio_util::sync::CancellationToken;

use super::evidence::check_cancelled;

/// Time limit of one block.
const BLOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The code blocks of a site as their parsers read them. Blocks.
///
/// # Errors
/// `CANCELLED`, or if a parser process cannot be started.
pub(super) fn parse_site(
    parsing: &Parsing,
    site: &Site,
    cancel: &CancellationToken,
) -> Result<Vec<ParsedSnippet>, Fault> {
    let mut parser = Parser::new(parsing.clone());
    let limits = ChunkLimits { parse_timeout: BLOCK_TIMEOUT, ..ChunkLimits::default() };
    parse_snippets(site, |language: &'static Language, text: &str| -> Result<Option<Chunked>, Fault> {
        check_cancelled(cancel)?;
        parser.chunk(text, Some(language), &limits, &|| cancel.is_cancelled()).map(Some)
    })
}
