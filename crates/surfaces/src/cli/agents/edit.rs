//! The pure core: computes the new text from the old text and the wanted one, or the reason why the user has to edit the file.
//!
//! Each edit is checked by reading the result: apart from our entry, it must hold the same values as before, and an insertion
//! must keep every character in order. A bug in an editing library therefore leads to a refusal, not to a damaged file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::{Form, Splice, hash, is_subsequence};
use super::{edit_json, edit_toml, edit_yaml, sections};
use crate::cli::clients::{Format, SERVER_NAME, entry_text};

/// The location of our text in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Spot {
    /// A server's entry in a configuration file.
    Entry {
        /// The file's format.
        format: Format,
        /// The keys that lead to the servers.
        section: Vec<String>,
        /// `true` if the servers are a list, with their name as a field.
        #[serde(default)]
        list: bool,
    },
    /// A section of a Markdown file, between markers.
    Section,
    /// The whole file.
    File,
}

/// The text that we want at that location.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// The server's entry.
    Entry(Value),
    /// Instructions.
    Text(String),
}

/// The record of a text that we wrote, so that exactly this text is updated and removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// Hashes of our text, or of the value of our entry, so that reformatting does not make it foreign. There is more than one
    /// while a write is in progress.
    pub(super) hashes: Vec<String>,
    /// The number of the innermost levels of the section that did not exist before.
    #[serde(default)]
    pub(super) created_levels: usize,
    /// `true` if the file did not exist before.
    #[serde(default)]
    pub(super) created_file: bool,
    /// The one replacement that turned the old text into the new.
    #[serde(default)]
    pub(super) splice: Option<Splice>,
    /// The text of another author at the spot, which `--force` replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Replaced>,
    /// `true` if the file had a trailing comma before: only then may it have one without our text.
    #[serde(default)]
    pub(super) trailing_comma: bool,
}

/// The text of another author at the spot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Replaced {
    /// The text as it was in the file.
    pub(super) text: String,
    /// Its value, for an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<Value>,
}

/// The result of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The file stays as it is.
    Unchanged,
    /// The new text; `None` removes the file, which then holds nothing but our text.
    Changed(Option<String>, Written),
    /// The user has to decide; holds the reason.
    Refused(String),
}

impl Spot {
    /// Returns the text to paste by hand.
    pub(super) fn paste(&self, wanted: &Wanted) -> String {
        match (self, wanted) {
            (Self::Entry { format, section, list }, Wanted::Entry(entry)) => {
                entry_text(*format, section, *list, entry)
            }
            (Self::Section, Wanted::Text(text)) => sections::section(text),
            (_, Wanted::Text(text)) => text.clone(),
            (_, Wanted::Entry(entry)) => entry.to_string(),
        }
    }

    /// Puts the wanted text into a file; `text` is `None` if there is no file. Text at the spot that we did not write is replaced
    /// only with `force`.
    pub(super) fn install(
        &self,
        text: Option<&str>,
        wanted: &Wanted,
        written: Option<&Written>,
        force: bool,
    ) -> Edit {
        self.try_install(text, wanted, written, force).unwrap_or_else(Edit::Refused)
    }

