//! The versions of the contract and of the package.

/// Version of the public contract: schemas, envelope and tool definitions (SemVer).
///
/// `contracts/versions.json` maps each version to a digest of the contract.
pub const SCHEMA_VERSION: &str = "2.15.0";

/// The major version of the contract, in each tool's `_meta`. It only increases.
pub const SCHEMA_MAJOR: u32 = 2;

/// The installed package version.
pub const TOOLING_VERSION: &str = env!("CARGO_PKG_VERSION");
