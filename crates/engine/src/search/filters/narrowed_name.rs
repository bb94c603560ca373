//! Filters by a name that pass only what is resolved to it, and the warning about the rest.

use crate::search::filters::fields::FilterField;
use contract::{Fault, Warning, echo};
use store::{ChunkSelection, Filter, Reads};

/// Maximum number of chunks that are counted among those that only have the name.
const LEFT_OUT_MAX: usize = 1000;

/// A filter that passes what is resolved to a name, not everything that has the name.
#[derive(Debug)]
pub(in crate::search) struct NarrowedName {
    pub(super) field: &'static FilterField,
    pub(super) values: Vec<String>,
    /// The filter, as a part of the whole.
    pub(super) passed: Filter,
    /// The filter by the name alone, which passes more.
    pub(super) named: Filter,
}

impl NarrowedName {
    /// Returns the whole filter as it would be if this part of it compared the name alone.
    pub(in crate::search) fn by_name(&self, whole: &Filter) -> Filter {
        whole.replaced(&self.passed, &self.named)
    }

    /// Warns of the chunks that only [`Self::by_name`] passes, `others`, with their number.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn warn(
        &self,
        reads: &mut Reads,
        others: &Filter,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), Fault> {
        let (count, least) = match reads.select_chunks(others, (LEFT_OUT_MAX, 0)).await? {
            ChunkSelection::Listed(chunks) => (chunks.len(), ""),
            ChunkSelection::All | ChunkSelection::Matching(_) => (LEFT_OUT_MAX, "More than "),
        };
        if count == 0 {
            return Ok(());
        }
        let (name, value) = (self.field.name, self.values.join(", "));
        let chunks = if count == 1 { "chunk" } else { "chunks" };
        let message = format!(
            "`{name}:{}` passes what is resolved to a definition of that name. {least}{count} {chunks} with the name alone, which means something else there or is not resolved, {} left out{}.",
            echo(&value),
            if count == 1 { "is" } else { "are" },
            if name == "calls" { "; `uses` finds them, too" } else { "" }
        );
        let details = Some(serde_json::json!({ "field": name, "value": value, "chunks": count }));
        warnings.push(Warning { details, ..Warning::new("names_left_out", message) });
        Ok(())
    }
}
