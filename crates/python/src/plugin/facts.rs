//! Arguments that are valid only during a call: an ACK, a transmission, the view of the sender.
//!
//! The objects are reused, because a congestion control receives millions of ACKs: each call fills them with new values
//! ([`reused`](super::reused)). After the call the objects are invalid: an attempt to read one raises an exception. The
//! objects contain plain numbers. Times are in seconds; the attribute of the same name with the suffix `_ns` has the
//! exact value in nanoseconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use dupack_tcp::congestion;
use dupack_tcp::facts::{self, AckKind, LimitedBy};
use dupack_tcp::scoreboard;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::board::{Call, Scoreboard, round_trips};
use super::failure::stale;
use super::reasons::SendReason;
use super::values::{Delivered, RttEstimator, Segment, Window, WindowUse, seconds};
use super::words::Word;

/// An argument that is valid only during a call.
pub trait Fact {
    /// Type of the Rust value that the fact shows.
    type About<'a>: Copy;

    /// Fills the fact from `about`. The fact is valid until `call` ends.
    fn fill(&self, call: Call, about: Self::About<'_>);

    /// Invalidates the fact.
    fn end(&self);
}

/// A number that is set in each call.
#[derive(Debug, Default)]
struct Slot(AtomicU64);

/// Marks a missing number. No time, size or count reaches this value.
const NOTHING: u64 = u64::MAX;

impl Slot {
    fn put(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn put_real(&self, number: f64) {
        self.put(number.to_bits());
    }

    fn real(&self) -> f64 {
        f64::from_bits(self.get())
    }

    fn put_some(&self, number: Option<u64>) {
        self.put(number.unwrap_or(NOTHING));
    }

    fn some(&self) -> Option<u64> {
        Some(self.get()).filter(|number| *number != NOTHING)
    }

    /// Returns the number, which is in nanoseconds, in seconds.
    fn seconds(&self) -> f64 {
        seconds(Duration::from_nanos(self.get()))
    }

    fn some_seconds(&self) -> Option<f64> {
        self.some()
            .map(|nanos| seconds(Duration::from_nanos(nanos)))
    }

    fn put_word<W: Word>(&self, word: W) {
        let place = W::ALL.iter().position(|(known, _)| *known == word);
        self.put_some(place.map(|place| place as u64));
    }

    fn word<W: Word>(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // An index past the end stands for a word that this build does not know. `member` raises an exception for it.
        let place = self.get() as usize;
        W::ALL[place.min(W::ALL.len() - 1)].0.member(py)
    }
}

/// Number of the call in progress, or 0 if there is none.
#[derive(Debug, Default)]
struct Life(Slot);

impl Life {
    fn begin(&self, call: Call) {
        self.0.put(call.0);
    }

    fn end(&self) {
        self.0.put(0);
    }

    #[inline(always)]
    fn check(&self, what: &'static str) -> PyResult<Call> {
        match self.0.get() {
            0 => Err(stale(what)),
            call => Ok(Call(call)),
        }
    }
}

/// Defines getters that are valid only during the call.
macro_rules! told {
    ($class:ident {
        $($name:ident: $type:ty = |$fact:ident| $value:expr;)*
    } also {
        $($more:tt)*
    }) => {
        #[pymethods]
        impl $class {
            $(
                #[getter]
                fn $name(&self) -> PyResult<$type> {
                    self.life.check(stringify!($class))?;
                    let $fact = self;
                    Ok($value)
                }
            )*

            $($more)*

            fn __repr__(&self) -> &'static str {
                match self.life.check(stringify!($class)) {
                    Ok(_) => concat!("<", stringify!($class), ">"),
                    Err(_) => concat!("<", stringify!($class), " of a call that has ended>"),
                }
            }
        }

    };
}

/// Read-only view of the sender.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Default)]
pub struct View {
    life: Life,
    now: Slot,
    cwnd: Slot,
    ssthresh: Slot,
    rto_at: Slot,
    new_len: Slot,
    flight_size: Slot,
}

impl Fact for View {
    type About<'a> = &'a facts::View<'a>;

    fn fill(&self, call: Call, view: Self::About<'_>) {
        self.life.begin(call);
        self.now.put(view.now.as_nanos());
        self.cwnd.put_real(view.window.cwnd);
        self.ssthresh.put_real(view.window.ssthresh);
        self.rto_at.put_some(view.rto_at.map(Instant::as_nanos));
        self.new_len.put(u64::from(view.new_len));
        self.flight_size.put(view.flight_size());
    }

