//! Classifies files by path: source, test, example, prose and so on; the ranking prefers source.

use crate::search::query::query_class::QueryClass;
use crate::search::rank::ranking::Ranking;

/// The kind of a file, according to its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::search) enum PathKind {
    /// Production code.
    Source,
    /// Tests and their fixtures.
    Test,
    /// Examples, demonstrations, benchmarks.
    Example,
    /// Compatibility and legacy layers.
    Compat,
    /// Declarations without bodies.
    Stub,
    /// Re-exports definitions of other files.
    Reexport,
    /// Prose and data.
    Prose,
    /// Code for one platform.
    Platform,
}

const TEST_WORDS: &[&str] = &["test", "tests", "spec"];
const TEST_DIRECTORIES: &[&str] =
    &["test", "tests", "spec", "specs", "__tests__", "testdata", "fixtures", "testing"];
/// Extensions of languages whose tests are named `test_something`; a `test_functions.bash` is not a test.
const TEST_PREFIX_EXTENSIONS: &[&str] = &["py", "rb", "c", "cc", "cpp", "php"];
const EXAMPLE_DIRECTORIES: &[&str] = &[
    "example", "examples", "_examples", "demo", "demos", "sample", "samples", "bench", "benches",
    "benchmark", "benchmarks",
];
const COMPAT_WORDS: &[&str] = &["compat", "_compat", "legacy", "deprecated"];
const REEXPORT_NAMES: &[&str] =
    &["__init__.py", "index.js", "index.ts", "index.tsx", "index.mjs", "package-info.java", "prelude.rs"];
const PROSE_EXTENSIONS: &[&str] = &[
    "md", "markdown", "rst", "txt", "adoc", "json", "yaml", "yml", "toml", "csv", "xml", "html", "svg",
    "lock",
];

/// Extensions that templates append to the name of the generated file.
const TEMPLATE_ENDINGS: &[&str] = &[".in", ".tmpl", ".tpl", ".j2", ".jinja", ".erb"];
/// Directories of code for rarely used platforms, which usually have a counterpart for the common ones.
const PLATFORM_DIRECTORIES: &[&str] =
    &["win", "win32", "windows", "aix", "os390", "ibmi", "sunos", "solaris", "haiku", "cygwin", "qnx"];

/// Package manifests: name, versions, dependencies.
const MANIFESTS: &[&str] = &[
    "package.json", "pyproject.toml", "setup.py", "setup.cfg", "cargo.toml", "go.mod", "pom.xml",
    "build.gradle", "build.gradle.kts", "gemfile", "composer.json", "mix.exs", "package.swift", "build.sbt",
    "build.zig.zon", ".tool-versions",
];
const MANIFEST_EXTENSIONS: &[&str] = &["gemspec", "csproj", "cabal", "nimble", "rockspec"];

/// Returns whether the file at a path is a package manifest. Manifests of examples and tests rank below the one at the root
/// because of their path kind.
#[must_use]
pub fn is_manifest(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    MANIFESTS.contains(&name) || MANIFEST_EXTENSIONS.contains(&extension)
}

