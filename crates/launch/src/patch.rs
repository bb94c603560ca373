//! Patches: changes of single files of a site, each with the content that it expects to find. No patch deletes a file.

use std::collections::BTreeMap;
use std::fmt;

use platform::sha256;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::claim::span_sha256;
use crate::render::{delimiter, field_line};
use crate::report::stable_json;
use crate::site::{FrontMatter, FrontMatterFormat, PAGE_ITEMS_MAX, Page};

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 12;

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Patch {
    /// A new file.
    CreateFile {
        /// Its path.
        path: String,
        /// Its content.
        content: String,
    },
    /// Text added at the end of the part below a heading.
    UpdateByAnchor {
        /// The file.
        path: String,
        /// Text of the heading, which the page has once; without one, the text goes to the end of the page.
        anchor: Option<String>,
        /// The text.
        content: String,
    },
    /// Fields of the front matter, added or replaced.
    UpdateFrontmatterKeys {
        /// The file.
        path: String,
        /// The format of the front matter.
        format: FrontMatterFormat,
        /// The fields.
        values: BTreeMap<String, Value>,
    },
    /// Lines in place of others.
    UpdateFileRange {
        /// The file.
        path: String,
        /// The first replaced line, 1-based.
        start_line: u32,
        /// The last replaced line; the one before the first if nothing is replaced.
        end_line: u32,
        /// [`span_sha256`] of the replaced lines.
        expected_sha256: String,
        /// The new lines.
        content: String,
    },
}

/// The reason why a patch cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchError {
    /// The file to be created exists with another content.
    Exists,
    /// There is no such file.
    NoFile,
    /// The page does not have the heading, or has it more than once.
    NoAnchor,
    /// The front matter cannot be read.
    NoFrontMatter,
    /// The lines are not those that were expected.
    OtherLines,
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exists => "the file exists with another content",
            Self::NoFile => "there is no such file",
            Self::NoAnchor => "the page does not have the heading, or has it more than once",
            Self::NoFrontMatter => "the front matter cannot be read",
            Self::OtherLines => "the lines are not those that were expected",
        })
    }
}

impl std::error::Error for PatchError {}

impl Patch {
    /// Creates a patch that replaces lines of a text, the last inclusive.
    #[must_use]
    pub fn of_range(path: &str, text: &str, (start_line, end_line): (u32, u32), content: String) -> Self {
        let (before, replaced, _) = split(text, start_line, end_line).unwrap_or((text, "", ""));
        // Terminate the last line, or the following text would become part of it.
        let content =
            if before.is_empty() || before.ends_with('\n') { content } else { format!("\n{content}") };
        Self::UpdateFileRange {
            path: path.to_owned(),
            start_line,
            end_line,
            expected_sha256: span_sha256(replaced),
            content,
        }
    }

    /// Returns the patch that turns one text into another by replacing the lines that differ; `None` if they are equal.
    #[must_use]
    pub fn between(path: &str, before: &str, after: &str) -> Option<Self> {
        if before == after {
            return None;
        }
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
        let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
        let rest = old.len().min(new.len()) - start;
        let same_end = old.iter().rev().zip(new.iter().rev()).take(rest);
        let end = same_end.take_while(|(one, other)| one == other).count();
        let line = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let range = (line(start + 1), line(old.len() - end));
        let content = new.get(start..new.len() - end).unwrap_or_default().concat();
        Some(Self::of_range(path, before, range, content))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::CreateFile { path, .. }
            | Self::UpdateByAnchor { path, .. }
            | Self::UpdateFrontmatterKeys { path, .. }
            | Self::UpdateFileRange { path, .. } => path,
        }
    }

    /// Returns its kind, in a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CreateFile { .. } => "create_file",
            Self::UpdateByAnchor { .. } => "update_by_anchor",
            Self::UpdateFrontmatterKeys { .. } => "update_frontmatter_keys",
            Self::UpdateFileRange { .. } => "update_file_range",
        }
    }

    /// Returns its id: equal patches have equal ids.
    #[must_use]
    pub fn id(&self) -> String {
        let mut id = sha256::digest_hex(stable_json(self).as_bytes());
        id.truncate(ID_DIGITS);
        id
    }

    /// Returns the file after the patch; `before` is its content, if it exists. A patch that was already applied changes nothing.
    ///
    /// # Errors
    /// If the file does not have the content that the patch expects.
    pub fn apply(&self, before: Option<&str>) -> Result<String, PatchError> {
        match (self, before) {
            (Self::CreateFile { content, .. }, None) => Ok(content.clone()),
            (Self::CreateFile { content, .. }, Some(before)) if before == content => Ok(content.clone()),
            (Self::CreateFile { .. }, Some(_)) => Err(PatchError::Exists),
            (_, None) => Err(PatchError::NoFile),
            (Self::UpdateByAnchor { path, anchor, content }, Some(before)) => {
                add_below(path, anchor.as_deref(), content, before)
            }
            (Self::UpdateFrontmatterKeys { path, format, values }, Some(before)) => {
                set_keys(path, *format, values, before)
            }
            (Self::UpdateFileRange { start_line, end_line, expected_sha256, content, .. }, Some(before)) => {
                let (head, replaced, rest) =
                    split(before, *start_line, *end_line).ok_or(PatchError::OtherLines)?;
                if span_sha256(replaced) != *expected_sha256 {
                    return Err(PatchError::OtherLines);
                }
                Ok([head, content.as_str(), rest].concat())
            }
        }
    }
}

