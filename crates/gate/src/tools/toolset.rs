//! Toolsets: families of tools that operators and clients select.

use std::fmt;

use contract::config::Config;
use serde::{Serialize, Serializer};

/// A family of tools.
#[derive(Clone, Copy)]
pub struct Toolset {
    /// Its name in settings, headers and URLs.
    pub name: &'static str,
    /// Checks whether the operator has enabled it, if it is opt-in: lists show it only to a caller who selects it, and its tools can be
    /// called, listed or not, while it is enabled. `None`: lists show it to every caller who selects no toolsets.
    pub opt_in: Option<fn(&Config) -> bool>,
}

impl Toolset {
    /// Searching and reading code.
    pub const SEARCH: Self = Self::listed("search");
    /// Building indexes and showing their status.
    pub const INDEX: Self = Self::listed("index");
    /// Models, dictionaries, extensions and portable index files.
    pub const ARTIFACTS: Self = Self::listed("artifacts");
    /// Setting up, inspecting and cleaning an installation.
    pub const ADMIN: Self = Self::listed("admin");

    /// A toolset that is listed by default.
    #[must_use]
    pub const fn listed(name: &'static str) -> Self {
        Self { name, opt_in: None }
    }

    /// A toolset that is listed only to a caller who selects it, while the operator has it enabled.
    #[must_use]
    pub const fn opt_in(name: &'static str, is_enabled: fn(&Config) -> bool) -> Self {
        Self { name, opt_in: Some(is_enabled) }
    }

    /// Returns `true` if lists show it to a caller who does not select toolsets.
    #[must_use]
    pub fn listed_by_default(self) -> bool {
        self.opt_in.is_none()
    }

    /// Returns `true` unless it is opt-in and the operator has not enabled it.
    #[must_use]
    pub fn is_enabled(self, config: &Config) -> bool {
        self.opt_in.is_none_or(|is_enabled| is_enabled(config))
    }
}

impl PartialEq for Toolset {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Toolset {}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for Toolset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
