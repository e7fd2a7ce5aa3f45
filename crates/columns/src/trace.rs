//! A trace as columns: what `packets.csv` and `windows.csv` have, in numbers.
//!
//! [`Packets`] and [`Windows`] take the events of a flow as they come. [`Columns`] is both, and an
//! [`Onlooker`]: [`follow`](dupack_lab::trace::stream::follow) hands it the events of a run of any length.

mod packets;
mod windows;

use arrow_array::RecordBatch;
use dupack_lab::trace::stream::Onlooker;
use dupack_lab::trace::{Event, Flow, Trace};
use dupack_tcp::time::Duration;

pub use packets::Packets;
pub use windows::Windows;

/// The packets and the windows of one flow.
#[derive(Debug, Default)]
pub struct Columns {
    tables: Option<(Packets, Windows)>,
}

impl Columns {
    /// The packets and the windows so far, none of a flow that nothing has happened to; both tables are empty after
    /// that.
    #[must_use]
    pub fn take(&mut self) -> Option<(RecordBatch, RecordBatch)> {
        let (packets, windows) = self.tables.as_mut()?;
        Some((packets.take(), windows.take()))
    }
}

impl Onlooker for Columns {
    fn begin(&mut self, flow: &Flow, _: Option<Duration>) {
        self.tables = Some((Packets::new(flow), Windows::new(flow)));
    }

    fn event(&mut self, event: &Event) {
        if let Some((packets, windows)) = &mut self.tables {
            packets.event(event);
            windows.event(event);
        }
    }
}

/// The packets and the windows of `trace`.
#[must_use]
pub fn columns(trace: &Trace) -> (RecordBatch, RecordBatch) {
    let flow = trace.flow();
    let (mut packets, mut windows) = (Packets::new(&flow), Windows::new(&flow));
    for event in &trace.events {
        packets.event(event);
        windows.event(event);
    }
    (packets.take(), windows.take())
}
