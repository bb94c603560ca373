//! The metadata of a SCIP file.

use super::error::Error;
use super::wire::Message;

/// Bytes of a tool's name, and of each other text here.
const TEXT_BYTES_MAX: u64 = 4 << 10;

/// The metadata of a SCIP file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Name of the indexer.
    pub tool: String,
    /// Version of the indexer.
    pub tool_version: String,
    /// URI of the directory in which the indexer ran. It is a directory of another machine, so it is not used.
    pub project_root: String,
}

impl Metadata {
    /// Reads the message.
    pub(super) fn parse(mut message: Message<'_>) -> Result<Self, Error> {
        let mut metadata = Self::default();
        let offset = message.offset();
        while let Some((field, value)) = message.next_field()? {
            match field {
                2 => metadata.parse_tool(value.bytes("tool", offset)?)?,
                3 => {
                    let root = value.bytes("project root", offset)?;
                    root.text("project root", TEXT_BYTES_MAX)?.clone_into(&mut metadata.project_root);
                }
                _ => {}
            }
        }
        Ok(metadata)
    }

    fn parse_tool(&mut self, mut message: Message<'_>) -> Result<(), Error> {
        let offset = message.offset();
        while let Some((field, value)) = message.next_field()? {
            let target = match field {
                1 => &mut self.tool,
                2 => &mut self.tool_version,
                _ => continue,
            };
            value.bytes("tool", offset)?.text("tool name", TEXT_BYTES_MAX)?.clone_into(target);
        }
        Ok(())
    }
}
