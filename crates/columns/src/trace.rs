//! A trace as columns: the contents of `packets.csv` and `windows.csv` as numbers.
//!
//! [`Packets`] and [`Windows`] take the events of a flow as they happen. [`Columns`] combines both and implements
//! [`Onlooker`]: [`follow`](dupack_lab::trace::stream::follow) passes the events of a run of any length to it.

mod packets;
mod windows;

use arrow_array::RecordBatch;
use dupack_lab::trace::stream::Onlooker;
use dupack_lab::trace::{Event, Flow, Trace};
use dupack_tcp::time::Duration;

pub use packets::Packets;
pub use windows::Windows;

/// Builder of the packets and windows of one flow.
#[derive(Debug, Default)]
pub struct Columns {
    tables: Option<(Packets, Windows)>,
}

impl Columns {
    /// Returns the packets and the windows as two batches and empties both tables; `None` if the flow has had no
    /// events.
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

/// Returns the packets and the windows of `trace`.
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
