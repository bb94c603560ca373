//! The toolsets: families of tools that operators and clients select.

use contract::config::Config;
use serde::Serialize;

/// A family of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Toolset {
    /// Searching and reading code.
    Search,
    /// Building indexes and showing their status.
    Index,
    /// Models, dictionaries, extensions and portable index files.
    Artifacts,
    /// Security findings and decisions.
    Triage,
    /// Setting up, inspecting and cleaning an installation.
    Admin,
    /// The instruction catalog.
    Instructions,
    /// Launch runs.
    Launch,
}

impl Toolset {
    /// All toolsets.
    pub const ALL: [Self; 7] = [
        Self::Search,
        Self::Index,
        Self::Artifacts,
        Self::Triage,
        Self::Admin,
        Self::Instructions,
        Self::Launch,
    ];

    /// Its name in settings, headers and URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Index => "index",
            Self::Artifacts => "artifacts",
            Self::Triage => "triage",
            Self::Admin => "admin",
            Self::Instructions => "instructions",
            Self::Launch => "launch",
        }
    }

    /// Returns `true` if lists show it to a caller who does not select toolsets.
    #[must_use]
    pub fn listed_by_default(self) -> bool {
        OPT_IN_TOOLSETS.iter().all(|row| row.toolset != self)
    }
}

/// A toolset that lists show only to a caller who selects it. Its tools can be called, listed or not, while the operator has it
/// enabled.
#[derive(Debug, Clone, Copy)]
pub struct OptInToolset {
    /// The toolset.
    pub toolset: Toolset,
    /// Checks whether the operator has it enabled.
    pub is_enabled: fn(&Config) -> bool,
}

/// All opt-in toolsets.
pub static OPT_IN_TOOLSETS: &[OptInToolset] = &[
    OptInToolset { toolset: Toolset::Instructions, is_enabled: |config| config.instructions.enabled },
    OptInToolset { toolset: Toolset::Launch, is_enabled: |config| config.launch.enabled },
];
