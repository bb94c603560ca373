//! Loaded embedding models: the configured one, and a bounded number of others that projects use.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::{App, blocking};
use contract::{ErrorCode, Fault};
use embedding::{Embedder, ModelName, OnnxEmbedder, Precision, StubEmbedder};
use store::ModelFacts;
use upkeep::install::{EmbeddingAssets, installed_model};

type EmbedderCell = Arc<OnceCell<Arc<dyn Embedder>>>;

/// The models other than the configured one, by id and variant.
#[derive(Default)]
pub(super) struct LoadedModels {
    /// Least recently used first.
    loaded: Mutex<Vec<(String, EmbedderCell)>>,
}

impl LoadedModels {
    /// The cell of a model. Evicts the least recently used model over `loaded_max`; calls that still use it keep it alive.
    fn cell(&self, key: &str, loaded_max: usize) -> EmbedderCell {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let at = loaded.iter().position(|(known, _)| known == key);
        let cell = at.map_or_else(EmbedderCell::default, |at| loaded.remove(at).1);
        loaded.push((key.to_owned(), Arc::clone(&cell)));
        let over = loaded.len().saturating_sub(loaded_max.max(1));
        loaded.drain(..over);
        cell
    }

    /// Removes the cell of a model that could not be loaded.
    fn remove_failed(&self, key: &str) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|(known, cell)| known != key || cell.initialized());
    }
}

impl App {
    /// The model of a project, loaded on first use. Does not load the configured model unless it is the same.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if it is not installed here; `ILLEGAL_STATE` if the model installed under its name produces different
    /// vectors.
    pub async fn embedder_for(&self, pinned: &ModelFacts) -> Result<Arc<dyn Embedder>, Fault> {
        let is_pinned =
            |embedder: &Arc<dyn Embedder>| embedder.model().hash.as_slice() == pinned.hash.as_slice();
        if let Some(configured) = self.embedder.get().filter(|embedder| is_pinned(embedder)) {
            return Ok(Arc::clone(configured));
        }
        let embedder = match ModelName::parse(&format!("{}:{}", pinned.id, pinned.variant)) {
            Some(name) => self.model(&name).await?,
            None if pinned.variant == StubEmbedder::ID => self.stub(),
            // A model in the operator's own folder is known only as the configured one.
            None => Arc::clone(self.embedder().await?),
        };
        if is_pinned(&embedder) { Ok(embedder) } else { Err(different_vectors(pinned)) }
    }

    /// A model by name, loaded on first use.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if the model does not exist or is not installed here.
    pub async fn model(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, Fault> {
        if self.is_configured(name) {
            return self.embedder().await.cloned();
        }
        if name.id == StubEmbedder::ID {
            return Ok(self.stub());
        }
        let (layout, settings, wanted) = (self.layout.clone(), self.config.assets.clone(), name.clone());
        let files = blocking(move || installed_model(&layout, &settings, &wanted)).await?;
        let key = format!("{}:{}", files.model.id, files.model.variant);
        let cell = self.models.cell(&key, self.config.embedding.models_loaded_max);
        let loaded = cell.get_or_try_init(|| self.open_model(files)).await.cloned();
        loaded.inspect_err(|_| self.models.remove_failed(&key))
    }

    /// The embedder that hashes words instead of using a model.
    #[must_use]
    pub fn stub(&self) -> Arc<dyn Embedder> {
        match self.embedder.get() {
            // Tests replace it with their own.
            Some(configured) if configured.model().id == StubEmbedder::ID => Arc::clone(configured),
            _ => Arc::new(StubEmbedder::default()),
        }
    }

    /// Returns `true` if the name refers to the configured model.
    fn is_configured(&self, name: &ModelName) -> bool {
        if let Some(embedder) = self.embedder.get() {
            return name.matches(&embedder.model().id, &embedder.model().variant);
        }
        let settings = &self.config.assets;
        settings.model_dir.is_none()
            && name.matches(&settings.model, Precision::from_setting(settings.variant).as_str())
    }

    pub(super) async fn open_model(&self, files: EmbeddingAssets) -> Result<Arc<dyn Embedder>, Fault> {
        let settings = self.config.embedding.clone();
        let embedder =
            blocking(move || OnnxEmbedder::open(&files.model, &files.ort_dylib, &settings)).await?;
        Ok(Arc::new(embedder))
    }
}

fn different_vectors(pinned: &ModelFacts) -> Fault {
    let message = format!(
        "The installed model {} ({}) produces different vectors than those of the project.",
        pinned.id, pinned.variant
    );
    Fault::new(ErrorCode::IllegalState, message).with_hint(
        "Install the original model with the same embedding.tokens_max, or change the project's model: build_index with model and confirmReembed.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_model_is_evicted() {
        let models = LoadedModels::default();
        let first = models.cell("a", 2);
        models.cell("b", 2);
        assert!(Arc::ptr_eq(&first, &models.cell("a", 2)));
        models.cell("c", 2);
        assert!(Arc::ptr_eq(&first, &models.cell("a", 2)), "b left, a was used later");
        let keys: Vec<String> = models.loaded.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys, ["c", "a"]);
        models.remove_failed("c");
        assert_eq!(models.loaded.lock().unwrap().len(), 1, "it was never loaded");
    }
}
