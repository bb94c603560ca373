//! The fonts of a page: the meanings of codes, and the widths of their characters.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use super::unicode_map::UnicodeMap;

/// Maximum number of bytes that a map to Unicode may unpack to.
const MAP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of widths of a font that are read.
const WIDTHS_MAX: usize = 70_000;
/// Width of a character whose width is unknown, in thousandths of the font's size.
const WIDTH: f32 = 500.0;

/// A font.
pub(super) struct Font<'d> {
    meaning: Meaning<'d>,
    /// Bytes of a code.
    code_bytes: usize,
    widths: HashMap<u32, f32>,
    /// Width of codes without one.
    width: f32,
}

/// The way in which codes become text.
enum Meaning<'d> {
    Map(UnicodeMap),
    /// Codes are UTF-16.
    Utf16,
    Encoding(Encoding<'d>),
    /// It cannot be known.
    Unknown,
}

/// The text and the width of a string.
pub(super) struct Shown {
    /// Its text.
    pub(super) text: String,
    /// Sum of the widths, in thousandths of the font's size.
    pub(super) width: f32,
    /// Number of codes, and how many of them are a space of one byte.
    pub(super) codes: usize,
    pub(super) spaces: usize,
}

impl<'d> Font<'d> {
    /// Reads a font.
    pub(super) fn new(document: &'d Document, font: &'d Dictionary) -> Self {
        let is_composite = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
        let map = font.get_deref(b"ToUnicode", document).and_then(Object::as_stream).ok();
        let map = map.and_then(|stream| stream.get_plain_content_with_limit(MAP_BYTES_MAX).ok());
        let map = map.and_then(|source| UnicodeMap::parse(&source));
        let code_bytes = match (&map, is_composite) {
            (_, false) => 1,
            (Some(map), true) => map.code_bytes(),
            (None, true) => 2,
        };
        let meaning = match map {
            Some(map) => Meaning::Map(map),
            None if is_composite => composite_meaning(document, font),
            None => font
                .get_font_encoding_with_limit(document, MAP_BYTES_MAX)
                .map_or(Meaning::Unknown, Meaning::Encoding),
        };
        let (widths, width) =
            if is_composite { composite_widths(document, font) } else { simple_widths(document, font) };
        Self { meaning, code_bytes, widths, width }
    }

    /// Decodes a string, and measures it.
    pub(super) fn show(&self, string: &[u8]) -> Shown {
        let mut shown = Shown { text: String::new(), width: 0.0, codes: 0, spaces: 0 };
        for code in string.chunks(self.code_bytes) {
            let number = code.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
            shown.codes += 1;
            shown.spaces += usize::from(code == b" ");
            shown.width += self.widths.get(&number).copied().unwrap_or(self.width);
            if let Meaning::Map(map) = &self.meaning {
                shown.text.push_str(map.get(number).unwrap_or_default());
            }
        }
        match &self.meaning {
            Meaning::Map(_) | Meaning::Unknown => {}
            Meaning::Utf16 => {
                let (pairs, _) = string.as_chunks::<2>();
                let units: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
                shown.text.push_str(&String::from_utf16_lossy(&units));
            }
            Meaning::Encoding(encoding) => {
                shown.text = encoding.bytes_to_string(string).unwrap_or_default();
            }
        }
        shown
    }
}

/// Returns the way in which the codes of a composite font without a map become text, by the name of its encoding.
fn composite_meaning<'d>(document: &Document, font: &Dictionary) -> Meaning<'d> {
    let name = font.get_deref(b"Encoding", document).and_then(Object::as_name).unwrap_or_default();
    let is_utf16 = name.starts_with(b"Uni") && name.windows(4).any(|part| part == b"UTF1" || part == b"UCS2");
    if is_utf16 { Meaning::Utf16 } else { Meaning::Unknown }
}

/// The widths of a simple font: a list that begins at a code.
fn simple_widths(document: &Document, font: &Dictionary) -> (HashMap<u32, f32>, f32) {
    let first = font.get_deref(b"FirstChar", document).ok().and_then(to_code).unwrap_or(0);
    let listed = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let scale = type3_scale(document, font);
    let mut widths = HashMap::new();
    for (code, width) in (first..).zip(listed.iter().take(WIDTHS_MAX)) {
        if let Some(width) = to_number(document, width).filter(|width| *width > 0.0) {
            widths.insert(code, width * scale);
        }
    }
    (widths, WIDTH)
}

/// Returns the scale of the widths of a font whose characters are drawings; 1 for others.
fn type3_scale(document: &Document, font: &Dictionary) -> f32 {
    let matrix = font.get_deref(b"FontMatrix", document).and_then(Object::as_array).ok();
    let first = matrix.and_then(|matrix| matrix.first()).and_then(|first| to_number(document, first));
    first.map_or(1.0, |first| (1000.0 * first).abs())
}

/// The widths of a composite font: `code [width …]` or `first last width`, and one for the others.
fn composite_widths(document: &Document, font: &Dictionary) -> (HashMap<u32, f32>, f32) {
    let descendants = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array).ok();
    let descendant = descendants.and_then(|fonts| fonts.first());
    let descendant = descendant.and_then(|font| resolve(document, font)).and_then(|font| font.as_dict().ok());
    let Some(descendant) = descendant else { return (HashMap::new(), WIDTH) };
    let width = descendant.get(b"DW").ok().and_then(|width| to_number(document, width)).unwrap_or(1000.0);
    let mut widths = HashMap::new();
    let listed = descendant.get_deref(b"W", document).and_then(Object::as_array);
    let mut listed = listed.map(Vec::as_slice).unwrap_or_default().iter();
    // Lists can repeat codes, so the widths that were read are counted, not the known ones.
    let mut left = WIDTHS_MAX;
    while let (Some(first), Some(next)) = (listed.next().and_then(to_code), listed.next()) {
        match resolve(document, next) {
            Some(Object::Array(each)) => {
                let each = each.iter().take(left).filter_map(|width| to_number(document, width));
                for (code, width) in (first..).zip(each) {
                    widths.insert(code, width);
                    left -= 1;
                }
            }
            Some(last) => {
                let (Some(last), Some(width)) = (to_code(last), listed.next()) else { break };
                let width = to_number(document, width).unwrap_or(WIDTH);
                for code in (first..=last).take(left) {
                    widths.insert(code, width);
                    left -= 1;
                }
            }
            None => break,
        }
        if left == 0 {
            break;
        }
    }
    (widths, width)
}

/// An object, or the object that a reference leads to.
fn resolve<'d>(document: &'d Document, object: &'d Object) -> Option<&'d Object> {
    document.dereference(object).ok().map(|(_, object)| object)
}

fn to_number(document: &Document, object: &Object) -> Option<f32> {
    let (_, object) = document.dereference(object).ok()?;
    object.as_float().ok().filter(|number| number.is_finite())
}

/// Reads a code or the number of a character; neither has more than two bytes.
fn to_code(object: &Object) -> Option<u32> {
    object.as_i64().ok().and_then(|code| u16::try_from(code).ok()).map(u32::from)
}
