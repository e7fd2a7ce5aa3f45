//! Objects that Python code may keep: copies of the state at the time of the call.

use dupack_algorithms::catalog;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{facts, rtt, scoreboard, window};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::reasons::LossRule;
use super::words::Word;

/// Converts a duration to seconds.
pub fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// Properties of a connection. The numbers are Python objects that are created once, because a congestion control reads
/// them at every ACK and the interpreter reads such an attribute without a method call.
#[pyclass(frozen, get_all, module = "dupack._native")]
#[derive(Debug)]
pub struct Context {
    smss: Py<PyInt>,
    seed: Py<PyInt>,
}

impl Context {
    pub fn of(py: Python<'_>, context: &catalog::Context) -> PyResult<Self> {
        Self::new(py, context.smss, context.seed)
    }
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (smss=1460, seed=0))]
    fn new(py: Python<'_>, smss: u32, seed: u64) -> PyResult<Self> {
        Ok(Self {
            smss: smss.into_pyobject(py)?.unbind(),
            seed: seed.into_pyobject(py)?.unbind(),
        })
    }

    fn __repr__(&self) -> String {
        format!("Context(smss={}, seed={})", self.smss, self.seed)
    }
}

/// Congestion window and slow start threshold, in bytes.
#[pyclass(frozen, freelist = 64, module = "dupack._native")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window(pub window::Window);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (cwnd, ssthresh=f64::INFINITY))]
    const fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self(window::Window { cwnd, ssthresh })
    }

    #[getter]
    const fn cwnd(&self) -> f64 {
        self.0.cwnd
    }

    #[getter]
    const fn ssthresh(&self) -> f64 {
        self.0.ssthresh
    }

    /// `true` if the next increase belongs to slow start.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    /// The congestion window, rounded down to whole bytes.
    #[getter]
    fn whole_bytes(&self) -> u64 {
        self.0.whole_bytes()
    }

    /// Returns a copy with a different `cwnd` or `ssthresh`.
    #[pyo3(signature = (*, cwnd=None, ssthresh=None))]
    fn replace(&self, cwnd: Option<f64>, ssthresh: Option<f64>) -> Self {
        Self::new(
            cwnd.unwrap_or(self.0.cwnd),
            ssthresh.unwrap_or(self.0.ssthresh),
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self == other
    }

    fn __hash__(&self) -> u64 {
        self.0.cwnd.to_bits() ^ self.0.ssthresh.to_bits().rotate_left(32)
    }

    fn __repr__(&self) -> String {
        format!(
            "Window(cwnd={:?}, ssthresh={:?})",
            self.0.cwnd, self.0.ssthresh
        )
    }

    const fn __getnewargs__(&self) -> (f64, f64) {
        (self.0.cwnd, self.0.ssthresh)
    }
}

/// Usage of the congestion window during a flight.
#[pyclass(frozen, get_all, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct WindowUse {
    filled: bool,
    flight_max: Option<u64>,
}

impl WindowUse {
    pub const fn of(flight_max: Option<u64>) -> Self {
        Self {
            filled: flight_max.is_none(),
            flight_max,
        }
    }
}

#[pymethods]
impl WindowUse {
    fn __repr__(&self) -> String {
        match self.flight_max {
            None => "<WindowUse: filled>".to_owned(),
            Some(bytes) => format!("<WindowUse: partly, at most {bytes} bytes>"),
        }
    }
}

/// Copy of the sender's record of an outstanding segment.
#[pyclass(frozen, freelist = 64, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct Segment(pub scoreboard::Segment);

#[pymethods]
impl Segment {
    #[getter]
    const fn start(&self) -> u64 {
        self.0.start
    }

    #[getter]
    const fn len(&self) -> u32 {
        self.0.len
    }

    #[getter]
    const fn end(&self) -> u64 {
        self.0.end()
    }

    #[getter]
    const fn transmissions(&self) -> u32 {
        self.0.transmissions
    }

    #[getter]
    fn sent_at(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }

    #[getter]
    const fn sent_at_ns(&self) -> u64 {
        self.0.sent_at.as_nanos()
    }

    #[getter]
    const fn order(&self) -> u64 {
        self.0.order
    }

    #[getter]
    fn reported(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.0.reported.member(py)
    }

    /// `true` if a SACK block covers the segment.
    #[getter]
    fn is_sacked(&self) -> bool {
        self.0.reported == scoreboard::Reported::Sacked
    }

    fn __repr__(&self) -> String {
        let Self(segment) = self;
        let reported = match segment.reported {
            scoreboard::Reported::Missing => "missing",
            scoreboard::Reported::Sacked => "sacked",
        };
        format!(
            "<Segment {}..{}: sent {} times, last at {} s, {reported}>",
            segment.start,
            segment.end(),
            segment.transmissions,
            segment.sent_at.as_secs_f64(),
        )
    }
}

