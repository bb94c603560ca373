//! Detects the licence of a repository from its licence file and its manifests.

/// A licence that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    /// Its SPDX identifier or expression.
    pub spdx: String,
    /// The file that says so.
    pub path: String,
    /// Another file that declares a different licence, with that licence.
    pub conflict: Option<(String, String)>,
}

/// Phrases that identify a licence's text: it has all of the first list and none of the second.
struct Text {
    spdx: &'static str,
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

/// Texts of common licences, the more specific first. Phrases are in lower case with single spaces.
const TEXTS: &[Text] = &[
    Text { spdx: "AGPL-3.0", has: &["gnu affero general public license", "version 3"], lacks: &[] },
    Text { spdx: "LGPL-3.0", has: &["gnu lesser general public license", "version 3"], lacks: &[] },
    Text { spdx: "LGPL-2.1", has: &["gnu lesser general public license", "version 2.1"], lacks: &[] },
    Text {
        spdx: "GPL-3.0",
        has: &["gnu general public license", "version 3, 29 june 2007"],
        lacks: &["affero general public license version 3,"],
    },
    Text { spdx: "GPL-2.0", has: &["gnu general public license", "version 2, june 1991"], lacks: &[] },
    Text { spdx: "MPL-2.0", has: &["mozilla public license", "version 2.0"], lacks: &[] },
    Text { spdx: "EPL-2.0", has: &["eclipse public license", "v 2.0"], lacks: &[] },
    Text { spdx: "Apache-2.0", has: &["apache license", "version 2.0, january 2004"], lacks: &[] },
    Text { spdx: "BSL-1.0", has: &["boost software license", "version 1.0"], lacks: &[] },
    Text { spdx: "CC0-1.0", has: &["cc0 1.0 universal"], lacks: &[] },
    Text {
        spdx: "Unlicense",
        has: &["free and unencumbered software released into the public domain"],
        lacks: &[],
    },
    Text {
        spdx: "BSD-3-Clause",
        has: &["redistributions of source code must retain", "endorse or promote products"],
        lacks: &["all advertising materials"],
    },
    Text {
        spdx: "BSD-2-Clause",
        has: &["redistributions of source code must retain", "redistributions in binary form"],
        lacks: &["endorse or promote products", "all advertising materials"],
    },
    Text { spdx: "Zlib", has: &["altered source versions must be plainly marked"], lacks: &[] },
    Text {
        spdx: "ISC",
        has: &[
            "permission to use, copy, modify, and/or distribute this software for any purpose",
            "above copyright notice",
        ],
        lacks: &[],
    },
    Text {
        spdx: "0BSD",
        has: &["permission to use, copy, modify, and/or distribute this software for any purpose"],
        lacks: &["above copyright notice"],
    },
    Text {
        spdx: "MIT",
        has: &[
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "the software is provided",
        ],
        lacks: &[],
    },
];

/// Beginnings of names of files with a licence, in upper case.
const FILE_NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "UNLICENSE"];

/// Returns `true` if a file at the root of a repository is named like a licence file.
#[must_use]
pub fn is_licence_file(path: &str) -> bool {
    let upper = path.to_uppercase();
    let rest = FILE_NAMES.iter().find_map(|name| upper.strip_prefix(name));
    !path.contains('/') && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
}

/// Detects the licence of a text: by its SPDX line, or else by phrases that only one licence has.
#[must_use]
pub fn of_text(text: &str) -> Option<String> {
    let head = &text[..text.floor_char_boundary(64 << 10)];
    if let Some(line) = head.lines().take(30).find_map(|line| line.split_once("SPDX-License-Identifier:")) {
        let expression = line.1.trim().trim_end_matches(['*', '/', '-', '>']).trim();
        if is_expression(expression) {
            return Some(expression.to_owned());
        }
    }
    let words = head.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let is_in = |phrase: &&str| words.contains(*phrase);
    TEXTS
        .iter()
        .find(|text| text.has.iter().all(&is_in) && !text.lacks.iter().any(&is_in))
        .map(|text| text.spdx.to_owned())
}

