//! Results that a benchmark keeps in a file as soon as they are known, so that a broken run can be continued.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use contract::{ErrorCode, Fault};

/// The file's content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    /// `true` if the run came to its end.
    complete: bool,
    /// The report on the measurements so far.
    report: Value,
    /// The inputs of the results: program, vectors, variants, settings.
    made_with: BTreeMap<String, String>,
    /// The results, by repository or issue.
    results: BTreeMap<String, Value>,
}

/// The results of a run so far. Without a file, nothing is kept.
pub(super) struct KeptResults {
    file: Option<PathBuf>,
    content: Content,
}

impl KeptResults {
    /// Opens the results of a run that depends on `made_with`; takes over what `file` contains if the run continues it.
    ///
    /// # Errors
    /// `INVALID_INPUT` for an unreadable file; `INVALID_REQUEST` if it was made with something else.
    pub(super) fn open(
        file: Option<&Path>,
        continues: bool,
        made_with: BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let fresh = Content { made_with, ..Content::default() };
        let kept = |content| Ok(Self { file: file.map(Path::to_owned), content });
        let Some(path) = file.filter(|path| continues && path.exists()) else { return kept(fresh) };
        let unreadable = |error: &dyn std::fmt::Display| {
            Fault::new(ErrorCode::InvalidInput, format!("{} could not be read: {error}.", path.display()))
                .with_hint("Name a file that `--out` of the same benchmark wrote.")
        };
        let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
        let earlier: Content = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        let names = fresh.made_with.keys().chain(earlier.made_with.keys());
        let changed = |name: &&String| fresh.made_with.get(*name) != earlier.made_with.get(*name);
        if let Some(name) = names.clone().find(changed) {
            let message = format!("{} was made with another {name}.", path.display());
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
                "Figures of different runs must not be mixed: start again without `--continue`.",
            ));
        }
        kept(earlier)
    }

    /// An earlier result.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.content.results.get(name)?).ok()
    }

    /// Adds a result and writes the file with the report so far.
    ///
    /// # Errors
    /// File system errors.
    pub(super) fn add(
        &mut self,
        name: &str,
        result: &impl Serialize,
        report: impl FnOnce() -> Value,
    ) -> Result<(), Fault> {
        if self.file.is_none() {
            return Ok(());
        }
        let value = serde_json::to_value(result)
            .map_err(|error| Fault::internal("A result could not be written.", error))?;
        self.content.results.insert(name.to_owned(), value);
        self.content.complete = false;
        self.content.report = report();
        self.write()
    }

    /// Writes the final report.
    ///
    /// # Errors
    /// File system errors.
    pub(super) fn finish(&mut self, report: &impl Serialize) -> Result<(), Fault> {
        self.content.complete = true;
        self.content.report = serde_json::to_value(report).unwrap_or_default();
        self.write()
    }

    /// Replaces the file at once, so that it is whole whenever the run ends.
    fn write(&self) -> Result<(), Fault> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = file.with_file_name(name);
        let written = || -> io::Result<()> {
            let mut open = fs::File::create(&part)?;
            serde_json::to_writer(&mut open, &self.content)?;
            open.flush()?;
            open.sync_all()?;
            fs::rename(&part, file)
        };
        written().map_err(|error| {
            Fault::new(ErrorCode::InvalidInput, format!("{} could not be written: {error}.", file.display()))
                .with_hint("Name a file in a folder that exists and can be written.")
        })
    }
}

/// The BLAKE3 hash of the running program, which decides what an index contains and how it is ranked.
///
/// # Errors
/// File system errors.
pub(super) fn program_hash() -> Result<String, Fault> {
    let hashed = || -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut fs::File::open(std::env::current_exe()?)?, &mut hasher)?;
        Ok(hasher.finalize().to_hex().to_string())
    };
    hashed().map_err(|error| Fault::internal("The program could not be read.", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_with(program: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("program".to_owned(), program.to_owned())])
    }

    #[test]
    fn a_broken_run_is_continued_and_another_program_is_not_mixed_in() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.json");
        let open = |continues, program| KeptResults::open(Some(&file), continues, made_with(program));
        let mut run = open(true, "one").unwrap();
        run.add("flask", &3, || Value::from("so far")).unwrap();
        assert_eq!(open(true, "one").unwrap().get::<u32>("flask"), Some(3));
        assert_eq!(open(true, "one").unwrap().get::<u32>("hono"), None);
        assert_eq!(open(false, "one").unwrap().get::<u32>("flask"), None);
        let refused = open(true, "two").err().unwrap();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert!(refused.message.contains("another program"));
        let content = || serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&content()["complete"], &content()["report"]), (&false.into(), &"so far".into()));
        run.finish(&"all").unwrap();
        assert_eq!((&content()["complete"], &content()["report"]), (&true.into(), &"all".into()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
