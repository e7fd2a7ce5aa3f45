//! Effective parameters and their sources.

use dupack_algorithms::catalog::dialect::settings;
use dupack_algorithms::catalog::{Axis, Level, Origin, StackSpec};
use dupack_net::link::QueueLimit;
use dupack_net::media::MediaConfig;
use dupack_tcp::time::Duration;

use super::build::{Endpoints, PathRoom, Processing, Scenario};
use crate::experiment::queue::Queueing;
use crate::experiment::{Experiment, LinkOptions, Starts};
use crate::results::Parameter;
use crate::run::Plan;
use crate::units::{ByteCount, Delay, Room};

/// Returns the parameters of an experiment, for the stacks of its first point.
pub(super) fn parameters(
    e: &Experiment,
    scenarios: &[Scenario],
    round_trips: &[Duration],
) -> Vec<Parameter> {
    let mut out = Vec::new();
    run(e, &mut out);
    if let Some(path) = &e.path {
        link("path", "path", path, e, &mut out);
        if let Some(room) = scenarios.first().and_then(Scenario::path_room) {
            path_room(&room, &mut out);
        }
    }
    for (n, options) in e.links.iter().enumerate() {
        let owner = match &options.between {
            Some([a, b]) => format!("link {a} – {b}"),
            None => format!("link {n}"),
        };
        link(&owner, &format!("links.{n}"), options, e, &mut out);
    }
    traffic(e, &mut out);
    let times = round_trips
        .iter()
        .map(|time| Delay::from_nanos(time.as_nanos()).to_string());
    let times: Vec<String> = times.collect();
    if !times.is_empty() {
        push(
            &mut out,
            "flows",
            "round_trips",
            times.join(", "),
            "from the links",
        );
    }
    let mut seen: Vec<&StackSpec> = Vec::new();
    for scenario in scenarios {
        for stack in std::iter::once(&scenario.stack).chain(&scenario.group_stacks) {
            if !seen.contains(&stack) {
                seen.push(stack);
                self::stack(stack, e, &mut out);
                endpoint(stack, e, &mut out);
            }
        }
    }
    out
}

/// Returns the origin of the value at `key`. A value that equals the default counts as the default.
fn origin(e: &Experiment, key: &str, is_default: bool) -> &'static str {
    if e.varies(key) {
        "swept"
    } else if is_default {
        DEFAULT
    } else {
        GIVEN
    }
}

impl Plan {
    /// Replaces the source of the value at `key` (`path.rate`, `sweep.path.loss`) by `source`, if the source is
    /// "given". Callers use this for values that the user did not set.
    #[must_use]
    pub fn not_given(mut self, key: &str, source: &str) -> Self {
        let parameters = self.parameters.iter_mut();
        for p in parameters.filter(|p| p.source == GIVEN && is_of(p, key)) {
            source.clone_into(&mut p.source);
        }
        self
    }
}

const GIVEN: &str = "given";

const DEFAULT: &str = "default";

/// Parameters that are basic even with their defaults, because an experiment cannot be understood without them.
const ESSENTIAL: [&str; 9] = [
    "dialect", "duration", "seeds", "rate", "delay", "loss", "queue", "buffer", "count",
];

/// Returns `true` if `p` is the value at `key` in the file.
fn is_of(p: &Parameter, key: &str) -> bool {
    let below = |owner: &str| {
        let name = key
            .strip_prefix(owner)
            .and_then(|key| key.strip_prefix('.'));
        p.owner == owner && name == Some(&p.name)
    };
    let is_endpoints = p.owner.ends_with(": endpoints");
    p.name == key
        || below("path")
        || below("sweep")
        || is_endpoints && p.name == "segment" && key == "sender.segment"
}

/// Adds a parameter. Defaults are advanced, unless they are essential.
fn push(out: &mut Vec<Parameter>, owner: &str, name: &str, value: String, source: &str) {
    let level = match source == DEFAULT && !ESSENTIAL.contains(&name) {
        true => Level::Advanced,
        false => Level::Basic,
    };
    push_at(level, out, (owner, name), value, source);
}

fn push_at(
    level: Level,
    out: &mut Vec<Parameter>,
    (owner, name): (&str, &str),
    value: String,
    source: &str,
) {
    out.push(Parameter {
        owner: owner.to_owned(),
        name: name.to_owned(),
        value,
        source: source.to_owned(),
        level,
    });
}