    fn end(&self) {
        self.life.end();
    }
}

told! {
    View {
        now: f64 = |view| view.now.seconds();
        now_ns: u64 = |view| view.now.get();
        window: Window = |view| Window(window::Window {
            cwnd: view.cwnd.real(),
            ssthresh: view.ssthresh.real(),
        });
        rto_at: Option<f64> = |view| view.rto_at.some_seconds();
        rto_at_ns: Option<u64> = |view| view.rto_at.some();
        new_len: u64 = |view| view.new_len.get();
        flight_size: u64 = |view| view.flight_size.get();
    } also {
        #[getter]
        fn scoreboard(&self) -> PyResult<Scoreboard> {
            Ok(Scoreboard::of(self.life.check("View")?))
        }

        #[getter]
        fn rtt(&self) -> PyResult<RttEstimator> {
            round_trips(self.life.check("View")?)
        }
    }
}

/// Limit of the window's growth on an ACK.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Default)]
pub struct Credit {
    life: Life,
    acks: Slot,
    bytes: Slot,
    in_flight: Slot,
    lost_bytes: Slot,
}

impl Fact for Credit {
    type About<'a> = congestion::Credit;

    fn fill(&self, call: Call, credit: Self::About<'_>) {
        self.life.begin(call);
        self.acks.put(u64::from(credit.acks));
        self.bytes.put(credit.bytes);
        self.in_flight.put_some(credit.in_flight);
        self.lost_bytes.put_some(credit.lost_bytes);
    }

    fn end(&self) {
        self.life.end();
    }
}

told! {
    Credit {
        acks: u64 = |credit| credit.acks.get();
        bytes: u64 = |credit| credit.bytes.get();
        in_flight: Option<u64> = |credit| credit.in_flight.some();
        lost_bytes: Option<u64> = |credit| credit.lost_bytes.some();
    } also {}
}

/// State of the sender at a transmission.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Default)]
pub struct Departure {
    life: Life,
    in_flight: Slot,
    lost_bytes: Slot,
    limited_by: Slot,
}

impl Fact for Departure {
    type About<'a> = facts::Departure;

    fn fill(&self, call: Call, departure: Self::About<'_>) {
        self.life.begin(call);
        self.in_flight.put(departure.in_flight);
        self.lost_bytes.put(departure.lost_bytes);
        self.limited_by.put_word(departure.limited_by);
    }

    fn end(&self) {
        self.life.end();
    }
}

told! {
    Departure {
        in_flight: u64 = |departure| departure.in_flight.get();
        lost_bytes: u64 = |departure| departure.lost_bytes.get();
    } also {
        #[getter]
        fn limited_by(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            self.life.check("Departure")?;
            self.limited_by.word::<LimitedBy>(py)
        }
    }
}

/// A segment that has just been sent.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Default)]
pub struct Sent {
    life: Life,
    sent: Mutex<Option<facts::Sent>>,
}

impl Fact for Sent {
    type About<'a> = &'a facts::Sent;

    fn fill(&self, call: Call, sent: Self::About<'_>) {
        self.life.begin(call);
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(*sent);
    }

    fn end(&self) {
        self.life.end();
    }
}

impl Sent {
    fn ask<T>(&self, ask: impl FnOnce(&facts::Sent) -> T) -> PyResult<T> {
        self.life.check("Sent")?;
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.as_ref().map(ask).ok_or_else(|| stale("Sent"))
    }
}

told! {
    Sent {} also {
        #[getter]
        fn id(&self) -> PyResult<u64> {
            self.ask(|sent| sent.id.0)
        }

        #[getter]
        fn segment(&self) -> PyResult<Segment> {
            self.ask(|sent| Segment(sent.segment))
        }

        #[getter]
        fn timestamp(&self) -> PyResult<Option<u32>> {
            self.ask(|sent| sent.timestamp)
        }

        #[getter]
        fn why(&self) -> PyResult<SendReason> {
            self.ask(|sent| SendReason(sent.why))
        }
    }
}

/// Data of one ACK.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Default)]
pub struct AckFacts {
    life: Life,
    now: Slot,
    una: Slot,
    acked_bytes: Slot,
    delivered_bytes: Slot,
    sacked_bytes: Slot,
    kind: Slot,
    dup_acks: Slot,
    dsack_start: Slot,
    dsack_end: Slot,
    prior_flight: Slot,
    prior_flight_unlimited: Slot,
    prior_in_flight: Slot,
    rtt: Slot,
    timestamp_echo: Slot,
    order_echo: Slot,
    limited_by: Slot,
    ecn_echo: Slot,
    marked_packets: Slot,
    flight_max: Slot,
    delivered: Mutex<Vec<scoreboard::Delivered>>,
}

impl Fact for AckFacts {
    type About<'a> = &'a facts::AckFacts<'a>;

