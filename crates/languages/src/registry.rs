//! The list of languages, and look-ups by file and by name.

use super::PARSED;
use super::language::Language;
use super::plain::PLAIN;

/// All languages, those with a grammar first.
pub fn all() -> impl Iterator<Item = &'static Language> {
    PARSED.iter().copied().chain(PLAIN)
}

/// The language of a file by its name, its extension (the longest known one), its `#!` line or its first bytes.
/// `None` for an unknown language; such files are chunked by lines.
#[must_use]
pub fn detect(path: &str, first_bytes: &[u8]) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    by_file_name(&name).or_else(|| by_extension(&name, first_bytes)).or_else(|| by_content(first_bytes))
}

fn by_file_name(name: &str) -> Option<&'static Language> {
    all().find(|language| language.file_names.contains(&name)).or_else(|| {
        // `Dockerfile.dev`, `Makefile.am`: the name before the dot decides if the extension is unknown.
        let (stem, _) = name.split_once('.')?;
        ["dockerfile", "containerfile", "makefile", "jenkinsfile"]
            .contains(&stem)
            .then(|| by_file_name(stem))?
    })
}

fn by_extension(name: &str, first_bytes: &[u8]) -> Option<&'static Language> {
    let mut rest = name;
    // A leading dot is a hidden file, not an extension.
    while let Some((before, extension)) = rest.split_once('.') {
        rest = extension;
        if before.is_empty() && name.len() == extension.len() + 1 {
            continue;
        }
        if let Some(language) = all().find(|language| language.extensions.contains(&extension)) {
            return Some(disputed(language, extension, first_bytes));
        }
    }
    None
}

/// Extensions that two languages share; the beginning of the file decides.
fn disputed(language: &'static Language, extension: &str, first_bytes: &[u8]) -> &'static Language {
    let other = match extension {
        "h" if looks_like_cpp(first_bytes) => "cpp",
        // Translation files of Qt are XML.
        "ts" if first_bytes.trim_ascii_start().starts_with(b"<?xml") => "xml",
        _ => return language,
    };
    by_name(other).unwrap_or(language)
}

/// Returns whether a header contains C++ keywords at the start of a line, or includes a header of C++'s standard library, whose names
/// have no extension: `#include <string>`.
fn looks_like_cpp(first_bytes: &[u8]) -> bool {
    const STARTS: [&str; 9] = [
        "class ", "namespace ", "template<", "template <", "using ", "public:", "private:", "protected:",
        "constexpr ",
    ];
    first_bytes.split(|&b| b == b'\n').map(<[u8]>::trim_ascii_start).any(|line| {
        let included = line.strip_prefix(b"#include <");
        // The beginning of a file may end within a line.
        let header = included.and_then(|rest| rest.iter().position(|&b| b == b'>').map(|end| &rest[..end]));
        header.is_some_and(|name| !name.contains(&b'.'))
            || STARTS.iter().any(|word| line.starts_with(word.as_bytes()))
    })
}

fn by_content(first_bytes: &[u8]) -> Option<&'static Language> {
    if let Some(line) = first_bytes.strip_prefix(b"#!") {
        let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
        return by_interpreter(str::from_utf8(line).ok()?);
    }
    let start = first_bytes.trim_ascii_start();
    let starts = |mark: &[u8]| start.get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark));
    let found = [("<?php", "php"), ("<?xml", "xml"), ("<!doctype html", "html"), ("<html", "html")];
    found.iter().find(|(mark, _)| starts(mark.as_bytes())).and_then(|(_, id)| by_name(id))
}

fn by_interpreter(line: &str) -> Option<&'static Language> {
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut program = words.next()?;
    if program == "env" {
        // Options and assignments precede the program: `env -S FOO=1 python3`.
        program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_lowercase();
    all().find(|language| language.interpreters.contains(&program.as_str()))
}

