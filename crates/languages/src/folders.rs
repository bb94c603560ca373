//! Names of folders whose files are not a project's own.

/// Folders with vendored projects. A folder called `vendor` often is one too, but not always.
pub const VENDORED_FOLDERS: &[&str] = &[
    "node_modules", "bower_components", "jspm_packages", "third_party", "thirdparty", "3rdparty",
    "third-party", "Pods", "Carthage", "site-packages", "elm-stuff", "deps.bundle",
];

/// Folders in which tools keep files of their own.
pub const TOOL_FOLDERS: &[&str] = &[
    "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints",
    ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".dart_tool",
    ".eggs", ".hg", ".svn", ".jj", ".sl", ".bzr", "DerivedData", "htmlcov",
];