fn run(e: &Experiment, out: &mut Vec<Parameter>) {
    let default = Experiment::new(Vec::new());
    let dialect = e.dialect.to_string();
    let seeds: Vec<String> = e.seeds.to_vec().iter().map(u64::to_string).collect();
    for (key, value, is_default) in [
        ("dialect", dialect, e.dialect == default.dialect),
        (
            "duration",
            e.duration.to_string(),
            e.duration == default.duration,
        ),
        (
            "warm_up",
            e.warm_up.to_string(),
            e.warm_up == default.warm_up,
        ),
        ("seeds", seeds.join(" "), e.seeds == default.seeds),
        (
            "starts",
            match e.starts() {
                Starts::Drawn => "drawn by every seed".to_owned(),
                Starts::Given => "given".to_owned(),
            },
            e.starts.is_none(),
        ),
    ] {
        push(out, "run", key, value, origin(e, key, is_default));
    }
    let (processing, source) = match e.processing() {
        Processing::Given(jitter) => (jitter.to_string(), "given"),
        Processing::OnePacket => ("a packet at the bottleneck".to_owned(), "default"),
        Processing::None => ("none".to_owned(), "default"),
    };
    push(out, "run", "processing_jitter", processing, source);
    if let Some(precision) = e.precision {
        push(out, "run", "precision", precision.to_string(), "given");
    }
    if let Some(most) = e.seeds_max {
        push(out, "run", "seeds_max", most.to_string(), "given");
    }
    for (key, values) in &e.sweep {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        push(out, "sweep", key, values.join(", "), "given");
    }
    if !e.points.is_empty() {
        let count = format!("{} points, listed in the file", e.points.len());
        push(out, "points", "count", count, "given");
    }
}

/// Appends the parameters of access links, routes, flows and UDP sources, key by key. Keys that are left out of the
/// file are not listed, except the defaults of real-time media.
fn traffic(e: &Experiment, out: &mut Vec<Parameter>) {
    let all = serde_json::to_value(e).unwrap_or_default();
    for section in ["access", "radio", "routes", "flows", "udp", "media"] {
        if let Some(value) = all.get(section) {
            flatten(e, section, value, section, out);
        }
    }
    for (n, group) in e.flows.iter().enumerate() {
        if group.web.is_some() {
            let key = format!("flows.{n}.web.flows");
            let count = group.flows_in(e).to_string();
            push(out, "flows", &key, count, "from load, sizes and duration");
        }
    }
    media(e, out);
    if e.flows.is_empty() {
        let one = "one bulk flow of the stack under comparison".to_owned();
        push(out, "flows", "count", one, "default");
    }
}

/// Appends the defaults of real-time media.
fn media(e: &Experiment, out: &mut Vec<Parameter>) {
    let default = MediaConfig::new(Vec::new());
    for (n, media) in e.media.iter().enumerate() {
        let mut add = |name: &str, value: String| {
            let key = format!("media.{n}.{name}");
            push(out, "media", &key, value, origin(e, &key, true));
        };
        for (name, given, default) in [
            ("frame", media.frame, default.frame),
            ("report", media.report, default.report),
            ("delay_limit", media.delay_limit, default.delay_limit),
            ("hold", media.hold, default.hold),
            ("deadline", media.deadline, default.deadline),
        ] {
            if given.is_none() {
                add(name, Delay::from_nanos(default.as_nanos()).to_string());
            }
        }
        if media.packet.is_none() {
            add("packet", format!("{}B", default.packet_bytes));
        }
    }
}

/// Appends a row for every value inside `value`, whose path in the file is `key`.
fn flatten(
    e: &Experiment,
    owner: &str,
    value: &serde_json::Value,
    key: &str,
    out: &mut Vec<Parameter>,
) {
    let mut below = |name: &str, value| flatten(e, owner, value, &format!("{key}.{name}"), out);
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| below(name, value));
        }
        serde_json::Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(n, value)| below(&n.to_string(), value));
        }
        leaf => {
            let text = leaf
                .as_str()
                .map_or_else(|| leaf.to_string(), str::to_owned);
            push(out, owner, key, text, origin(e, key, false));
        }
    }
}

/// Appends the parameters that follow from the path's rate, round-trip time and buffer.
fn path_room(room: &PathRoom, out: &mut Vec<Parameter>) {
    let mut add = |name: &str, value: String| {
        push(out, "path", name, value, "from rate, delay and buffer");
    };
    let round_trip = Delay::from_nanos(room.round_trip.as_nanos());
    add("round_trip", round_trip.to_string());
    add("bdp", format!("{}pkt", room.product.packets()));
    let queue = match room.limit {
        QueueLimit::Packets(packets) => format!("{packets}pkt"),
        QueueLimit::Bytes(bytes) => ByteCount::from_bytes(bytes).to_string(),
        QueueLimit::Unlimited => return,
    };
    add("queue_room", queue);
    if let Some(times) = room.times() {
        add("queue_bdp", format!("{times:.2}"));
    }
}

