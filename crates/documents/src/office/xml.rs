//! Reads the XML of a part of a document, element by element. Names are compared without their prefix.

use std::borrow::Cow;
use std::io::{BufReader, Read};

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::QName;

use crate::Unreadable;

/// Deepest nesting of elements. Nested tables of a document take about ten levels each.
const DEPTH_MAX: usize = 1000;

/// The beginning of an element.
pub(super) struct Element<'e>(&'e BytesStart<'e>);

impl Element<'_> {
    /// Its name.
    pub(super) fn name(&self) -> &[u8] {
        self.0.local_name().into_inner()
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|key| key.local_name().into_inner() == name.as_bytes())
    }

    /// Returns the attribute that names a relation: `r:id`, besides which there may be an `id`.
    pub(super) fn relation(&self) -> Option<String> {
        self.find(|key| key.prefix().is_some() && key.local_name().into_inner() == b"id")
    }

    fn find(&self, is_wanted: impl Fn(QName<'_>) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).flatten().find(|attribute| is_wanted(attribute.key))?;
        let value = std::str::from_utf8(&found.value).ok()?;
        unescape(value).ok().map(Cow::into_owned)
    }
}

/// Receives the content of a part.
pub(super) trait Handler {
    /// An element begins.
    fn start(&mut self, element: &Element<'_>);
    /// The element with this name ends.
    fn end(&mut self, _name: &[u8]) {}
    /// A text.
    fn text(&mut self, _text: &str) {}
    /// Returns `true` if the rest of the part need not be read.
    fn is_done(&self) -> bool {
        false
    }
}

/// Reads a part from its beginning to its end.
///
/// # Errors
/// `Damaged` if it is not XML, is nested too deeply, or cannot be read.
pub(super) fn read(source: impl Read, handler: &mut dyn Handler) -> Result<(), Unreadable> {
    let mut reader = Reader::from_reader(BufReader::new(source));
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    let (mut buffer, mut depth) = (Vec::new(), 0_usize);
    while !handler.is_done() {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|_| Unreadable::Damaged)? {
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Unreadable::Damaged);
                }
                handler.start(&Element(&start));
            }
            Event::Empty(start) => {
                let element = Element(&start);
                handler.start(&element);
                handler.end(element.name());
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                handler.end(end.local_name().into_inner());
            }
            Event::Text(text) => {
                handler.text(&text.xml10_content().map_err(|_| Unreadable::Damaged)?);
            }
            Event::CData(data) => {
                handler.text(&data.xml10_content().map_err(|_| Unreadable::Damaged)?);
            }
            Event::GeneralRef(reference) => handler.text(&resolved(&reference)),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    Ok(())
}

/// Returns the text of a reference; a space if it is unknown, because entities of the document are not expanded.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name = reference.decode().unwrap_or_default();
    resolve_predefined_entity(&name).unwrap_or(" ").to_owned()
}
