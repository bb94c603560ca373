//! The form in which texts are compared: a letter with a mark is one character, however it is written.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The text in composed form (NFC), as `languages::nfc`. Reads each byte once if nothing changes.
pub(crate) fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// SQL for the composed form of a text. Only a text with other letters than those of ASCII is looked at.
pub(crate) fn nfc_sql(text: &str) -> String {
    format!(
        "(CASE WHEN octet_length({text}) = char_length({text}) THEN {text} ELSE normalize({text}, NFC) END)"
    )
}