    fn try_install(
        &self,
        old: Option<&str>,
        wanted: &Wanted,
        written: Option<&Written>,
        force: bool,
    ) -> Result<Edit, String> {
        let form = self.form(old.unwrap_or_default())?;
        let text = form.text.as_str();
        let Some(found) = self.find(text)? else {
            let cleared = self.cleared(text)?;
            let new = self.insert(&cleared, wanted)?;
            self.check(text, &new, Some(wanted))?;
            let has_new_comma = self.has_trailing_comma(&new) && !self.has_trailing_comma(text);
            if has_new_comma || !is_subsequence(&cleared, &new) {
                return Err("the edit would change other text of it".to_owned());
            }
            let written = Written {
                hashes: vec![self.hash_in(&new)?],
                created_levels: self.missing_levels(text)?,
                created_file: old.is_none(),
                splice: Some(Splice::between(&form.original, &form.restore(&new))),
                replaced: None,
                trailing_comma: self.has_trailing_comma(text),
            };
            return Ok(Edit::Changed(Some(form.restore(&new)), written));
        };
        if self.holds(text, &found, wanted)? {
            return Ok(Edit::Unchanged);
        }
        let ours = written.filter(|written| written.hashes.contains(&self.fingerprint(text, &found)));
        if ours.is_none() && !force {
            let what = match self {
                Self::Entry { .. } => "its entry `pairofcleats`",
                Self::Section => "its section of this program",
                Self::File => "the file",
            };
            return Err(match written {
                Some(_) => format!("{what} was changed after this program wrote it; --force replaces it"),
                None => format!("{what} was not written by this program; --force replaces it"),
            });
        }
        let new = self.replace(text, wanted)?;
        self.check(text, &new, Some(wanted))?;
        let new_original = form.restore(&new);
        let hashes = vec![self.hash_in(&new)?];
        let written = match written {
            // The record already holds what was there before us, even if our text was edited since.
            Some(earlier) => {
                let splice = earlier.splice.as_ref();
                let splice = splice.and_then(|splice| splice.after_update(&form.original, &new_original));
                Written { hashes, splice, ..earlier.clone() }
            }
            None => Written {
                hashes,
                created_levels: 0,
                created_file: false,
                splice: Some(Splice::between(&form.original, &new_original)),
                replaced: Some(Replaced { entry: self.entry_in_text(text)?, text: found }),
                trailing_comma: self.has_trailing_comma(text),
            },
        };
        Ok(Edit::Changed(Some(new_original), written))
    }

    /// Removes the text that we wrote, unless it was changed since.
    pub(super) fn uninstall(&self, text: Option<&str>, written: &Written) -> Edit {
        self.try_uninstall(text, written).unwrap_or_else(Edit::Refused)
    }

    fn try_uninstall(&self, old: Option<&str>, written: &Written) -> Result<Edit, String> {
        let Some(old) = old else { return Ok(Edit::Unchanged) };
        let form = self.form(old)?;
        let text = form.text.as_str();
        let Some(found) = self.find(text)? else { return Ok(Edit::Unchanged) };
        if !written.hashes.contains(&self.fingerprint(text, &found)) {
            return Err(
                "it was changed after this program wrote it, so it stays; remove it by hand".to_owned()
            );
        }
        let restored = written.splice.as_ref().and_then(|splice| splice.reversed(old)).filter(|restored| {
            self.form(restored).is_ok_and(|form| self.check_removal(text, &form.text, written).is_ok())
        });
        let new = match (restored, &written.replaced) {
            (Some(restored), _) => restored,
            (None, Some(replaced)) => {
                let restored = self.put_back(text, replaced)?;
                self.check_removal(text, &restored, written)?;
                form.restore(&restored)
            }
            (None, None) => {
                let removed = self.remove(text, written.created_levels)?;
                self.check_removal(text, &removed, written)?;
                form.restore(&removed)
            }
        };
        let new = if written.created_file && self.is_empty(&new) { None } else { Some(new) };
        Ok(Edit::Changed(new, written.clone()))
    }

    /// Returns the text in the form that the libraries read.
    fn form(&self, original: &str) -> Result<Form, String> {
        let form = Form::of(original);
        // `toml_edit` writes only one kind of line ending.
        if form.mixed && matches!(self, Self::Entry { format: Format::Toml, .. }) {
            return Err("its lines end in different ways".to_owned());
        }
        Ok(form)
    }

    /// Returns our text as it is in the file.
    fn find(&self, text: &str) -> Result<Option<String>, String> {
        match self {
            Self::Entry { format, section, .. } => match format {
                Format::Toml => edit_toml::find(text, section),
                Format::Yaml => edit_yaml::find(text, &section[0]),
                Format::Json | Format::Sh => edit_json::find(text, section),
            },
            Self::Section => sections::find(text),
            Self::File => Ok((!text.is_empty()).then(|| text.to_owned())),
        }
    }