/// Splits a text into the parts before, within and after these lines; `None` if it has no such lines.
fn split(text: &str, start_line: u32, end_line: u32) -> Option<(&str, &str, &str)> {
    let start = usize::try_from(start_line.checked_sub(1)?).ok()?;
    let end = usize::try_from(end_line).ok()?;
    let mut offsets = vec![0];
    for line in text.split_inclusive('\n') {
        offsets.push(offsets.last()? + line.len());
    }
    let (from, to) = (*offsets.get(start)?, *offsets.get(end)?);
    Some((text.get(..from)?, text.get(from..to)?, text.get(to..)?))
}

fn add_below(path: &str, anchor: Option<&str>, content: &str, before: &str) -> Result<String, PatchError> {
    let with_end = |text: &str| format!("{}\n", text.trim_end());
    let Some(anchor) = anchor else { return Ok(format!("{}\n{}", with_end(before), with_end(content))) };
    let page = Page::parse(path, before.to_owned(), PAGE_ITEMS_MAX);
    let mut same = page.headings.iter().enumerate().filter(|(_, heading)| heading.text == anchor);
    let (Some((at, heading)), None) = (same.next(), same.next()) else { return Err(PatchError::NoAnchor) };
    let next = page.headings.iter().skip(at + 1).find(|next| next.level <= heading.level);
    let Some(next) = next else { return Ok(format!("{}\n{}", with_end(before), with_end(content))) };
    let (head, _, rest) =
        split(before, next.line, next.line.saturating_sub(1)).ok_or(PatchError::NoAnchor)?;
    Ok(format!("{}\n{}\n{rest}", with_end(head), with_end(content)))
}

/// Replaces existing fields in place, and adds the others at the end of the front matter.
fn set_keys(
    path: &str,
    format: FrontMatterFormat,
    values: &BTreeMap<String, Value>,
    before: &str,
) -> Result<String, PatchError> {
    let delimiter = delimiter(format);
    match Page::parse(path, before.to_owned(), PAGE_ITEMS_MAX).front_matter {
        FrontMatter::None => {
            return Ok(format!("{}\n{before}", crate::render::front_matter(format, values)));
        }
        FrontMatter::Fields { format: found, .. } if found == format => {}
        FrontMatter::Fields { .. } | FrontMatter::Broken { .. } => return Err(PatchError::NoFrontMatter),
    }
    let (mut written, mut left) = (String::new(), values.clone());
    let (mut is_inside, mut is_replaced) = (false, false);
    for line in before.split_inclusive('\n') {
        if line.trim_end() == delimiter && (is_inside || written.is_empty()) {
            if is_inside {
                let rest = std::mem::take(&mut left);
                written.extend(rest.iter().map(|(key, value)| field_line(format, key, value)));
            }
            is_inside = !is_inside && written.is_empty();
            is_replaced = false;
        } else if is_inside && let Some(key) = key_of(line, format) {
            let value = left.remove(key);
            is_replaced = value.is_some();
            if let Some(value) = value {
                written.push_str(&field_line(format, key, &value));
            }
        }
        // The lines below a replaced field belong to it.
        if !is_replaced {
            written.push_str(line);
        }
    }
    Ok(written)
}