    fn fill(&self, call: Call, ack: Self::About<'_>) {
        self.life.begin(call);
        self.now.put(ack.now.as_nanos());
        self.una.put(ack.una);
        self.acked_bytes.put(ack.acked_bytes);
        self.delivered_bytes.put(ack.delivered_bytes);
        self.sacked_bytes.put(ack.sacked_bytes);
        self.kind.put_word(ack.kind);
        self.dup_acks.put(u64::from(ack.dup_acks));
        self.dsack_start.put_some(ack.dsack.map(|(start, _)| start));
        self.dsack_end.put_some(ack.dsack.map(|(_, end)| end));
        self.prior_flight.put(ack.prior_flight);
        self.prior_flight_unlimited.put(ack.prior_flight_unlimited);
        self.prior_in_flight.put_some(ack.prior_in_flight);
        self.rtt.put_some(ack.rtt.map(Duration::as_nanos));
        self.timestamp_echo
            .put_some(ack.timestamp_echo.map(u64::from));
        self.order_echo.put_some(ack.order_echo);
        self.limited_by.put_word(ack.limited_by);
        self.ecn_echo.put(u64::from(ack.ecn_echo.is_set()));
        self.marked_packets.put_some(ack.marked_packets);
        self.flight_max.put_some(match ack.window_use {
            facts::WindowUse::Filled => None,
            facts::WindowUse::Partly { flight_max } => Some(flight_max),
        });
        let mut delivered = self
            .delivered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        delivered.clear();
        delivered.extend_from_slice(ack.delivered);
    }

    fn end(&self) {
        self.life.end();
    }
}

impl AckFacts {
    fn copied(&self) -> Vec<scoreboard::Delivered> {
        let delivered = self.delivered.lock();
        delivered.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

told! {
    AckFacts {
        now: f64 = |ack| ack.now.seconds();
        now_ns: u64 = |ack| ack.now.get();
        una: u64 = |ack| ack.una.get();
        acked_bytes: u64 = |ack| ack.acked_bytes.get();
        delivered_bytes: u64 = |ack| ack.delivered_bytes.get();
        sacked_bytes: u64 = |ack| ack.sacked_bytes.get();
        dup_acks: u64 = |ack| ack.dup_acks.get();
        dsack: Option<(u64, u64)> = |ack| ack.dsack_start.some().zip(ack.dsack_end.some());
        prior_flight: u64 = |ack| ack.prior_flight.get();
        prior_flight_unlimited: u64 = |ack| ack.prior_flight_unlimited.get();
        prior_in_flight: Option<u64> = |ack| ack.prior_in_flight.some();
        rtt: Option<f64> = |ack| ack.rtt.some_seconds();
        rtt_ns: Option<u64> = |ack| ack.rtt.some();
        timestamp_echo: Option<u64> = |ack| ack.timestamp_echo.some();
        order_echo: Option<u64> = |ack| ack.order_echo.some();
        ecn_echo: bool = |ack| ack.ecn_echo.get() != 0;
        marked_packets: Option<u64> = |ack| ack.marked_packets.some();
        window_use: WindowUse = |ack| WindowUse::of(ack.flight_max.some());
    } also {
        #[getter]
        fn kind(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            self.life.check("AckFacts")?;
            self.kind.word::<AckKind>(py)
        }

        #[getter]
        fn limited_by(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            self.life.check("AckFacts")?;
            self.limited_by.word::<LimitedBy>(py)
        }

        /// The segments that this ACK reported as delivered for the first time.
        #[getter]
        fn delivered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
            self.life.check("AckFacts")?;
            // Release the lock before creating Python objects, because their creation may run any code.
            let delivered = self.copied();
            PyTuple::new(py, delivered.into_iter().map(Delivered))
        }
    }
}
