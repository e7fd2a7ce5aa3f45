//! SACK blocks of the next ACK: duplicate data first (RFC 2883 §4), then ranges beyond a gap, the
//! most recent first (RFC 2018 §4).

use super::ReceiverConfig;
use crate::reassembly::Reassembly;
use crate::segment::{MAX_SACK_BLOCKS, SackBlock, SackBlocks};

/// Number of blocks stored for the next SACK options: twice as many as fit into an option. When blocks merge, older
/// blocks can take their place (RFC 2018 §4: as many blocks as possible).
const RECENT_BLOCKS: usize = 8;

/// Ranges to report by SACK blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// Duplicate data, for the next ACK only.
    pub(super) duplicate: Option<(u64, u64)>,
    /// An offset inside each block to report, with the most recent block first.
    recent: [u64; RECENT_BLOCKS],
    recent_len: usize,
}

impl Reports {
    /// Moves the block that contains `offset` to the front, because the block with the segment that caused the ACK must
    /// be first (RFC 2018 §4). Blocks below `next` are removed.
    pub(super) fn put_first(&mut self, offset: u64, out_of_order: &Reassembly, next: u64) {
        let block = out_of_order.containing(offset);
        let mut kept = [offset; RECENT_BLOCKS];
        let mut len = 1;
        for &other in &self.recent[..self.recent_len] {
            let same = block.is_some_and(|(start, end)| start <= other && other < end);
            if !same && other >= next && len < RECENT_BLOCKS {
                kept[len] = other;
                len += 1;
            }
        }
        self.recent = kept;
        self.recent_len = len;
    }

    /// Removes the blocks beyond a gap.
    pub(super) const fn forget_recent(&mut self) {
        self.recent_len = 0;
    }

    /// Returns an upper bound on the number of blocks in the next ACK.
    #[inline]
    pub(super) fn at_most(&self, config: &ReceiverConfig, out_of_order: &Reassembly) -> usize {
        if out_of_order.is_empty() && self.duplicate.is_none() || !config.sack.is_on() {
            return 0;
        }
        let duplicate = usize::from(self.duplicate.is_some() && config.dsack.is_on());
        let blocks = duplicate + self.recent_len.min(out_of_order.len());
        blocks.min(room(config))
    }

    /// Returns the blocks of the ACK that is sent now.
    pub(super) fn take(
        &mut self,
        config: &ReceiverConfig,
        out_of_order: &Reassembly,
    ) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let duplicate = self.duplicate.take();
        if !config.sack.is_on() {
            return blocks;
        }
        let mut room = room(config);
        let mut push = |start: u64, end: u64| {
            if room > 0 {
                room -= 1;
                blocks.push(SackBlock {
                    start: config.irs.at(start),
                    end: config.irs.at(end),
                });
            }
        };
        if let Some((start, end)) = duplicate.filter(|_| config.dsack.is_on()) {
            push(start, end);
        }
        if out_of_order.is_empty() {
            self.recent_len = 0;
            return blocks;
        }
        // Blocks may have merged or been delivered since they were stored. Each block is reported once.
        let mut kept = 0;
        let mut seen = [(0, 0); RECENT_BLOCKS];
        for i in 0..self.recent_len {
            let offset = self.recent[i];
            if let Some(block) = out_of_order.containing(offset)
                && !seen[..kept].contains(&block)
            {
                push(block.0, block.1);
                seen[kept] = block;
                self.recent[kept] = offset;
                kept += 1;
            }
        }
        self.recent_len = kept;
        blocks
    }
}

/// Returns the number of blocks that fit into an ACK. Timestamps take the space of one block (RFC 2018 §3).
const fn room(config: &ReceiverConfig) -> usize {
    match config.timestamps {
        Some(_) => MAX_SACK_BLOCKS - 1,
        None => MAX_SACK_BLOCKS,
    }
}
