//! Writer that copies packets of a capture, unchanged, to another capture and adds comments. The copy is in pcapng
//! format, with one interface per link type.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};

use crate::capture::{CaptureError, cut};
use crate::captured::{Captured, LinkType};

/// Writer of a capture whose packets are copied from another capture.
pub struct CopyWriter<W: Write> {
    file: PcapNgWriter<BufWriter<W>>,
    /// Link types of the interfaces so far, in order.
    links: Vec<LinkType>,
}

impl<W: Write> std::fmt::Debug for CopyWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyWriter")
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl<W: Write> CopyWriter<W> {
    /// Starts a capture by writing its header.
    ///
    /// # Errors
    ///
    /// Returns an error if `writer` fails.
    pub fn new(writer: W) -> Result<Self, CaptureError> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
                concat!("dupack ", env!("CARGO_PKG_VERSION")),
            ))],
            ..SectionHeaderBlock::default()
        };
        let file = PcapNgWriter::with_section_header(BufWriter::new(writer), section)
            .map_err(CaptureError::of_header)?;
        Ok(Self {
            file,
            links: Vec::new(),
        })
    }

    /// Writes a packet, with all bytes that were kept, and a comment.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails.
    pub fn copy(
        &mut self,
        captured: &Captured<'_>,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let interface_id = self.interface(captured.link)?;
        let comment = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(cut(text))));
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: std::time::Duration::from_nanos(captured.at.as_unix_nanos()),
            original_len: captured.original_len,
            data: Cow::Borrowed(captured.bytes),
            options: comment.into_iter().collect(),
        };
        self.file
            .write_pcapng_block(block)
            .map_err(CaptureError::of_packet)?;
        Ok(())
    }

    /// Returns the interface for a link type. The interface is described on first use.
    fn interface(&mut self, link: LinkType) -> Result<u32, CaptureError> {
        let known = self.links.iter().position(|known| *known == link);
        let place = match known {
            Some(place) => place,
            None => {
                let interface = InterfaceDescriptionBlock {
                    linktype: DataLink::from(link.0),
                    // Zero means no limit.
                    snaplen: 0,
                    options: vec![InterfaceDescriptionOption::IfTsResol(9)],
                };
                self.file
                    .write_pcapng_block(interface)
                    .map_err(CaptureError::of_header)?;
                self.links.push(link);
                self.links.len() - 1
            }
        };
        Ok(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// Flushes the writer and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails.
    pub fn finish(self) -> Result<W, CaptureError> {
        let inner = self.file.into_inner().into_inner();
        let mut writer = inner.map_err(|error| CaptureError::of_end(error.into_error()))?;
        writer.flush().map_err(CaptureError::of_end)?;
        Ok(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::CaptureReader;
    use crate::{CaptureTime, CaptureWriter, Snap};

    #[test]
    fn a_copy_keeps_the_packets_and_adds_comments() {
        let mut writer = CaptureWriter::new(Vec::new(), Snap::Full).unwrap();
        let packets: [&[u8]; 2] = [&[0x45, 1, 2, 3], &[0x60, 9]];
        for (n, packet) in (1..).zip(packets) {
            let at = CaptureTime::from_unix_nanos(n * 1_000_000_007);
            writer.write(at, packet, None).unwrap();
        }
        let original = writer.finish().unwrap();
        let mut reader = CaptureReader::new(original.as_slice()).unwrap();
        let mut copy = CopyWriter::new(Vec::new()).unwrap();
        while let Some(captured) = reader.next_packet().unwrap() {
            let comment = (captured.number == 2).then_some("the second");
            copy.copy(&captured, comment).unwrap();
        }
        let copy = copy.finish().unwrap();
        assert!(copy.windows(10).any(|part| part == b"the second"));
        let mut reader = CaptureReader::new(copy.as_slice()).unwrap();
        for (n, packet) in (1..).zip(packets) {
            let captured = reader.next_packet().unwrap().unwrap();
            assert_eq!(captured.bytes, packet);
            assert_eq!(captured.at.as_unix_nanos(), n * 1_000_000_007);
            assert_eq!(captured.link, LinkType::RAW);
        }
        assert!(reader.next_packet().unwrap().is_none());
    }
}
