//! Unpacks zstd: all frames of a file, each with its checksum.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The content of a file. A frame may ask for 128 MiB of memory; one that asks for more is refused.
pub(super) struct ZstdReader<R> {
    source: R,
    frame: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, frame: FrameDecoder::new(), is_in_frame: false }
    }

    /// Advances to the next frame with content. Returns `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn finish_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let expected = self.frame.get_checksum_from_data();
        if expected.is_some() && expected != self.frame.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.is_in_frame || self.next_frame()? {
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                let decoded =
                    self.frame.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(io::Error::other)?;
            }
            match self.frame.read(into)? {
                0 => self.finish_frame()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        ZstdReader::new(bytes).read_to_end(&mut unpacked).map(|_| unpacked)
    }

    #[test]
    fn all_frames_are_unpacked() {
        let [one, two] = [vec![7; 300_000], b"second".to_vec()];
        let packed = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let file = [packed(&one), skipped, packed(&[]), packed(&two)].concat();
        assert_eq!(unpack(&file).unwrap(), [one, two].concat());
        assert_eq!(unpack(&[]).unwrap(), b"");
        for end in [3, 12, file.len() - 1] {
            assert!(unpack(&file[..end]).is_err(), "{end}");
        }
        assert!(unpack(&[&file[..], b"garbage"].concat()).is_err());
    }

    #[test]
    fn a_wrong_checksum_is_an_error() {
        let mut file = compress_to_vec(&b"a text with a checksum"[..], CompressionLevel::Fastest);
        assert!(unpack(&file).is_ok());
        *file.last_mut().unwrap() ^= 1;
        assert!(unpack(&file).is_err());
    }
}
