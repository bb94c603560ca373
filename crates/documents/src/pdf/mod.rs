//! The text of a PDF, page by page, in the order in which the page draws it. The ends of lines and words are inferred from the places of
//! the characters. Everything without text, such as images and drawings, is omitted; so are annotations and forms.

mod font;
mod matrix;
mod page;
mod unicode_map;

#[cfg(test)]
mod tests;

use lopdf::{Document, Error, LoadOptions};

use crate::Unreadable;
use crate::text::Text;
use page::Reader;

/// Maximum number of bytes that one stream of objects may unpack to.
const OBJECTS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of pages that are read.
const PAGES_MAX: usize = 20_000;

/// Returns the text of a PDF, of at most `text_bytes_max` bytes. A page that cannot be read is empty.
///
/// # Errors
/// The reason why the document has no text.
pub(crate) fn text(bytes: &[u8], text_bytes_max: usize) -> Result<String, Unreadable> {
    let options = LoadOptions::with_max_decompressed_size(OBJECTS_BYTES_MAX);
    // If the password is empty, which only restricts printing and the like, the library decrypts the document.
    let document = Document::load_mem_with_options(bytes, options).map_err(|error| match error {
        Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => {
            Unreadable::Encrypted
        }
        _ => Unreadable::Damaged,
    })?;
    if document.trailer.has(b"Encrypt") {
        return Err(Unreadable::Encrypted);
    }
    let mut text = Text::new(text_bytes_max);
    let mut reader = Reader::new(&document);
    let mut pages = 0;
    for (number, page) in document.page_iter().take(PAGES_MAX).enumerate() {
        pages = number + 1;
        text.page(&format!("page {pages}"));
        reader.page(page, &mut text);
        if text.is_full() {
            break;
        }
    }
    // Without pages it is not a document that has no text, but one whose pages were not found.
    if pages == 0 { Err(Unreadable::Damaged) } else { text.finish().ok_or(Unreadable::NoText) }
}
