//! Invalid real-time media.

use super::fail;
use crate::experiment::Experiment;
use crate::experiment::load::{ExperimentError, Source};

/// Maximum number of sources in a group.
const MOST_SOURCES: u32 = 10_000;

/// Checks every media source of the experiment.
pub(super) fn sources(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    for (n, media) in e.media.iter().enumerate() {
        let key = |name: &str| format!("media.{n}.{name}");
        if media.rates.is_empty() {
            let message = "media without a rate sends nothing".to_owned();
            let help = "for example rates = [\"150kbit/s\", \"500kbit/s\", \"1.5Mbit/s\"]";
            return fail(source, &key("rates"), message, help);
        }
        if let Some(at) = media.rates.windows(2).position(|pair| pair[0] >= pair[1]) {
            let message = "the rates are not ascending".to_owned();
            let help = "each rate must be above the previous one";
            return fail(source, &key(&format!("rates.{}", at + 1)), message, help);
        }
        if media.count > MOST_SOURCES {
            let message = format!("a run cannot hold {} media sources", media.count);
            return fail(source, &key("count"), message, "at most 10000");
        }
        let packet = media.packet.map_or(1200, |packet| packet.as_bytes());
        if !(50..=65_000).contains(&packet) {
            let message = format!("a media packet cannot have {packet} bytes");
            return fail(source, &key("packet"), message, "50B to 65000B");
        }
        for (name, span) in [("frame", media.frame), ("report", media.report)] {
            if span.is_some_and(|span| span.as_nanos() < 100_000) {
                let message = "the interval is too short".to_owned();
                return fail(source, &key(name), message, "at least \"0.1ms\"");
            }
        }
        if media
            .stop
            .is_some_and(|stop| stop <= media.start.unwrap_or_default())
        {
            let message = "it stops before it starts".to_owned();
            return fail(source, &key("stop"), message, "");
        }
        if e.path.is_some() && (media.from.is_some() || media.to.is_some()) {
            let message = "on a [path], media runs from the senders to the receivers".to_owned();
            let help = "remove `from` and `to`; `reverse = true` reverses the direction";
            return fail(source, &key("from"), message, help);
        }
        if e.path.is_none() && media.reverse {
            let message = "in a topology, `from` and `to` give the direction".to_owned();
            return fail(source, &key("reverse"), message, "exchange `from` and `to`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::run::Plan;

    #[test]
    fn invalid_media_is_located() {
        for (lines, part) in [
            ("rates = []", "sends nothing"),
            ("rates = [\"1Mbit/s\", \"1Mbit/s\"]", "not ascending"),
            ("rates = [\"0bit/s\"]", "above zero"),
            ("rates = [\"1Mbit/s\"]\npacket = \"10B\"", "50B to 65000B"),
            ("rates = [\"1Mbit/s\"]\nframe = \"1us\"", "0.1ms"),
            ("rates = [\"1Mbit/s\"]\nstop = \"0s\"", "stops before"),
            ("rates = [\"1Mbit/s\"]\nfrom = \"a\"", "`reverse = true`"),
            ("rates = [\"1Mbit/s\"]\ncount = 10001", "at most 10000"),
        ] {
            let text = format!(
                "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n[[media]]\n{lines}\n"
            );
            let source = Source::new("test.toml", text);
            let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
            let Err(ExperimentError::Invalid(complaint)) = plan else {
                panic!("{lines} is accepted");
            };
            assert!(complaint.at.is_some(), "{lines}: {complaint}");
            let error = format!(
                "{complaint} {}",
                complaint.help.as_deref().unwrap_or_default()
            );
            assert!(error.contains(part), "{lines}: {error}");
        }
    }
}