    fn insert(&self, text: &str, wanted: &Wanted) -> Result<String, String> {
        match (self, wanted) {
            (Self::Entry { format, section, list }, Wanted::Entry(entry)) => match format {
                Format::Toml => edit_toml::insert(text, section, entry),
                Format::Yaml => edit_yaml::insert(text, &section[0], *list, entry),
                Format::Json | Format::Sh if text.trim().is_empty() => {
                    // The library would omit the line ending.
                    Ok(format!("{}\n", entry_text(Format::Json, section, false, entry)))
                }
                Format::Json | Format::Sh => edit_json::insert(text, section, entry),
            },
            (Self::Section, Wanted::Text(wanted)) => Ok(sections::insert(text, wanted)),
            (_, wanted) => Ok(self.paste(wanted)),
        }
    }

    fn replace(&self, text: &str, wanted: &Wanted) -> Result<String, String> {
        match (self, wanted) {
            (Self::Entry { format, section, .. }, Wanted::Entry(entry)) => match format {
                Format::Toml => edit_toml::replace(text, section, entry),
                Format::Yaml => edit_yaml::replace(text, &section[0], entry),
                Format::Json | Format::Sh => edit_json::replace(text, section, entry),
            },
            (Self::Section, Wanted::Text(wanted)) => sections::replace(text, wanted),
            (_, wanted) => Ok(self.paste(wanted)),
        }
    }

    fn remove(&self, text: &str, created_levels: usize) -> Result<String, String> {
        match self {
            Self::Entry { format, section, .. } => match format {
                Format::Toml => edit_toml::remove(text, section, created_levels),
                Format::Yaml => edit_yaml::remove(text, &section[0], created_levels > 0),
                Format::Json | Format::Sh => edit_json::remove(text, section, created_levels),
            },
            Self::Section => sections::remove(text),
            Self::File => Ok(String::new()),
        }
    }

    /// Returns the text with an empty section rewritten so that the libraries can edit it.
    fn cleared(&self, text: &str) -> Result<String, String> {
        match self {
            Self::Entry { format, section, .. } => match format {
                Format::Toml => edit_toml::cleared(text, section),
                Format::Yaml => Ok(edit_yaml::cleared(text, &section[0])),
                Format::Json | Format::Sh => edit_json::cleared(text, section),
            },
            _ => Ok(text.to_owned()),
        }
    }

    /// Replaces our text by the text that was there before.
    fn put_back(&self, text: &str, replaced: &Replaced) -> Result<String, String> {
        match (self, &replaced.entry) {
            (Self::Entry { .. }, Some(entry)) => self.replace(text, &Wanted::Entry(entry.clone())),
            (Self::Section, _) => sections::put_back(text, &replaced.text),
            _ => Ok(replaced.text.clone()),
        }
    }

    /// Checks whether the text at the spot already says what we want.
    fn holds(&self, text: &str, found: &str, wanted: &Wanted) -> Result<bool, String> {
        match wanted {
            Wanted::Entry(entry) => Ok(self.entry_in(&self.value(text)?).as_ref() == Some(entry)),
            Wanted::Text(_) => Ok(hash(found) == hash(&self.paste(wanted))),
        }
    }

    /// Checks that `new` has, apart from our entry, the values of `old`, and at the spot either what is `wanted`, or nothing.
    fn check(&self, old: &str, new: &str, wanted: Option<&Wanted>) -> Result<(), String> {
        let wrong = || "the edit cannot be made safely".to_owned();
        let Self::Entry { .. } = self else {
            let found = self.find(new)?;
            let expected = wanted.map(|wanted| hash(&self.paste(wanted)));
            return (found.map(|found| hash(&found)) == expected).then_some(()).ok_or_else(wrong);
        };
        let (old, new) = (self.value(old)?, self.value(new)?);
        let expected = match wanted {
            Some(Wanted::Entry(entry)) => Some(entry.clone()),
            _ => None,
        };
        let same = self.without_entry(old) == self.without_entry(new.clone());
        (same && self.entry_in(&new) == expected).then_some(()).ok_or_else(wrong)
    }

    /// Checks that `new` is `old` without our entry, or with the entry that ours had replaced, and that no comma is left over.
    fn check_removal(&self, old: &str, new: &str, written: &Written) -> Result<(), String> {
        let wrong = || "the edit cannot be made safely".to_owned();
        match &written.replaced {
            None => self.check(old, new, None)?,
            Some(replaced) => match (self, &replaced.entry) {
                (Self::Entry { .. }, Some(entry)) => {
                    self.check(old, new, Some(&Wanted::Entry(entry.clone())))?;
                }
                _ => self.find(new)?.filter(|found| *found == replaced.text).map(drop).ok_or_else(wrong)?,
            },
        }
        let is_usual = written.trailing_comma || self.has_trailing_comma(old);
        (is_usual || !self.has_trailing_comma(new)).then_some(()).ok_or_else(wrong)
    }

