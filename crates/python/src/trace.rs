//! Packet trace of a flow.

use arrow_array::RecordBatch;
use dupack_columns::trace::Columns;
use dupack_lab::run::{Job, Role};
use dupack_lab::trace::stream::{Account, StreamError, follow};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::plan::Plan;
use crate::plugin::given_up;
use crate::supervise::{Place, supervised};
use crate::table::Table;

/// Packet trace of a flow.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Trace {
    account: Account,
    packets: RecordBatch,
    windows: RecordBatch,
}

impl Plan {
    /// Traces one flow of a run. `flow` is counted from 0; the default is the first flow of the stack under comparison.
    pub fn follow(&self, py: Python<'_>, job: Job, flow: Option<usize>) -> PyResult<Trace> {
        let plan = &self.0.plan;
        let scenario = plan.scenario(job);
        let all = scenario.tcp_flows();
        let flows = all.len();
        let own = all.iter().position(|flow| flow.role == Role::Compared);
        let flow = flow.or(own).unwrap_or_default();
        if flow >= flows {
            let message = format!("no flow {flow}: flows are numbered 0 to {}", flows - 1);
            return Err(exception(
                py,
                "ExperimentError",
                &message,
                &[("field", Some("flow".to_owned()))],
            ));
        }
        let place = Place::of_plan(plan);
        let ended = supervised(py, (place, 1), None, |_, interrupt| {
            let mut columns = Columns::default();
            let account = follow(&scenario, (job.seed, flow), &mut columns, interrupt)?;
            Ok::<_, StreamError>((account, columns.take()))
        })?;
        if let Some(by) = ended.by {
            return Err(by);
        }
        given_up(py, ended.given_up)?;
        let failed = |message: String| exception(py, "DupackError", &message, &[]);
        let (account, columns) = ended.made.map_err(|error| failed(error.to_string()))?;
        let columns = columns.ok_or_else(|| failed("the flow has no events".to_owned()))?;
        Ok(Trace {
            account,
            packets: columns.0,
            windows: columns.1,
        })
    }
}

#[pymethods]
impl Trace {
    /// The stack, in its canonical spelling.
    #[getter]
    fn stack(&self) -> String {
        self.account.stack.clone()
    }

    /// The end of the run, in seconds.
    #[getter]
    fn end(&self) -> f64 {
        self.account.end.as_secs_f64()
    }

    /// The number of stream bytes that were received in order by the end.
    #[getter]
    const fn delivered_bytes(&self) -> u64 {
        self.account.delivered_bytes
    }

    /// The counters of the sender at the end, by name.
    #[getter]
    fn stats(&self) -> Vec<(&'static str, u64)> {
        let stats = &self.account.stats;
        vec![
            ("segments_sent", stats.segments_sent),
            ("retransmissions", stats.retransmissions),
            ("timeouts", stats.timeouts),
            ("loss_events", stats.loss_events),
            ("recoveries", stats.recoveries),
            ("undone", stats.undone()),
        ]
    }

    /// Returns the table of packets, with one row per event.
    fn packets(&self) -> Table {
        Table(self.packets.clone())
    }

    /// Returns the table of window, threshold, flight size and round-trip time, with one row per change.
    fn windows(&self) -> Table {
        Table(self.windows.clone())
    }
}
