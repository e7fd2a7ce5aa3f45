//! Density of the factor by which a loss reduces the window, for each control.

use super::*;

/// Returns the area under `density` between two points, with a step of 0.001.
fn area(from: f64, to: f64, density: impl Fn(f64) -> f64) -> f64 {
    let steps = ((to - from) * 1000.0) as u32;
    let at = |step: u32| from + (f64::from(step) + 0.5) / 1000.0;
    (0..steps).map(|step| density(at(step)) / 1000.0).sum()
}

#[test]
fn the_laplace_density_is_symmetric_and_falls_by_e_at_each_scale() {
    for scale in [0.05, 0.2] {
        let density = |off| laplace(off, scale);
        assert!((area(-4.0, 4.0, density) - 1.0).abs() < 1e-3, "{scale}");
        assert!((density(0.3) - density(-0.3)).abs() < 1e-12);
        let fall = density(0.0) / density(scale);
        assert!((fall - core::f64::consts::E).abs() < 1e-9, "{fall}");
    }
}

/// Returns the reduction of a window of 100 segments to `after`. The bandwidth-delay product is `pipe` segments.
const fn reduction(after: f32, pipe: f32) -> Reduction {
    Reduction {
        before: 100.0,
        after,
        first: after,
        pipe,
    }
}

/// Returns the control under which `reduction` is the most likely.
fn likeliest(reduction: &Reduction) -> Control {
    let all = [
        Control::Reno,
        Control::Cubic,
        Control::Westwood,
        Control::Fixed,
        Control::Bbr,
    ];
    let by = |one: &Control, other: &Control| {
        density(*one, reduction).total_cmp(&density(*other, reduction))
    };
    all.into_iter().max_by(by).expect("there are some")
}

#[test]
fn a_reduction_is_the_likeliest_with_the_control_of_its_factor() {
    // The window may have grown by a segment in the round that shows it.
    for after in [50.0, 51.0] {
        assert_eq!(likeliest(&reduction(after, 30.0)), Control::Reno);
    }
    for after in [70.0, 71.0] {
        assert_eq!(likeliest(&reduction(after, 40.0)), Control::Cubic);
    }
    assert_eq!(likeliest(&reduction(100.0, 40.0)), Control::Fixed);
    assert_eq!(likeliest(&reduction(35.0, 35.0)), Control::Westwood);
    assert_eq!(likeliest(&reduction(85.0, 60.0)), Control::Bbr);
    // If rate times minimum round-trip time exceeds the previous window, Westwood does not reduce the window.
    let (westwood, bbr) = (Control::Westwood, Control::Bbr);
    let full = reduction(100.0, 300.0);
    assert!(density(westwood, &full) > density(bbr, &full));
}

#[test]
fn the_penalty_of_a_mismeasured_reduction_is_bounded() {
    for control in Control::ALL {
        let density = density(control, &reduction(20.0, 90.0));
        assert!((STRAY..1.0).contains(&density), "{control} {density}");
    }
}

#[test]
fn quartiles_do_not_depend_on_the_order() {
    let nine = [9.0, 1.0, 5.0, 3.0, 7.0, 2.0, 8.0, 4.0, 6.0];
    assert_eq!(quartiles(nine.into_iter()), Some((3.0, 5.0, 7.0)));
    assert_eq!(quartiles([4.0].into_iter()), Some((4.0, 4.0, 4.0)));
    assert_eq!(quartiles(core::iter::empty()), None);
}

#[test]
fn following_a_rate_requires_more_than_chance() {
    let of = |before: f32, after: f32, pipe: f32, times: usize| {
        let one = Reduction {
            before,
            ..reduction(after, pipe)
        };
        follows_rate(&vec![one; times])
    };
    assert!(of(100.0, 35.0, 35.0, 4));
    assert!(!of(100.0, 35.0, 35.0, 3));
    // With a small window, the window after a reduction by any factor may be close to rate times round-trip time by
    // chance, so the deviation must be very small.
    assert!(of(10.0, 5.0, 5.2, 4));
    assert!(!of(10.0, 5.0, 7.0, 4));
}