impl PathKind {
    /// Classifies a repository-relative path.
    #[must_use]
    pub(in crate::search) fn from_path(path: &str) -> Self {
        let camel_test = camel_test(path);
        let path = path.to_lowercase();
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let (stem, extension) = TEMPLATE_ENDINGS
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name)
            .rsplit_once('.')
            .unwrap_or((name, ""));
        let lies_in = |names: &[&str]| directories.split('/').any(|directory| names.contains(&directory));
        let mut words = stem.split(['_', '.', '-']);
        // `router_test.go`, `app.spec.ts`, `test_app.py`.
        let test_name = words.clone().next_back().is_some_and(|word| TEST_WORDS.contains(&word))
            || (words.next().is_some_and(|word| TEST_WORDS.contains(&word))
                && TEST_PREFIX_EXTENSIONS.contains(&extension));
        if test_name || camel_test || lies_in(TEST_DIRECTORIES) {
            Self::Test
        } else if lies_in(EXAMPLE_DIRECTORIES) {
            Self::Example
        } else if lies_in(COMPAT_WORDS) || COMPAT_WORDS.contains(&stem) {
            Self::Compat
        } else if extension == "pyi" || name.ends_with(".d.ts") {
            Self::Stub
        } else if REEXPORT_NAMES.contains(&name) {
            Self::Reexport
        } else if PROSE_EXTENSIONS.contains(&extension) {
            Self::Prose
        } else if lies_in(PLATFORM_DIRECTORIES) || PLATFORM_DIRECTORIES.contains(&stem) {
            Self::Platform
        } else {
            Self::Source
        }
    }

    /// Returns the factor of a chunk's score; 1 if the query asks for such files.
    #[must_use]
    pub(in crate::search) fn factor(self, class: &QueryClass, ranking: &Ranking) -> f32 {
        let (factor, query_words): (f32, &[&str]) = match self {
            Self::Source => return 1.0,
            Self::Test => (
                ranking.test_factor,
                &["test", "tests", "testing", "tested", "spec", "fixture", "fixtures", "mock"],
            ),
            Self::Example => (
                ranking.example_factor,
                &["example", "examples", "sample", "demo", "benchmark", "benchmarks", "bench"],
            ),
            Self::Compat => (ranking.compat_factor, &["compat", "compatibility", "legacy", "deprecated"]),
            Self::Stub => (ranking.stub_factor, &["stub", "stubs", "declaration", "declarations", "typings"]),
            Self::Reexport => {
                (ranking.reexport_factor, &["export", "exports", "reexport", "prelude", "init", "index"])
            }
            Self::Prose => (
                ranking.prose_factor,
                &[
                    "readme", "documentation", "docs", "changelog", "guide", "config", "configuration",
                    "settings", "license", "manifest",
                ],
            ),
            Self::Platform => (ranking.platform_factor, PLATFORM_DIRECTORIES),
        };
        let extra_exponent = match self {
            Self::Test | Self::Example | Self::Prose => class.issue * ranking.role_bend_issue,
            _ => 0.0,
        };
        let extra_exponent = match self {
            Self::Prose => extra_exponent - class.usage.max(class.manifest) * ranking.usage_prose,
            _ => extra_exponent,
        };
        if class.mentions(query_words) { 1.0 } else { factor.powf(1.0 + extra_exponent) }
    }
}

/// Returns whether a path is named like `FooTest.java`, `FooTests.cs` or `FooSpec.scala`; the capital letter distinguishes them from
/// `latest` and `contest`.
fn camel_test(path: &str) -> bool {
    let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or("");
    ["Test", "Tests", "Spec", "TestCase"].iter().any(|ending| stem.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_paths() {
        for (path, kind) in [
            ("src/router.rs", PathKind::Source),
            ("src/latest.rs", PathKind::Source),
            ("src/flask/testing.py", PathKind::Source),
            ("tests/it/main.rs", PathKind::Test),
            ("pkg/router_test.go", PathKind::Test),
            ("src/test_app.py", PathKind::Test),
            ("lib/test_functions.bash", PathKind::Source),
            ("src/app.spec.ts", PathKind::Test),
            ("gson/src/JsonParserTest.java", PathKind::Test),
            ("_examples/hello/main.go", PathKind::Example),
            ("src/_compat.py", PathKind::Compat),
            ("types/index.d.ts", PathKind::Stub),
            ("src/flask/__init__.py", PathKind::Reexport),
            ("README.md", PathKind::Prose),
        ] {
            assert_eq!(PathKind::from_path(path), kind, "{path}");
        }
    }

    #[test]
    fn a_query_for_tests_does_not_lower_tests() {
        let ranking = Ranking::default();
        assert!(PathKind::Test.factor(&QueryClass::new("how is routing done"), &ranking) < 1.0);
        assert!(
            (PathKind::Test.factor(&QueryClass::new("tests of routing"), &ranking) - 1.0).abs()
                < f32::EPSILON
        );
    }
}
