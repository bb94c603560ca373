//! The indexed and shown text of a file: its own text, the text of a notebook's cells, or a document whose text another process has to
//! extract ([`super::extractor`]).

use documents::Format;
use documents::notebook::{Notebook, comment_mark};

use super::file::{ContentKind, ReadLimits, SkipReason, classify, classify_text, decode};
use languages::{self, Language};

/// Returns whether the text of a file with this name may be extracted from it, so that the limit for documents applies to it.
pub(super) fn may_be_document(path: &str) -> bool {
    is_notebook(path) || Format::of_path(path).is_some()
}

/// Decides which text of a file is indexed, as [`classify`] does for files whose lines are those of their text. Notebooks and documents
/// that turn out to be something else are classified as such, within the limit for ordinary files.
pub(super) fn classify_indexed(
    path: &str,
    bytes: Vec<u8>,
    limits: &ReadLimits,
) -> Result<ContentKind, SkipReason> {
    if let Some(format) = Format::of_file(path, &bytes) {
        return Ok(ContentKind::Document { format, bytes });
    }
    let is_large = bytes.len() as u64 > limits.bytes_max;
    if !is_notebook(path) {
        return if is_large { Err(SkipReason::TooLarge) } else { classify(path, bytes, limits) };
    }
    let json = decode(bytes)?;
    match Notebook::parse(&json) {
        Some(notebook) => notebook_contents(&notebook, limits),
        None if is_large => Err(SkipReason::TooLarge),
        None => classify_text(path, json, limits),
    }
}

/// Returns the contents of a text that was extracted from a file.
pub(super) fn extracted_text(text: String, language: Option<&'static Language>) -> ContentKind {
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    ContentKind::Text { text, lines, language, extracted: true }
}

fn is_notebook(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("ipynb"))
}

fn notebook_contents(notebook: &Notebook, limits: &ReadLimits) -> Result<ContentKind, SkipReason> {
    let language = kernel_language(notebook);
    let id = language.map_or("", |language| language.id);
    let bytes_max = usize::try_from(limits.bytes_max).unwrap_or(usize::MAX);
    let text = notebook.text(comment_mark(id), id == "python", bytes_max);
    if text.is_empty() {
        return Err(SkipReason::Empty);
    }
    if text.len() as u64 > limits.bytes_max {
        return Err(SkipReason::TooLarge);
    }
    Ok(extracted_text(text, language))
}

/// Returns the language of a notebook's kernel, or that of notebooks if it is not known. A notebook that does not name a language is in
/// Python.
fn kernel_language(notebook: &Notebook) -> Option<&'static Language> {
    let mut names = notebook.languages().peekable();
    let language = match names.peek() {
        Some(_) => names.find_map(language_of_kernel),
        None => languages::by_name("python"),
    };
    language.or_else(|| languages::by_name("jupyter"))
}

/// Returns the language of a kernel: `python3`, `C++17`, `julia-1.10`.
fn language_of_kernel(name: &str) -> Option<&'static Language> {
    let without_version = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | ' '));
    let known = [name, without_version].into_iter().find_map(languages::by_name);
    known.filter(|language| !language.is_prose())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ReadLimits = ReadLimits { bytes_max: 1000, line_bytes_mean_max: 500 };

    fn classified(path: &str, bytes: &[u8]) -> Result<ContentKind, SkipReason> {
        classify_indexed(path, bytes.to_vec(), &LIMITS)
    }

    fn notebook(metadata: &str) -> String {
        format!(
            r#"{{"cells": [{{"cell_type": "code", "source": "x = 1"}}], "metadata": {metadata}, "nbformat": 4}}"#
        )
    }

    #[test]
    fn a_notebook_is_code_in_the_language_of_its_kernel() {
        for (metadata, id, text) in [
            ("{}", "python", "# %%\nx = 1\n"),
            (r#"{"kernelspec": {"name": "python3"}}"#, "python", "# %%\nx = 1\n"),
            (r#"{"language_info": {"name": "julia"}}"#, "julia", "# %%\nx = 1\n"),
            (r#"{"kernelspec": {"language": "C++17"}}"#, "cpp", "// %%\nx = 1\n"),
            (r#"{"language_info": {"name": "R"}, "kernelspec": {"name": "ir"}}"#, "r", "# %%\nx = 1\n"),
            (r#"{"kernelspec": {"language": "klingon"}}"#, "jupyter", "# %%\nx = 1\n"),
        ] {
            let language = languages::by_name(id);
            let expected = ContentKind::Text { text: text.to_owned(), lines: 2, language, extracted: true };
            assert_eq!(classified("a/b.IPYNB", notebook(metadata).as_bytes()), Ok(expected), "{metadata}");
        }
    }

    #[test]
    fn outputs_do_not_count_towards_the_limit_of_a_text() {
        let outputs = format!("[{{\"data\": \"{}\"}}]", "x".repeat(5000));
        let large = notebook("{}").replace(r#""source""#, &format!(r#""outputs": {outputs}, "source""#));
        assert!(matches!(classified("a.ipynb", large.as_bytes()), Ok(ContentKind::Text { lines: 2, .. })));
        let long = notebook("{}").replace("x = 1", &"x = 1".repeat(300));
        assert_eq!(classified("a.ipynb", long.as_bytes()), Err(SkipReason::TooLarge));
    }

    #[test]
    fn an_invalid_notebook_is_classified_as_any_text() {
        let broken = br#"{"cells": [], "nbformat": 1}"#;
        let Ok(ContentKind::Text { text, language, extracted: false, .. }) = classified("a.ipynb", broken)
        else {
            panic!("it is text")
        };
        assert_eq!((text.as_bytes(), language.map(|language| language.id)), (&broken[..], Some("jupyter")));
        assert_eq!(classified("a.ipynb", "[1, 2]".repeat(300).as_bytes()), Err(SkipReason::TooLarge));
        let empty = br#"{"cells": [], "nbformat": 4}"#;
        assert_eq!(classified("a.ipynb", empty), Err(SkipReason::Empty));
        assert_eq!(classified("a.ipynb", b""), Err(SkipReason::Empty));
    }

    #[test]
    fn documents_are_recognised_by_name_and_content() {
        let pdf = b"%PDF-1.7\n\x00\xff";
        let expected = ContentKind::Document { format: Format::Pdf, bytes: pdf.to_vec() };
        assert_eq!(classified("a.pdf", pdf), Ok(expected));
        assert_eq!(classified("a.bin", pdf), Err(SkipReason::Binary));
        let pointer = b"version https://git-lfs.github.com/spec/v1\n";
        assert_eq!(classified("a.pdf", pointer), Err(SkipReason::LfsPointer));
        let words = b"Only words.\n";
        assert!(matches!(classified("a.pdf", words), Ok(ContentKind::Text { extracted: false, .. })));
        assert!(["a.pdf", "b/c.DOCX", "d.ipynb"].into_iter().all(may_be_document));
        assert!(!may_be_document("a.py") && !may_be_document("pdf"));
    }

    #[test]
    fn every_format_is_a_language_with_the_same_extensions() {
        for format in Format::ALL {
            let language = languages::by_name(format.as_str()).unwrap();
            assert!(language.is_extracted() && language.is_prose(), "{}", language.id);
            for extension in language.extensions {
                assert_eq!(Format::of_path(&format!("a.{extension}")), Some(*format));
            }
        }
    }
}
