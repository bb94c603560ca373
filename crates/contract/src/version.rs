//! The two version numbers of the contract, each in one place.

/// Version of the public contract: schemas, envelope and tool definitions (SemVer).
///
/// `contracts/versions.json` pins it to a digest of the whole surface.
pub const SCHEMA_VERSION: &str = "2.6.0";

/// A number that only rises, carried in each tool's `_meta`.
pub const SCHEMA_MAJOR: u32 = 2;

/// The installed package version.
pub const TOOLING_VERSION: &str = env!("CARGO_PKG_VERSION");
