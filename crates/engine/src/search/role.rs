//! What a file is for, judged by its path: code that answers, or something beside it.

use super::ranking::Ranking;
use super::shape::Shape;

/// The part a file plays in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Code that does the work.
    Source,
    /// Tests and their fixtures.
    Test,
    /// Examples, demonstrations, benchmarks.
    Example,
    /// Compatibility and legacy layers.
    Compat,
    /// Declarations without bodies.
    Stub,
    /// Passes on what other files define.
    Reexport,
    /// Prose and data.
    Prose,
    /// For one platform among several.
    Platform,
}

const TEST_WORDS: &[&str] = &["test", "tests", "spec"];
const TEST_DIRECTORIES: &[&str] =
    &["test", "tests", "spec", "specs", "__tests__", "testdata", "fixtures", "testing"];
/// Languages whose tests are named `test_something`; a shell's `test_functions.bash` is no test.
const TEST_PREFIX_EXTENSIONS: &[&str] = &["py", "rb", "c", "cc", "cpp", "php"];
const EXAMPLE_DIRECTORIES: &[&str] = &[
    "example",
    "examples",
    "_examples",
    "demo",
    "demos",
    "sample",
    "samples",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
];
const COMPAT_WORDS: &[&str] = &["compat", "_compat", "legacy", "deprecated"];
const REEXPORT_NAMES: &[&str] =
    &["__init__.py", "index.js", "index.ts", "index.tsx", "index.mjs", "package-info.java", "prelude.rs"];
const PROSE_EXTENSIONS: &[&str] = &[
    "md", "markdown", "rst", "txt", "adoc", "json", "yaml", "yml", "toml", "csv", "xml", "html", "svg",
    "lock",
];

/// What templates append to the name of what they become.
const TEMPLATE_ENDINGS: &[&str] = &[".in", ".tmpl", ".tpl", ".j2", ".jinja", ".erb"];
/// Directories of code for a platform that few develop on: its twin for the usual ones says the same.
const PLATFORM_DIRECTORIES: &[&str] =
    &["win", "win32", "windows", "aix", "os390", "ibmi", "sunos", "solaris", "haiku", "cygwin", "qnx"];

/// Files in which a package declares its name, its versions and what it depends on.
const MANIFESTS: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "gemfile",
    "composer.json",
    "mix.exs",
    "package.swift",
    "build.sbt",
    "build.zig.zon",
    ".tool-versions",
];
const MANIFEST_EXTENSIONS: &[&str] = &["gemspec", "csproj", "cabal", "nimble", "rockspec"];

/// Whether a package declares itself in the file; the one at the root of the repository counts for more than those of
/// examples and tests, which have roles of their own.
pub(super) fn is_manifest(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    MANIFESTS.contains(&name) || MANIFEST_EXTENSIONS.contains(&extension)
}

impl Role {
    /// Judges a repository-relative path.
    #[must_use]
    pub(super) fn of(path: &str) -> Self {
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

    /// What a chunk's score is multiplied with; 1 where the question asks for such files.
    #[must_use]
    pub(super) fn factor(self, shape: &Shape, ranking: &Ranking) -> f32 {
        let (factor, asked): (f32, &[&str]) = match self {
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
                    "readme",
                    "documentation",
                    "docs",
                    "changelog",
                    "guide",
                    "config",
                    "configuration",
                    "settings",
                    "license",
                    "manifest",
                ],
            ),
            Self::Platform => (ranking.platform_factor, PLATFORM_DIRECTORIES),
        };
        let bend = match self {
            Self::Test | Self::Example | Self::Prose => shape.issue * ranking.role_bend_issue,
            _ => 0.0,
        };
        let bend = match self {
            Self::Prose => bend - shape.usage.max(shape.manifest) * ranking.usage_prose,
            _ => bend,
        };
        if shape.mentions(asked) { 1.0 } else { factor.powf(1.0 + bend) }
    }
}

/// `FooTest.java`, `FooTests.cs`, `FooSpec.scala`: the capital tells them from `latest` and `contest`.
fn camel_test(path: &str) -> bool {
    let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or("");
    ["Test", "Tests", "Spec", "TestCase"].iter().any(|ending| stem.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_paths() {
        for (path, role) in [
            ("src/router.rs", Role::Source),
            ("src/latest.rs", Role::Source),
            ("src/flask/testing.py", Role::Source),
            ("tests/it/main.rs", Role::Test),
            ("pkg/router_test.go", Role::Test),
            ("src/test_app.py", Role::Test),
            ("lib/test_functions.bash", Role::Source),
            ("src/app.spec.ts", Role::Test),
            ("gson/src/JsonParserTest.java", Role::Test),
            ("_examples/hello/main.go", Role::Example),
            ("src/_compat.py", Role::Compat),
            ("types/index.d.ts", Role::Stub),
            ("src/flask/__init__.py", Role::Reexport),
            ("README.md", Role::Prose),
        ] {
            assert_eq!(Role::of(path), role, "{path}");
        }
    }

    #[test]
    fn a_question_for_tests_is_not_punished_with_their_penalty() {
        let ranking = Ranking::default();
        assert!(Role::Test.factor(&Shape::of("how is routing done"), &ranking) < 1.0);
        assert!((Role::Test.factor(&Shape::of("tests of routing"), &ranking) - 1.0).abs() < f32::EPSILON);
    }
}
