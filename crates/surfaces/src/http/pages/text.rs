//! Formats times, sizes and messages for people.

use maud::{Markup, html};

/// Renders a time in UTC, to the minute.
#[must_use]
pub fn moment(at: &str) -> Markup {
    html! { time datetime=(at) { (minute(at)) } }
}

/// Returns the same without markup.
pub(super) fn minute(at: &str) -> String {
    at.get(..16).map_or_else(|| at.to_owned(), |minute| format!("{} UTC", minute.replace('T', " ")))
}

/// Renders a message: text between backticks is code.
#[must_use]
pub fn message(text: &str) -> Markup {
    html! {
        @for (text, is_code) in parts_of_message(text) { @if is_code { code { (text) } } @else { (text) } }
    }
}

/// Splits a message into parts, each with a flag that is `true` between backticks. An unpaired backtick is text.
fn parts_of_message(text: &str) -> Vec<(&str, bool)> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, from)) = rest.split_once('`') {
        let Some((code, after)) = from.split_once('`') else { break };
        parts.extend([(before, false), (code, true)]);
        rest = after;
    }
    parts.push((rest, false));
    parts
}

/// Formats bytes in the largest unit that leaves at least 1, with three digits.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut divisor = 1_u64;
    while unit + 1 < UNITS.len() && count / divisor >= 1024 {
        divisor *= 1024;
        unit += 1;
    }
    let (whole, tenths) = (count / divisor, count % divisor * 10 / divisor);
    let label = UNITS[unit];
    if unit == 0 || whole >= 100 { format!("{whole} {label}") } else { format!("{whole}.{tenths} {label}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (200 << 20, "200 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn text_between_backticks_is_code() {
        for (text, html) in [
            ("", ""),
            ("Plain <text>.", "Plain &lt;text&gt;."),
            ("`a` and `b<c>`.", "<code>a</code> and <code>b&lt;c&gt;</code>."),
            ("One ` alone", "One ` alone"),
            ("`a` ` b", "<code>a</code> ` b"),
        ] {
            assert_eq!(message(text).into_string(), html);
        }
    }

    #[test]
    fn a_time_that_cannot_be_shortened_stays() {
        assert_eq!(
            moment("2026-11-24T10:11:12.345Z").into_string(),
            "<time datetime=\"2026-11-24T10:11:12.345Z\">2026-11-24 10:11 UTC</time>"
        );
        assert_eq!(moment("é").into_string(), "<time datetime=\"é\">é</time>");
    }
}