/// A segment that an ACK reported as delivered for the first time.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct Delivered(pub scoreboard::Delivered);

#[pymethods]
impl Delivered {
    #[getter]
    const fn id(&self) -> u64 {
        self.0.id.0
    }

    #[getter]
    const fn segment(&self) -> Segment {
        Segment(self.0.segment)
    }

    #[getter]
    fn by(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.0.by.member(py)
    }

    fn __repr__(&self) -> String {
        format!("<Delivered {}: {}>", self.0.id.0, self.segment().__repr__())
    }
}

/// Copy of the round-trip times and the timeout.
#[pyclass(frozen, freelist = 16, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    min: Option<Duration>,
    latest: Option<Duration>,
    backoff: u32,
    rto: Duration,
}

impl RttEstimator {
    pub fn of(rtt: &rtt::RttEstimator) -> Self {
        Self {
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            min: rtt.min(),
            latest: rtt.latest(),
            backoff: rtt.backoff(),
            rto: rtt.rto(),
        }
    }
}

#[pymethods]
impl RttEstimator {
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.srtt.map(seconds)
    }

    #[getter]
    fn srtt_ns(&self) -> Option<u64> {
        self.srtt.map(Duration::as_nanos)
    }

    #[getter]
    fn rttvar(&self) -> f64 {
        seconds(self.rttvar)
    }

    #[getter]
    const fn rttvar_ns(&self) -> u64 {
        self.rttvar.as_nanos()
    }

    #[getter]
    fn min(&self) -> Option<f64> {
        self.min.map(seconds)
    }

    #[getter]
    fn min_ns(&self) -> Option<u64> {
        self.min.map(Duration::as_nanos)
    }

    #[getter]
    fn latest(&self) -> Option<f64> {
        self.latest.map(seconds)
    }

    #[getter]
    fn latest_ns(&self) -> Option<u64> {
        self.latest.map(Duration::as_nanos)
    }

    #[getter]
    const fn backoff(&self) -> u32 {
        self.backoff
    }

    #[getter]
    fn rto(&self) -> f64 {
        seconds(self.rto)
    }

    #[getter]
    const fn rto_ns(&self) -> u64 {
        self.rto.as_nanos()
    }

    fn __repr__(&self) -> String {
        let srtt = self
            .srtt
            .map_or_else(|| "none".to_owned(), |srtt| srtt.to_string());
        format!("<RttEstimator: srtt {srtt}, rto {}>", self.rto)
    }
}

/// A loss event.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct LossFacts(pub facts::LossFacts);

#[pymethods]
impl LossFacts {
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    #[getter]
    const fn now_ns(&self) -> u64 {
        self.0.now.as_nanos()
    }

    #[getter]
    const fn segment(&self) -> Segment {
        Segment(self.0.segment)
    }

    #[getter]
    const fn rule(&self) -> LossRule {
        LossRule(self.0.rule)
    }

    #[getter]
    const fn flight_size(&self) -> u64 {
        self.0.flight_size
    }

    #[getter]
    const fn window(&self) -> Window {
        Window(self.0.window)
    }

    #[getter]
    const fn timeouts(&self) -> u32 {
        self.0.timeouts
    }

    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.0.srtt.map(seconds)
    }

    #[getter]
    fn srtt_ns(&self) -> Option<u64> {
        self.0.srtt.map(Duration::as_nanos)
    }

    #[getter]
    fn rtt_min(&self) -> Option<f64> {
        self.0.rtt_min.map(seconds)
    }

    #[getter]
    fn rtt_min_ns(&self) -> Option<u64> {
        self.0.rtt_min.map(Duration::as_nanos)
    }

    #[getter]
    fn rtt_latest(&self) -> Option<f64> {
        self.0.rtt_latest.map(seconds)
    }

    #[getter]
    fn rtt_latest_ns(&self) -> Option<u64> {
        self.0.rtt_latest.map(Duration::as_nanos)
    }

    #[getter]
    const fn hole(&self) -> u32 {
        self.0.hole
    }

    #[getter]
    fn reduced_at(&self) -> Option<f64> {
        self.0.reduced_at.map(Instant::as_secs_f64)
    }

    #[getter]
    fn reduced_at_ns(&self) -> Option<u64> {
        self.0.reduced_at.map(Instant::as_nanos)
    }

    /// The real cause of the loss, if the experiment reveals it to the differentiation. A real sender never knows the
    /// cause.
    #[getter]
    fn truth(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.truth.map(|truth| truth.member(py)).transpose()
    }

    /// The FlightSize, limited to the window, in bytes. RFC 5681 §3.1 halves this value.
    #[getter]
    fn flight_within_window(&self) -> f64 {
        self.0.flight_within_window()
    }

    fn __repr__(&self) -> String {
        format!(
            "<LossFacts at {} s: {}, {}>",
            self.0.now.as_secs_f64(),
            self.0.rule,
            self.segment().__repr__(),
        )
    }
}