/// Combines the licences that files name, as pairs of path and SPDX expression: the licence texts, and the declarations of manifests.
/// Several texts are a choice. `None` without any.
#[must_use]
pub fn detect(texts: &[(String, String)], declared: &[(String, String)]) -> Option<Licence> {
    let (path, _) = texts.first().or_else(|| declared.first())?;
    let mut ids: Vec<&str> = Vec::new();
    for (_, spdx) in if texts.is_empty() { &declared[..1] } else { texts } {
        if !ids.contains(&spdx.as_str()) {
            ids.push(spdx);
        }
    }
    let spdx = ids.join(" OR ");
    let conflict = declared.iter().find(|(_, other)| !agree(&spdx, other)).cloned();
    Some(Licence { spdx, path: path.clone(), conflict })
}

/// Returns `true` if two expressions have a licence in common. `GPL-3.0` and `GPL-3.0-or-later` have the same text.
#[must_use]
pub fn agree(one: &str, other: &str) -> bool {
    let others = identifiers(other);
    identifiers(one).iter().any(|id| others.contains(id))
}

/// Returns the identifiers of an expression in lower case, without the suffixes `-only`, `-or-later` and `+`.
fn identifiers(expression: &str) -> Vec<String> {
    let words = expression.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '/'));
    let words = words.filter(|word| !matches!(*word, "" | "OR" | "AND" | "WITH" | "or" | "and" | "with"));
    let plain = |word: &str| {
        let word = word.to_lowercase();
        let word = word.trim_end_matches('+');
        let word = word.strip_suffix("-only").or_else(|| word.strip_suffix("-or-later")).unwrap_or(word);
        word.to_owned()
    };
    words.map(plain).collect()
}

/// Returns `true` if a text can be an SPDX expression.
#[must_use]
pub fn is_expression(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-.+()/ ".contains(c);
    !text.is_empty()
        && text.len() <= 120
        && text.chars().all(is_allowed)
        && text.contains(char::is_alphanumeric)
}

/// Returns the SPDX identifiers of the licences that can be recognised.
pub fn known() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|text| text.spdx)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIT: &str = "MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy of this software.\n\
        THE SOFTWARE IS PROVIDED \"AS IS\".";

    fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(path, spdx)| ((*path).to_owned(), (*spdx).to_owned())).collect()
    }

    #[test]
    fn texts_are_recognised() {
        assert_eq!(of_text(MIT).as_deref(), Some("MIT"));
        let apache = "                Apache License\n          Version 2.0, January 2004\n";
        assert_eq!(of_text(apache).as_deref(), Some("Apache-2.0"));
        let three = "Redistributions of source code must retain the above notice. Neither the name … to endorse or promote products";
        assert_eq!(of_text(three).as_deref(), Some("BSD-3-Clause"));
        assert_eq!(
            of_text("// SPDX-License-Identifier: MIT OR Apache-2.0\n").as_deref(),
            Some("MIT OR Apache-2.0")
        );
        assert_eq!(of_text("All rights reserved."), None);
    }

    #[test]
    fn files_are_recognised_by_name() {
        for (path, expected) in [
            ("LICENSE", true),
            ("License.md", true),
            ("LICENSE-MIT", true),
            ("COPYING.txt", true),
            ("docs/LICENSE", false),
            ("licenses.rs", false),
        ] {
            assert_eq!(is_licence_file(path), expected, "{path}");
        }
    }

    #[test]
    fn a_manifest_that_says_otherwise_is_a_conflict() {
        let found = detect(&named(&[("LICENSE", "MIT")]), &named(&[("Cargo.toml", "Apache-2.0")])).unwrap();
        assert_eq!((found.spdx.as_str(), found.path.as_str()), ("MIT", "LICENSE"));
        assert_eq!(found.conflict, Some(("Cargo.toml".to_owned(), "Apache-2.0".to_owned())));
        let texts = named(&[("LICENSE-APACHE", "Apache-2.0"), ("LICENSE-MIT", "MIT")]);
        let found = detect(&texts, &named(&[("Cargo.toml", "MIT OR Apache-2.0")])).unwrap();
        assert_eq!((found.spdx.as_str(), found.conflict), ("Apache-2.0 OR MIT", None));
        assert_eq!(
            detect(&[], &named(&[("package.json", "ISC")])).map(|found| found.spdx).as_deref(),
            Some("ISC")
        );
        assert_eq!(detect(&[], &[]), None);
        assert!(
            agree("GPL-3.0", "GPL-3.0-or-later")
                && agree("MIT", "(MIT OR Apache-2.0)")
                && !agree("MIT", "ISC")
        );
    }
}
