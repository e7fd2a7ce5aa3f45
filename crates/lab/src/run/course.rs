//! State of one flow over time at a high resolution: window, slow-start threshold, bandwidth estimate, delivered data.

use super::build::Built;

/// State of the first compared flow of a run over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Samples at regular intervals, in order of time.
    pub moments: Vec<Moment>,
}

/// State of a flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Time since the start of the run, in seconds.
    pub at: f64,
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Slow-start threshold in segments. Infinite until it is set.
    pub ssthresh: f64,
    /// Bandwidth estimate of the congestion control in Mbit/s, if it has one.
    pub estimate: Option<f64>,
    /// Data delivered in order so far, in megabits.
    pub delivered: f64,
}

impl Course {
    /// Returns a CSV file with one line per moment. Unknown values are left empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "time_s,cwnd_segments,ssthresh_segments,bandwidth_estimate_mbit_s,delivered_mbit\n",
        );
        let text = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
        for m in &self.moments {
            let ssthresh = Some(m.ssthresh).filter(|ssthresh| ssthresh.is_finite());
            out.push_str(&format!(
                "{},{},{},{},{}\n",
                m.at,
                m.cwnd,
                text(ssthresh),
                text(m.estimate),
                m.delivered
            ));
        }
        out
    }

    pub(super) fn of(built: &Built) -> Self {
        let samples = built.simulation.samples();
        let Some((id, series)) = samples.and_then(|samples| samples.flows().first()) else {
            return Self::default();
        };
        let smss = built
            .simulation
            .tcp(*id)
            .map_or(1.0, |flow| f64::from(flow.sender().config().smss));
        let megabits = |bytes: f64| bytes * 8.0 / 1e6;
        let moments = series.samples().iter().map(|sample| Moment {
            at: sample.at.as_secs_f64(),
            cwnd: sample.value.cwnd / smss,
            ssthresh: sample.value.ssthresh / smss,
            estimate: sample.value.bandwidth_estimate.map(megabits),
            delivered: megabits(sample.value.delivered_bytes as f64),
        });
        Self {
            moments: moments.collect(),
        }
    }
}
