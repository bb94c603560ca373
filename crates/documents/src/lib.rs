//! Extracts the texts of documents that are not plain text: notebooks, PDF, and office documents.
//!
//! Documents are hostile. Everything is bounded: entries and unpacked bytes of an archive, nesting, operators of a page, and the
//! length of the text. The libraries that read the formats may still fail, allocate or loop, so all but notebooks are read in
//! a process that has no rights, limited memory and limited time (`extractor.rs` of the engine).

mod format;
mod text;

pub mod notebook;
mod office;
mod pdf;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

pub use format::Format;

/// Increase when the same document yields another text. It is stored with an index, whose files are then read again.
pub const EXTRACTION_VERSION: u32 = 2;

/// The reason why a document has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unreadable {
    /// The document is damaged, or exceeds a limit once it is unpacked.
    Damaged,
    /// It needs a password.
    Encrypted,
    /// It contains no text, for example only images.
    NoText,
}

/// Returns the text of a document. A longer one than `text_bytes_max` is cut, and its last line says so.
///
/// # Errors
/// The reason why there is no text. A library that panics counts as a damaged document.
pub fn extract(format: Format, bytes: &[u8], text_bytes_max: usize) -> Result<String, Unreadable> {
    let read = AssertUnwindSafe(|| match format {
        Format::Pdf => pdf::text(bytes, text_bytes_max),
        _ => office::text(format, bytes, text_bytes_max),
    });
    catch_unwind(read).unwrap_or(Err(Unreadable::Damaged))
}