/// The key of a field that begins on a line.
fn key_of(line: &str, format: FrontMatterFormat) -> Option<&str> {
    let separator = match format {
        FrontMatterFormat::Yaml => ':',
        FrontMatterFormat::Toml => '=',
    };
    let (key, _) = line.split_once(separator)?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\''));
    (is_key && !key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_text_becomes_the_other() {
        let before = "a\nb\nc\nd\n";
        for after in
            ["a\nb\nc\nd\ne\n", "a\nX\nY\nd\n", "c\nd\n", "x\na\nb\nc\nd\n", "", "a\nb\nc", "a\nb\nb\nc\nd\n"]
        {
            let patch = Patch::between("p.md", before, after).unwrap();
            assert_eq!(patch.apply(Some(before)).as_deref(), Ok(after), "{patch:?}");
            let back = Patch::between("p.md", after, before).unwrap();
            assert_eq!(back.apply(Some(after)).as_deref(), Ok(before), "{back:?}");
        }
        assert_eq!(Patch::between("p.md", before, before), None);
    }

    #[test]
    fn lines_that_changed_meanwhile_are_left_alone() {
        let patch = Patch::between("p.md", "a\nb\nc\n", "a\nX\nc\n").unwrap();
        assert_eq!(patch.apply(Some("a\nother\nc\n")), Err(PatchError::OtherLines));
        assert_eq!(patch.apply(Some("a\n")), Err(PatchError::OtherLines));
        assert_eq!(patch.apply(None), Err(PatchError::NoFile));
        let create = Patch::CreateFile { path: "p.md".to_owned(), content: "x\n".to_owned() };
        assert_eq!(create.apply(Some("y\n")), Err(PatchError::Exists));
        assert_eq!(create.apply(Some("x\n")).as_deref(), Ok("x\n"), "applied already");
        assert_ne!(create.id(), patch.id());
    }

    #[test]
    fn text_goes_below_its_heading() {
        let patch = |anchor: Option<&str>| Patch::UpdateByAnchor {
            path: "p.md".to_owned(),
            anchor: anchor.map(str::to_owned),
            content: "New.\n\n".to_owned(),
        };
        let page = "# T\n\n## A\n\nOne.\n\n### B\n\nTwo.\n\n## C\n\nThree.\n";
        assert_eq!(
            patch(Some("A")).apply(Some(page)).as_deref(),
            Ok("# T\n\n## A\n\nOne.\n\n### B\n\nTwo.\n\nNew.\n\n## C\n\nThree.\n")
        );
        for end in [Some("C"), None] {
            assert_eq!(patch(end).apply(Some(page)), Ok(format!("{page}\nNew.\n")));
        }
        assert_eq!(patch(Some("X")).apply(Some(page)), Err(PatchError::NoAnchor));
        assert_eq!(patch(Some("A")).apply(Some("## A\n\n## A\n")), Err(PatchError::NoAnchor));
    }

    #[test]
    fn fields_are_replaced_where_they_stand() {
        let set = |format, before: &str| {
            let values =
                BTreeMap::from([("tags".to_owned(), json!(["x"])), ("weight".to_owned(), json!(10))]);
            Patch::UpdateFrontmatterKeys { path: "p.md".to_owned(), format, values }.apply(Some(before))
        };
        assert_eq!(
            set(
                FrontMatterFormat::Yaml,
                "---\ntitle: A\ntags:\n  - a\n  - b\ndraft: true\n---\n\nText: x\n---\n"
            ),
            Ok("---\ntitle: A\ntags: [\"x\"]\ndraft: true\nweight: 10\n---\n\nText: x\n---\n".to_owned())
        );
        assert_eq!(
            set(FrontMatterFormat::Toml, "+++\ntags = [\n  \"a\",\n]\ntitle = 'A'\n+++\nText\n"),
            Ok("+++\ntags = [\"x\"]\ntitle = 'A'\nweight = 10\n+++\nText\n".to_owned())
        );
        assert_eq!(
            set(FrontMatterFormat::Yaml, "Text\n"),
            Ok("---\ntags: [\"x\"]\nweight: 10\n---\n\nText\n".to_owned())
        );
        assert_eq!(set(FrontMatterFormat::Yaml, "---\na: [\n---\n"), Err(PatchError::NoFrontMatter));
        assert_eq!(set(FrontMatterFormat::Toml, "---\na: 1\n---\n"), Err(PatchError::NoFrontMatter));
    }
}