/// The language with this id, title, alias or extension, ignoring case.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Language> {
    let name = name.trim().to_lowercase();
    let name = name.strip_prefix('.').unwrap_or(&name);
    all()
        .find(|language| language.id == name)
        .or_else(|| {
            all().find(|language| language.aliases.contains(&name) || language.title.to_lowercase() == name)
        })
        .or_else(|| all().find(|language| language.extensions.contains(&name)))
}

/// Ids that resemble a name which [`by_name`] does not know, best first, at most three.
#[must_use]
pub fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.trim().to_lowercase();
    let similarity = |language: &Language| {
        let names = std::iter::once(&language.id).chain(language.aliases);
        names.map(|known| strsim::jaro_winkler(known, &name)).fold(0.0, f64::max)
    };
    let mut scored: Vec<_> = all()
        .map(|language| (similarity(language), language.id))
        .filter(|(score, _)| *score >= 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_compiles_and_names_are_unique() {
        let mut ids = std::collections::HashSet::new();
        let mut taken = std::collections::HashMap::new();
        for language in all() {
            assert!(ids.insert(language.id), "{} is listed twice", language.id);
            if let Some(grammar) = &language.grammar {
                assert_eq!(grammar.definitions().err(), None, "definitions.scm of {}", language.id);
            }
            for (what, names) in [("extension", language.extensions), ("file name", language.file_names)] {
                for name in names {
                    assert_eq!(*name, name.to_lowercase());
                    assert_eq!(
                        taken.insert((what, name), language.id),
                        None,
                        "{what} {name} of {}",
                        language.id
                    );
                }
            }
            for alias in language.aliases {
                assert_eq!(by_name(alias), Some(language), "alias {alias}");
            }
            assert_eq!(by_name(language.id), Some(language));
            assert_eq!(by_name(language.title), Some(language), "title {}", language.title);
        }
    }

    #[test]
    fn languages_are_detected_by_name_extension_and_content() {
        for (path, content, expected) in [
            ("src/main.rs", "", Some("rust")),
            ("a/b.test.ts", "", Some("typescript")),
            ("i18n/de.ts", "<?xml version='1.0'?>", Some("xml")),
            ("App.TSX", "", Some("tsx")),
            ("Makefile", "", Some("makefile")),
            ("docker/Dockerfile.dev", "", Some("dockerfile")),
            (".bashrc", "", Some("bash")),
            (".gitignore", "", None),
            ("include/a.h", "#define A 1\nint f(void);\n", Some("c")),
            ("include/a.h", "#pragma once\nnamespace a {\n", Some("cpp")),
            ("include/a.h", "#include <a_api.h>\n#include <string> // text\n", Some("cpp")),
            ("include/a.h", "#include <stdio.h>\n#include <sys", Some("c")),
            ("bin/run", "#!/usr/bin/env -S python3.12 -u\n", Some("python")),
            ("bin/run", "#!/bin/sh\n", Some("bash")),
            ("bin/run", "#!/opt/unknown\n", None),
            ("bin/run", "", None),
            ("page", "  <!DOCTYPE HTML><html>", Some("html")),
            ("Cargo.lock", "", Some("toml")),
            ("notes.unknownext", "hello", None),
        ] {
            assert_eq!(detect(path, content.as_bytes()).map(|language| language.id), expected, "{path}");
        }
    }

    #[test]
    fn languages_are_found_by_the_names_that_users_give() {
        for (word, id) in
            [("C++", "cpp"), ("golang", "go"), ("TS", "typescript"), (".py", "python"), ("terraform", "hcl")]
        {
            assert_eq!(by_name(word).map(|language| language.id), Some(id), "{word}");
        }
        assert_eq!(by_name("klingon"), None);
        assert_eq!(nearest("pyhton").first(), Some(&"python"));
        assert_eq!(nearest("typscript").first(), Some(&"typescript"));
        assert!(nearest("%%%%").is_empty());
    }
}