fn link(owner: &str, place: &str, link: &LinkOptions, e: &Experiment, out: &mut Vec<Parameter>) {
    let given = serde_json::to_value(link).unwrap_or_default();
    let default = serde_json::to_value(LinkOptions::default()).unwrap_or_default();
    let mut add = |name: &str, value: String| {
        let is_default = given.get(name) == default.get(name);
        let source = origin(e, &format!("{place}.{name}"), is_default);
        push(out, owner, name, value, source);
    };
    if let Some(rate) = link.rate {
        add("rate", rate.to_string());
    }
    if let Some(trace) = &link.trace {
        add("trace", trace.display().to_string());
    }
    add("delay", link.delay.to_string());
    add("loss", link.loss.to_string());
    if let Some(burst) = &link.burst_loss {
        add(
            "burst_loss",
            format!(
                "enter {} leave {} good {} bad {}",
                burst.enter, burst.leave, burst.good, burst.bad
            ),
        );
    }
    let drop: Vec<String> = link.drop.iter().map(ToString::to_string).collect();
    if !drop.is_empty() {
        add("drop", drop.join(", "));
    }
    if let Some(reorder) = &link.reorder {
        add(
            "reorder",
            format!("{} by {}", reorder.probability, reorder.delay),
        );
    }
    add("duplicate", link.duplicate.to_string());
    add("jitter", link.jitter.to_string());
    add("queue", link.queue.name().to_owned());
    if let Some(red) = &link.red {
        add(
            "red",
            format!(
                "min {} max {} probability {} weight {} gentle {}",
                red.min, red.max, red.probability, red.weight, red.gentle
            ),
        );
    }
    add(
        "loss_placement",
        format!("{:?} the queue", link.loss_placement).to_lowercase(),
    );
    let room = |room: Room| room.to_string();
    let default = || "1bdp, at least 10pkt".to_owned();
    add("buffer", link.buffer.map_or_else(default, room));
    match given.get("reverse") {
        Some(reverse) => {
            // All parameters of the reverse queue are listed below.
            let table = link.reverse.as_ref().and_then(|back| back.queue.table());
            let mut reverse = reverse.clone();
            if let (Some(keys), Some(table)) = (reverse.as_object_mut(), table)
                && table != "red"
            {
                keys.remove(table);
            }
            flatten(e, owner, &reverse, &format!("{place}.reverse"), out);
        }
        None => add("reverse", "as forward, without loss".to_owned()),
    }
    for name in ["changes", "duty", "thin_acks", "overtaking"] {
        if let Some(value) = given.get(name) {
            flatten(e, owner, value, &format!("{place}.{name}"), out);
        }
    }
    let key = format!("{place}.");
    managed(owner, ["", &key], &link.queueing(), e, out);
    if let Some(reverse) = &link.reverse {
        let key = format!("{place}.reverse.");
        managed(owner, [&key, &key], &reverse.queueing(), e, out);
    }
}

/// Appends all parameters of a managed queue, given or default. The first prefix is for the names of the parameters,
/// and the second for their keys in the file.
fn managed(
    owner: &str,
    [name_before, key_before]: [&str; 2],
    queueing: &Queueing,
    e: &Experiment,
    out: &mut Vec<Parameter>,
) {
    let Some((table, effective, default)) = queueing.managed_parameters() else {
        return;
    };
    for (name, value) in effective.as_object().into_iter().flatten() {
        let is_default = default.get(name) == Some(value);
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let source = origin(e, &format!("{key_before}{table}.{name}"), is_default);
        push(
            out,
            owner,
            &format!("{name_before}{table}.{name}"),
            text,
            source,
        );
    }
}

/// Appends the parameters of the stack's algorithms. A given value is always basic.
fn stack(stack: &StackSpec, e: &Experiment, out: &mut Vec<Parameter>) {
    for effective in stack.effective(e.dialect) {
        let owner = format!("{stack}: {} {}", effective.axis.noun(), effective.algorithm);
        if effective.parameters.is_empty() {
            let none = "no parameters".to_owned();
            push_at(Level::Advanced, out, (&owner, "–"), none, "");
        }
        for (spec, value, origin) in effective.parameters {
            let (level, source) = match origin {
                Origin::Given => (Level::Basic, GIVEN),
                Origin::Default => (spec.level, &*spec.source),
            };
            push_at(level, out, (&owner, &spec.name), value.to_string(), source);
        }
        if effective.axis == Axis::Recovery
            && let Some(fallback) = stack.without_sack(e.dialect)
        {
            let source = "on real packets, if the peer declines SACK";
            let name = (&*owner, "without SACK");
            push_at(Level::Advanced, out, name, fallback.to_owned(), source);
        }
    }
}

