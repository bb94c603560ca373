//! Edits Markdown files of instructions: our section is enclosed in two markers, each on a line of its own.

/// The line above our section.
const BEGIN: &str = "<!-- pairofcleats:begin -->";
/// The line below it.
const END: &str = "<!-- pairofcleats:end -->";

/// Returns the section with its markers, as it is written to a file.
pub(super) fn section(text: &str) -> String {
    format!("{BEGIN}\n{}\n{END}\n", text.trim_end())
}

/// Returns our section with its markers.
pub(super) fn find(text: &str) -> Result<Option<String>, String> {
    Ok(span(text)?.map(|(start, end)| text[start..end].to_owned()))
}

/// Appends the section, after an empty line.
pub(super) fn insert(text: &str, text_of_section: &str) -> String {
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let gap = if text.trim().is_empty() { "" } else { "\n" };
    format!("{text}{line_end}{gap}{}", section(text_of_section))
}

/// Replaces the section in place.
pub(super) fn replace(text: &str, text_of_section: &str) -> Result<String, String> {
    let (start, end) = span(text)?.ok_or("the section is gone")?;
    let section = section(text_of_section);
    let section = if text[..end].ends_with('\n') { section.as_str() } else { section.trim_end() };
    Ok(format!("{}{section}{}", &text[..start], &text[end..]))
}

/// Replaces the section by a whole one that includes its markers.
pub(super) fn put_back(text: &str, whole: &str) -> Result<String, String> {
    let (start, end) = span(text)?.ok_or("the section is gone")?;
    Ok(format!("{}{whole}{}", &text[..start], &text[end..]))
}

/// Removes the section and the empty line above it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let Some((start, end)) = span(text)? else { return Ok(text.to_owned()) };
    let before = &text[..start];
    let before = if before.ends_with("\n\n") { &before[..before.len() - 1] } else { before };
    Ok(format!("{before}{}", &text[end..]))
}

/// Returns the byte range of the section. Anything but one marker of each kind in this order is an error, because its end would
/// be uncertain.
fn span(text: &str) -> Result<Option<(usize, usize)>, String> {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => begins.push(offset),
            END => ends.push(offset + line.len()),
            _ => {}
        }
        offset += line.len();
    }
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([begin], [end]) if begin < end => Ok(Some((*begin, *end))),
        _ => Err(format!(
            "its markers {BEGIN} and {END} are damaged: there must be one of each, in this order"
        )),
    }
}
