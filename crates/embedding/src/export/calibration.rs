//! Activation ranges, measured once on source code, from which the int8 graph gets static scales.
//!
//! Static scales make a vector a pure function of its text; incremental indexing relies on that.

use serde::Deserialize;

use super::ExportError;

/// The measured input ranges of every linear layer of a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The model it was measured on.
    pub model: String,
    /// The text that it was measured on; only for human readers.
    pub made_from: String,
    /// One entry per linear layer.
    pub linears: Vec<LinearInput>,
}

/// The quantisation of one linear layer's input to 8 bits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearInput {
    /// Layer and place, for example `l0.qkv`.
    pub linear: String,
    /// Width of one step, after smoothing.
    pub scale: f32,
    /// The step that represents 0.
    pub zero_point: u8,
    /// The widest input channels, and by how much each is divided first.
    pub smoothed: Vec<(usize, f32)>,
}

impl Calibration {
    /// Parses the committed JSON file.
    ///
    /// # Errors
    /// The text is not of that shape.
    pub fn parse(json: &str) -> Result<Self, ExportError> {
        serde_json::from_str(json).map_err(|e| ExportError::new(format!("calibration: {e}")))
    }

    /// The entry of a layer with `channels` inputs.
    pub(super) fn of(&self, linear: &str, channels: usize) -> Result<&LinearInput, ExportError> {
        let input = self.linears.iter().find(|input| input.linear == linear);
        let input = input.ok_or_else(|| ExportError::new(format!("calibration lacks {linear}")))?;
        if input
            .smoothed
            .iter()
            .any(|&(channel, factor)| channel >= channels || factor.is_nan() || factor <= 0.0)
        {
            return Err(ExportError::new(format!(
                "calibration of {linear} does not fit {channels} channels"
            )));
        }
        Ok(input)
    }
}
