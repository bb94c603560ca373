//! The formats of documents, and their detection.

/// A format that [`extract`](crate::extract) reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// PDF.
    Pdf,
    /// Word document.
    Docx,
    /// Excel workbook.
    Xlsx,
    /// PowerPoint presentation.
    Pptx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument presentation.
    Odp,
}

/// Bytes at the beginning in which the header of a PDF must be.
const PDF_HEADER_WITHIN: usize = 1024;
/// First bytes of a zip file with entries.
const ZIP_HEADER: &[u8] = b"PK\x03\x04";
/// First bytes of a compound file. Encrypted Office documents are such files, with the document inside.
pub(crate) const COMPOUND_HEADER: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

impl Format {
    /// All formats.
    pub const ALL: &'static [Self] =
        &[Self::Pdf, Self::Docx, Self::Xlsx, Self::Pptx, Self::Odt, Self::Ods, Self::Odp];

    /// Returns the name, which is also the id of its language.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
        }
    }

    /// Returns the format that the name of a file promises.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Some(match extension.to_lowercase().as_str() {
            "pdf" => Self::Pdf,
            "docx" | "docm" => Self::Docx,
            "xlsx" | "xlsm" => Self::Xlsx,
            "pptx" | "pptm" => Self::Pptx,
            "odt" => Self::Odt,
            "ods" => Self::Ods,
            "odp" => Self::Odp,
            _ => return None,
        })
    }

    /// Returns the format of a file, if its name promises one and its first bytes agree.
    #[must_use]
    pub fn of_file(path: &str, bytes: &[u8]) -> Option<Self> {
        Self::of_path(path).filter(|format| format.begins(bytes))
    }

    /// Checks whether a file of this format can begin with these bytes.
    fn begins(self, bytes: &[u8]) -> bool {
        match self {
            Self::Pdf => {
                let head = bytes.get(..PDF_HEADER_WITHIN).unwrap_or(bytes);
                head.windows(5).any(|window| window == b"%PDF-")
            }
            _ => bytes.starts_with(ZIP_HEADER) || bytes.starts_with(COMPOUND_HEADER),
        }
    }

    /// Returns the number by which the format is sent to the process that reads it.
    #[must_use]
    pub fn number(self) -> u8 {
        Self::ALL
            .iter()
            .zip(0..)
            .find_map(|(format, number)| (*format == self).then_some(number))
            .unwrap_or(0)
    }

    /// Returns the format of a number of [`number`](Self::number).
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_first_bytes_must_agree() {
        let zip: &[u8] = b"PK\x03\x04rest";
        assert_eq!(Format::of_file("a/B.PDF", b"junk\n%PDF-1.7\n"), Some(Format::Pdf));
        assert_eq!(Format::of_file("a.docm", zip), Some(Format::Docx));
        assert_eq!(Format::of_file("a.ods", COMPOUND_HEADER), Some(Format::Ods));
        let others: [(&str, &[u8]); 4] =
            [("a.pdf", b"version https"), ("a.zip", zip), (".docx", zip), ("pdf", b"%PDF-")];
        for (path, bytes) in others {
            assert_eq!(Format::of_file(path, bytes), None, "{path}");
        }
    }

    #[test]
    fn numbers_round_trip() {
        for format in Format::ALL {
            assert_eq!(Format::from_number(format.number()), Some(*format));
        }
        assert_eq!(Format::from_number(99), None);
    }
}
