//! Checks, before anything runs, that a card can be compared with its baseline.

use crate::campaign::Campaign;
use crate::card::Card;
use crate::error::EvaluationError;

impl Campaign<'_> {
    /// Checks that the card of this campaign can be compared with `baseline`: the campaign has one stack, the baseline
    /// has the same extent and at least one of the same criteria, and no runs of the baseline are missing.
    ///
    /// # Errors
    /// If they cannot be compared.
    pub fn suits(&self, baseline: &Card) -> Result<(), EvaluationError> {
        let asked: Vec<_> = self.keys().collect();
        let [asked] = &asked[..] else {
            return Err(EvaluationError::SeveralCards { cards: asked.len() });
        };
        let extent = self.extent().name();
        if baseline.extent != extent {
            return Err(EvaluationError::OtherExtent {
                held: baseline.extent.clone(),
                wanted: extent.to_owned(),
            });
        }
        if !asked.iter().any(|key| baseline.row(key).is_some()) {
            return Err(EvaluationError::NothingInCommon);
        }
        match baseline.missing {
            0 => Ok(()),
            missing => Err(EvaluationError::Unfinished { missing }),
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::suite::{Extent, Suite};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Returns the error for a quick look at `stacks` if the baseline has this key and extent and `missing` missing
    /// runs.
    fn fault(stacks: &[&str], key: &str, extent: &str, missing: usize) -> Option<String> {
        let (suite, catalog) = (Suite::builtin(), Catalog::builtin());
        let keys = words(&["full-backoff"]);
        let stacks = words(stacks);
        let campaign = Campaign::new(&suite, (&stacks, &catalog), &keys, Extent::Quick).unwrap();
        let row = format!(
            r#"{{"section":"","heading":"","key":"{key}","title":"","verdict":"meets","found":""}}"#
        );
        let card = format!(
            r#"{{"stack":"x","extent":"{extent}","seed_set":1,"version":"","missing":{missing},"rows":[{row}]}}"#
        );
        let card = Card::read("x", &card).unwrap().remove(0);
        campaign.suits(&card).err().map(|error| error.to_string())
    }

    #[test]
    fn a_baseline_that_says_nothing_is_refused_before_anything_runs() {
        let one = ["rack/reno"];
        assert_eq!(fault(&one, "full-backoff", "quick", 0), None);
        for (fault, words) in [
            (fault(&one, "full-backoff", "full", 0), "is a full card"),
            (fault(&one, "harm-reno", "quick", 0), "none of the criteria"),
            (fault(&one, "full-backoff", "quick", 3), "3 of its runs"),
            (
                fault(&["rack/reno", "rack/bbr"], "full-backoff", "quick", 0),
                "there are 2",
            ),
        ] {
            let fault = fault.unwrap_or_default();
            assert!(fault.contains(words), "{words}: {fault}");
        }
    }
}
