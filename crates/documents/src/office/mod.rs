//! The texts of office documents: Office Open XML and OpenDocument, which are zip files of XML.

mod open_document;
mod package;
mod sheets;
mod slides;
mod word;
mod xml;

#[cfg(test)]
mod tests;

use package::Package;

use crate::Unreadable;
use crate::format::{COMPOUND_HEADER, Format};
use crate::text::Text;

/// The name of the stream of an encrypted document in its compound file, in UTF-16.
const ENCRYPTED_STREAM: &str = "EncryptedPackage";

/// Returns the text of a document, of at most `text_bytes_max` bytes.
///
/// # Errors
/// The reason why the document has no text.
pub(crate) fn text(format: Format, bytes: &[u8], text_bytes_max: usize) -> Result<String, Unreadable> {
    if bytes.starts_with(COMPOUND_HEADER) {
        return Err(compound_file(bytes));
    }
    let mut package = Package::open(bytes)?;
    let mut text = Text::new(text_bytes_max);
    match format {
        Format::Docx => word::read(&mut package, &mut text)?,
        Format::Xlsx => sheets::read(&mut package, &mut text)?,
        Format::Pptx => slides::read(&mut package, &mut text)?,
        Format::Odt | Format::Ods | Format::Odp => open_document::read(&mut package, format, &mut text)?,
        Format::Pdf => return Err(Unreadable::Damaged),
    }
    text.finish().ok_or(Unreadable::NoText)
}

/// Returns why a compound file under the name of another format has no text: it is encrypted, or of an older format.
fn compound_file(bytes: &[u8]) -> Unreadable {
    let name: Vec<u8> = ENCRYPTED_STREAM.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let is_encrypted = bytes.windows(name.len()).any(|window| window == name.as_slice());
    if is_encrypted { Unreadable::Encrypted } else { Unreadable::Damaged }
}
