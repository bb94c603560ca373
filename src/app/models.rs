//! The models that are loaded: the configured one, and beside it those that projects are pinned to, up to a limit.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::{App, blocking};
use contract::{ErrorCode, Fault};
use embedding::{Embedder, ModelName, OnnxEmbedder, Precision, StubEmbedder};
use store::ModelFacts;
use upkeep::assets::{self, EmbeddingAssets};

type Cell = Arc<OnceCell<Arc<dyn Embedder>>>;

/// Loaded models beside the configured one, by id and variant.
#[derive(Default)]
pub(super) struct Models {
    /// The one unused longest comes first.
    loaded: Mutex<Vec<(String, Cell)>>,
}

impl Models {
    /// The place of a model; the one unused longest leaves when there are more than `loaded_max`. Who still works
    /// with that one keeps it until it is done.
    fn place(&self, key: &str, loaded_max: usize) -> Cell {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let at = loaded.iter().position(|(known, _)| known == key);
        let cell = at.map_or_else(Cell::default, |at| loaded.remove(at).1);
        loaded.push((key.to_owned(), Arc::clone(&cell)));
        let over = loaded.len().saturating_sub(loaded_max.max(1));
        loaded.drain(..over);
        cell
    }

    /// Gives the place of a model that could not be loaded back.
    fn forget(&self, key: &str) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|(known, cell)| known != key || cell.initialized());
    }
}

impl App {
    /// The model that a project is pinned to, loaded on first use. The configured one is not loaded for it.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when it is not installed here; `ILLEGAL_STATE` when the one installed under its name makes
    /// other vectors.
    pub async fn embedder_for(&self, pinned: &ModelFacts) -> Result<Arc<dyn Embedder>, Fault> {
        let is_it = |embedder: &Arc<dyn Embedder>| embedder.model().hash.as_slice() == pinned.hash.as_slice();
        if let Some(configured) = self.embedder.get().filter(|embedder| is_it(embedder)) {
            return Ok(Arc::clone(configured));
        }
        let embedder = match ModelName::parse(&format!("{}:{}", pinned.id, pinned.variant)) {
            Some(name) => self.model(&name).await?,
            None if pinned.variant == StubEmbedder::ID => self.stub(),
            // A folder of the operator's own has no other name than that it is configured.
            None => Arc::clone(self.embedder().await?),
        };
        if is_it(&embedder) { Ok(embedder) } else { Err(makes_others(pinned)) }
    }

    /// A model by name, loaded on first use.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when there is no such model or it is not installed here.
    pub async fn model(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, Fault> {
        if self.is_configured(name) {
            return self.embedder().await.cloned();
        }
        if name.id == StubEmbedder::ID {
            return Ok(self.stub());
        }
        let (layout, settings, wanted) = (self.layout.clone(), self.config.assets.clone(), name.clone());
        let files = blocking(move || assets::installed_model(&layout, &settings, &wanted)).await?;
        let key = format!("{}:{}", files.model.id, files.model.variant);
        let cell = self.models.place(&key, self.config.embedding.models_loaded_max);
        let loaded = cell.get_or_try_init(|| self.open_model(files)).await.cloned();
        loaded.inspect_err(|_| self.models.forget(&key))
    }

    /// The embedder that needs no model, for trying out.
    #[must_use]
    pub fn stub(&self) -> Arc<dyn Embedder> {
        match self.embedder.get() {
            // Tests put their own one in its place.
            Some(configured) if configured.model().id == StubEmbedder::ID => Arc::clone(configured),
            _ => Arc::new(StubEmbedder::default()),
        }
    }

    /// Whether the name means the configured model.
    fn is_configured(&self, name: &ModelName) -> bool {
        if let Some(embedder) = self.embedder.get() {
            return name.means(&embedder.model().id, &embedder.model().variant);
        }
        let settings = &self.config.assets;
        settings.model_dir.is_none()
            && name.means(&settings.model, Precision::chosen(settings.variant).as_str())
    }

    pub(super) async fn open_model(&self, files: EmbeddingAssets) -> Result<Arc<dyn Embedder>, Fault> {
        let settings = self.config.embedding.clone();
        let embedder =
            blocking(move || OnnxEmbedder::open(&files.model, &files.ort_dylib, &settings)).await?;
        Ok(Arc::new(embedder))
    }
}

fn makes_others(pinned: &ModelFacts) -> Fault {
    let message = format!(
        "The model {} ({}) that is installed here makes other vectors than those of the project.",
        pinned.id, pinned.variant
    );
    Fault::new(ErrorCode::IllegalState, message).with_hint(
        "Install the model as it was (also embedding.tokens_max counts), or change the project's: build_index with model and confirmReembed.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_unused_longest_leaves() {
        let models = Models::default();
        let first = models.place("a", 2);
        models.place("b", 2);
        assert!(Arc::ptr_eq(&first, &models.place("a", 2)));
        models.place("c", 2);
        assert!(Arc::ptr_eq(&first, &models.place("a", 2)), "b left, a was used later");
        let keys: Vec<String> = models.loaded.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys, ["c", "a"]);
        models.forget("c");
        assert_eq!(models.loaded.lock().unwrap().len(), 1, "it was never loaded");
    }
}