/// Appends the settings of the stack's endpoints. Only given values are basic.
fn endpoint(stack: &StackSpec, e: &Experiment, out: &mut Vec<Parameter>) {
    let dialect = e.dialect;
    let ends = Endpoints::new(dialect, stack, &e.sender, &e.receiver);
    let owner = format!("{stack}: endpoints");
    let (level, source) = match e.sender.segment {
        Some(_) => (Level::Basic, GIVEN),
        None => (Level::Advanced, "default of the dialect"),
    };
    let segment = format!("{} bytes", ends.sender.smss);
    push_at(level, out, (&owner, "segment"), segment, source);
    for setting in settings(dialect, ends.sender.smss, &stack.needs(dialect)) {
        let name = (&*owner, setting.name);
        push_at(Level::Advanced, out, name, setting.value, setting.source);
    }
    // Options of the file that replace those of the dialect.
    let sender = serde_json::to_value(e.sender).unwrap_or_default();
    let receiver = serde_json::to_value(e.receiver).unwrap_or_default();
    for (side, options) in [("sender", sender), ("receiver", receiver)] {
        for (name, value) in options.as_object().into_iter().flatten() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let key = format!("{side}.{name}");
            push(out, &owner, &key, value, origin(e, &key, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use crate::experiment::load::Source;
    use crate::run::Plan;

    #[test]
    fn replaced_sources_are_not_listed_as_given() {
        let source = Source::new(
            "test",
            "stacks = [\"sack/reno\"]\nseeds = 3\n[path]\nrate = \"1Mbit/s\"\n[access]\n\
             rate = \"10Mbit/s\"\ndelay = \"1ms\"\n[sender]\nsegment = \"1000B\"\n[sweep]\n\
             \"path.loss\" = [\"0%\", \"1%\"]\n",
        );
        let mut plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let sources = |plan: &Plan| {
            let parameters = plan.empty_results().parameters;
            let given = parameters.iter().filter(|p| p.source == "given");
            let given = given.map(|p| p.name.clone()).collect::<Vec<_>>();
            let built_in = parameters.iter().filter(|p| p.source == "built in");
            (given, built_in.count())
        };
        let all = [
            "seeds",
            "path.loss",
            "rate",
            "access.delay",
            "access.rate",
            "segment",
            "sender.segment",
        ];
        let (mut given, none) = sources(&plan);
        given.sort_unstable();
        let mut expected = all.to_vec();
        expected.sort_unstable();
        assert_eq!(
            (given, none),
            (expected.iter().map(ToString::to_string).collect(), 0)
        );
        for key in [
            "seeds",
            "sweep.path.loss",
            "path.rate",
            "access.delay",
            "sender.segment",
        ] {
            plan = plan.not_given(key, "built in");
        }
        assert_eq!(sources(&plan), (vec!["access.rate".to_owned()], 6));
    }

    #[test]
    fn every_value_is_listed_as_default_given_or_swept() {
        let source = Source::new(
            "test",
            "stacks = [\"sack/reno\"]\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n\
                   loss = \"1%\"\n[links.reverse]\nloss = \"2%\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n\
                   count = 3\n[sweep]\n\"links.0.delay\" = [\"1ms\", \"2ms\"]\n",
        );
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let parameters = plan.empty_results().parameters;
        let found = |name: &str| {
            let hit = parameters.iter().find(|p| p.name == name);
            hit.map(|p| (p.value.as_str(), p.source.as_str()))
        };
        assert_eq!(found("loss"), Some(("1%", "given")));
        assert_eq!(found("duplicate"), Some(("0%", "default")));
        assert_eq!(found("buffer"), Some(("1bdp, at least 10pkt", "default")));
        assert_eq!(found("duration"), Some(("60s", "default")));
        assert_eq!(found("delay").map(|(_, source)| source), Some("swept"));
        assert_eq!(found("links.0.reverse.loss"), Some(("2%", "given")));
        assert_eq!(found("flows.0.count"), Some(("3", "given")));
    }
}
