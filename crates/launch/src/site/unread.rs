//! Documents of a site in formats that are not read. They are named, so that they are not mistaken for checked.

use std::collections::BTreeMap;

/// Extensions of documents, beside those of pages.
const EXTENSIONS: &[&str] = &[
    "adoc", "asc", "asciidoc", "djot", "htm", "html", "ipynb", "livemd", "mdown", "mdwn", "mdx", "mkd",
    "mkdn", "mmd", "myst", "org", "pod", "qmd", "rdoc", "rmd", "rst", "tex", "textile", "txt", "typ", "wiki",
    "xhtml",
];
/// Folders of files from which a site is generated, whose HTML files are not pages.
const MAKING: &[&str] = &[
    "_includes", "_layouts", "_static", "_templates", "assets", "includes", "layouts", "overrides",
    "partials", "public", "static", "templates", "theme", "themes",
];
/// Beginnings of the names of texts that are meant for programs or lawyers.
const OTHER_TEXTS: &[&str] = &[
    "ads", "cmakelists", "constraints", "copying", "humans", "licence", "license", "notice", "requirements",
    "robots", "security",
];

/// Checks if a file is a document that is not read.
pub(super) fn is_unread_document(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_document = !stem.is_empty() && EXTENSIONS.contains(&extension);
    is_document
        && match extension {
            "htm" | "html" | "xhtml" => !folders.split('/').any(|folder| MAKING.contains(&folder)),
            "txt" => !OTHER_TEXTS.iter().any(|other| stem.starts_with(other)),
            _ => true,
        }
}

/// Counts these files by their extension, the most frequent one first: `78 .mdx, 2 .rst`.
#[must_use]
pub fn counted_by_extension(paths: &[String]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let extension = path.rsplit('.').next().unwrap_or_default().to_lowercase();
        *counts.entry(extension).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|(one, one_count), (other, other_count)| {
        other_count.cmp(one_count).then_with(|| one.cmp(other))
    });
    let shown: Vec<String> =
        counts.iter().map(|(extension, count)| format!("{count} .{extension}")).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_in_other_formats_are_distinguished_from_files_of_the_generator() {
        for path in [
            "a.mdx", "guide/B.RST", "index.html", "ref/models.txt", "x.ipynb", "a.b.adoc",
            "docs/templates.rst",
        ] {
            assert!(is_unread_document(path), "{path}");
        }
        for path in [
            "a.md", "a.markdown", "logo.svg", "layouts/index.html", "docs/_templates/base.html",
            "robots.txt", "requirements-dev.txt", "LICENSE.txt", ".mdx", "mdx", "conf.py", "mkdocs.yml",
        ] {
            assert!(!is_unread_document(path), "{path}");
        }
        let paths: Vec<String> =
            ["a.rst", "b.mdx", "c.MDX", "d.adoc"].iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(counted_by_extension(&paths), "2 .mdx, 1 .adoc, 1 .rst");
        assert_eq!(counted_by_extension(&[]), "");
    }
}