    /// Checks whether JSON text has a comma that no value follows.
    fn has_trailing_comma(&self, text: &str) -> bool {
        let is_json = matches!(self, Self::Entry { format: Format::Json | Format::Sh, .. });
        is_json && edit_json::trailing_commas(text) > 0
    }

    fn entry_in_text(&self, text: &str) -> Result<Option<Value>, String> {
        match self {
            Self::Entry { .. } => Ok(self.entry_in(&self.value(text)?)),
            _ => Ok(None),
        }
    }

    fn value(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Entry { format: Format::Toml, .. } => edit_toml::value(text),
            Self::Entry { format: Format::Yaml, .. } => edit_yaml::value(text),
            _ => edit_json::value(text),
        }
    }

    fn section(&self) -> (&[String], bool) {
        match self {
            Self::Entry { section, list, .. } => (section, *list),
            _ => (&[], false),
        }
    }

    fn entry_in(&self, whole: &Value) -> Option<Value> {
        let (section, _) = self.section();
        let container = section.iter().try_fold(whole, |value, key| value.get(key))?;
        match container {
            Value::Array(servers) => servers.iter().find(|server| server["name"] == SERVER_NAME).cloned(),
            container => container.get(SERVER_NAME).cloned(),
        }
    }

    /// Returns the document without our entry and without the levels of the section that are then empty.
    fn without_entry(&self, mut whole: Value) -> Value {
        fn remove(value: &mut Value, section: &[String]) {
            match (section.split_first(), value) {
                (None, Value::Array(servers)) => servers.retain(|server| server["name"] != SERVER_NAME),
                (None, Value::Object(servers)) => drop(servers.shift_remove(SERVER_NAME)),
                (Some((key, rest)), Value::Object(fields)) => {
                    let Some(inner) = fields.get_mut(key) else { return };
                    remove(inner, rest);
                    let is_empty = match inner {
                        Value::Object(fields) => fields.is_empty(),
                        Value::Array(items) => items.is_empty(),
                        other => other.is_null(),
                    };
                    if is_empty {
                        fields.shift_remove(key);
                    }
                }
                _ => {}
            }
        }
        remove(&mut whole, self.section().0);
        whole
    }

    /// Returns the number of levels of the section that the document lacks.
    fn missing_levels(&self, text: &str) -> Result<usize, String> {
        let Self::Entry { section, .. } = self else { return Ok(0) };
        let whole = self.value(text)?;
        let mut value = &whole;
        for (depth, key) in section.iter().enumerate() {
            match value.get(key) {
                Some(inner) => value = inner,
                None => return Ok(section.len() - depth),
            }
        }
        Ok(0)
    }

    fn hash_in(&self, text: &str) -> Result<String, String> {
        let found = self.find(text)?.ok_or("the edit cannot be made safely")?;
        Ok(self.fingerprint(text, &found))
    }

    /// Returns the hash by which our text is recognised: for an entry, that of its value, unless it contains a comment, which the
    /// user wrote.
    fn fingerprint(&self, text: &str, found: &str) -> String {
        let value =
            self.value(text).ok().and_then(|whole| self.entry_in(&whole)).map(|entry| entry.to_string());
        let marks: &[&str] = match self {
            Self::Entry { format: Format::Json | Format::Sh, .. } => &["//", "/*"],
            _ => &["#"],
        };
        match (self, value) {
            (Self::Entry { .. }, Some(value))
                if marks.iter().all(|mark| found.matches(mark).count() <= value.matches(mark).count()) =>
            {
                hash(&value)
            }
            _ => hash(found),
        }
    }

    /// Checks whether a file is empty: no values, and no comments either.
    fn is_empty(&self, text: &str) -> bool {
        let rest: String = text.split_whitespace().collect();
        rest.is_empty() || (matches!(self, Self::Entry { .. }) && rest == "{}")
    }
}
